//! Waiting for a condition and not for a time: background work at its floor, debts paid.

use crate::{Driver, Error, Stop};
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

/// Time after which a debt that has not become smaller will not be paid while the server is idle.
const NO_PROGRESS: Duration = Duration::from_secs(3);

/// Waits until every debt of the server is at or below its floor. Gives those that are not, when
/// the ceiling is hit or when the server has stopped paying. Debts that it does not have count as
/// paid.
pub(crate) fn until_paid(
    driver: &mut Driver,
    debts: &[Debt],
    ceiling: Duration,
    stop: &Stop,
) -> Result<Vec<String>, Error> {
    let end = Instant::now() + ceiling;
    let (mut least, mut progress) = (f64::INFINITY, Instant::now());
    loop {
        let mut owed = Vec::new();
        let mut total = 0.0;
        for debt in debts {
            if let Some(amount) = owed_amount(driver, debt)?.filter(|amount| *amount > debt.floor) {
                owed.push(format!("{} {amount}", debt.name));
                total += amount;
            }
        }
        if total < least {
            (least, progress) = (total, Instant::now());
        }
        if owed.is_empty() || Instant::now() > end || progress.elapsed() > NO_PROGRESS {
            return Ok(owed);
        }
        stop.sleep(WINDOW)?;
    }
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
