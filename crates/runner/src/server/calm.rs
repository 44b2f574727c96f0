//! Waits for a condition instead of a time: idle background tasks, no pending background work.

use super::driver::Driver;
use crate::{Error, Stop};
use dbms::Debt;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Background CPU, as a part of one CPU, below which a server counts as calm.
const CALM_SHARE: f64 = 0.03;
/// Length of a window over which background CPU is looked at.
const WINDOW: Duration = Duration::from_millis(250);
/// Calm windows in a row that are enough.
const WINDOWS: u32 = 2;

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The condition was met.
    Met,
    /// The ceiling was reached first: slices after this are marked.
    Ceiling,
}

/// Waits until the tasks of `server` and its descendants, outside `foreground`, have used hardly
/// any CPU for a while.
pub(crate) fn until_calm(
    server: u32,
    foreground: &[u32],
    ceiling: Duration,
    stop: &Stop,
) -> Result<Wait, Error> {
    let end = Instant::now() + ceiling;
    let mut calm = 0;
    let mut before = background_cpu(server, foreground);
    while calm < WINDOWS {
        let start = Instant::now();
        if start > end {
            return Ok(Wait::Ceiling);
        }
        stop.sleep(WINDOW)?;
        let after = background_cpu(server, foreground);
        let used = used_between(&before, &after) as f64 / start.elapsed().as_nanos() as f64;
        calm = if used < CALM_SHARE { calm + 1 } else { 0 };
        before = after;
    }
    Ok(Wait::Met)
}

fn background_cpu(server: u32, foreground: &[u32]) -> BTreeMap<u32, u64> {
    let tasks = probe::task_cpu(&[server]);
    tasks
        .into_iter()
        .filter(|task| !foreground.contains(&task.tid))
        .map(|task| (task.tid, task.cpu_ns))
        .collect()
}

fn used_between(before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) -> u64 {
    after.iter().map(|(tid, ns)| ns.saturating_sub(before.get(tid).copied().unwrap_or(0))).sum()
}

/// What ends a wait for pending background work before its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// No amount shrinks anymore. For the many waits between slices.
    WhilePaying,
    /// Nothing.
    ToTheCeiling,
    /// The end of the statements of maintenance: nothing is measured afterwards.
    OfStatements,
}

/// If an amount has not shrunk for this long, an idle server will not work on it.
const NO_PROGRESS: Duration = Duration::from_secs(3);

/// Which pending work a server still does. An amount must shrink now and then; running work, such
/// as a checkpoint, only has to end.
#[derive(Debug, Default)]
struct Progress {
    /// The smallest amount of each kind of pending work, and when it was seen.
    least: BTreeMap<&'static str, (f64, Duration)>,
}

impl Progress {
    /// Whether the server works on any of the amounts `owed` at `now`.
    fn is_made(&mut self, owed: &[(&Debt, f64)], now: Duration) -> bool {
        let mut made = false;
        for (debt, amount) in owed {
            let least = self.least.entry(debt.name).or_insert((*amount, now));
            if *amount < least.0 {
                *least = (*amount, now);
            }
            made |= debt.counts_works() || now.saturating_sub(least.1) <= NO_PROGRESS;
        }
        made
    }
}

/// Waits until all pending background work of the server is at or below its floor. Returns what is
/// left at the ceiling or, with [`Patience::WhilePaying`], when no amount shrinks anymore. Work
/// that the server does not have counts as done.
pub(crate) fn until_paid(
    driver: &mut Driver,
    debts: &[Debt],
    ceiling: Duration,
    patience: Patience,
    stop: &Stop,
) -> Result<Vec<String>, Error> {
    let start = Instant::now();
    let mut progress = Progress::default();
    loop {
        let owed = owed(driver, debts)?;
        let now = start.elapsed();
        let paying = progress.is_made(&owed, now);
        if owed.is_empty() || now > ceiling || !(paying || patience == Patience::ToTheCeiling) {
            return Ok(words(&owed));
        }
        stop.sleep(WINDOW)?;
    }
}

/// Pending work above its floor, with its amounts.
fn owed<'a>(driver: &mut Driver, debts: &'a [Debt]) -> Result<Vec<(&'a Debt, f64)>, Error> {
    let mut owed = Vec::new();
    for debt in debts.iter().filter(|debt| !debt.is_told_only()) {
        let amount = owed_amount(driver, debt)?.filter(|amount| *amount > debt.floor);
        owed.extend(amount.map(|amount| (debt, amount)));
    }
    Ok(owed)
}

fn words(owed: &[(&Debt, f64)]) -> Vec<String> {
    owed.iter().map(|(debt, amount)| format!("{} {amount}", debt.name)).collect()
}

/// Pending work above its floor now.
pub(crate) fn left(driver: &mut Driver, debts: &[Debt]) -> Result<Vec<String>, Error> {
    owed(driver, debts).map(|owed| words(&owed))
}

/// The amount of one debt now, or `None` where this server does not know it.
pub(crate) fn owed_amount(driver: &mut Driver, debt: &Debt) -> Result<Option<f64>, Error> {
    let rows = match driver.query(debt.sql) {
        Ok(rows) => rows,
        Err(Error::Sql { lost: false, .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let value = rows.first().and_then(|row| row.last().cloned()).flatten();
    Ok(value.and_then(|text| text.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_to_become_smaller_and_works_only_to_end() {
        let debt = |name, floor| Debt { name, sql: "", floor };
        let (pages, history) = (debt("dirty_pages", 100.0), debt("history", 100.0));
        let checkpoint = debt("checkpoints_in_progress", 0.0);
        let seconds = Duration::from_secs;
        let mut progress = Progress::default();
        let mut made = |owed: &[(&Debt, f64)], second| progress.is_made(owed, seconds(second));
        assert!(made(&[(&pages, 900.0), (&history, 500.0)], 0));
        assert!(made(&[(&pages, 900.0), (&history, 500.0)], 3));
        // One that shrinks is enough, even if the other one grows by more.
        assert!(made(&[(&pages, 5000.0), (&history, 499.0)], 4));
        assert!(made(&[(&pages, 5000.0), (&history, 600.0)], 7));
        assert!(!made(&[(&pages, 5000.0), (&history, 600.0)], 8));
        // A long checkpoint is one all the time.
        assert!(made(&[(&pages, 5000.0), (&checkpoint, 1.0)], 300));
        assert!(!made(&[], 301));
    }

    #[test]
    fn a_task_that_was_born_in_the_window_counts_whole() {
        let before = BTreeMap::from([(1, 100), (2, 50)]);
        let after = BTreeMap::from([(1, 150), (3, 30)]);
        assert_eq!(used_between(&before, &after), 80);
    }

    #[test]
    fn a_process_that_sleeps_is_calm_and_one_that_spins_is_not() {
        let stop = Stop::default();
        let spinning = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
        let flag = std::sync::Arc::clone(&spinning);
        let thread = std::thread::spawn(move || {
            while flag.load(std::sync::atomic::Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let waited =
            until_calm(std::process::id(), &[], Duration::from_millis(600), &stop).unwrap();
        spinning.store(false, std::sync::atomic::Ordering::Relaxed);
        thread.join().unwrap();
        assert_eq!(waited, Wait::Ceiling);
        let child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let waited = until_calm(pid, &[], Duration::from_secs(60), &stop).unwrap();
        let mut child = child;
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(waited, Wait::Met);
    }
}
