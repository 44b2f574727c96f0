//! What this host lets us count, found once by trying.
//!
//! A processor that accepts more events than it can count does not always say so: a surplus event
//! reads 0, or a fraction of the truth, and still claims to have counted all the time. So the check
//! opens N equal events, executes a known amount of work, and believes in N only if all of them
//! agree.

use crate::{
    attach::{self, Event, HARDWARE_EVENTS_MAX, Mode, Source, counted_whole, on_this_thread},
    mount,
    processors::stay_on_fast_processors,
    tracefs::{self, NoSyncEvents, SyncEvents},
};
use perf_event::Counter;
use std::{hint::black_box, io, path::Path, sync::OnceLock, thread};

/// What perf lets this process count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    /// User and kernel mode.
    Full,
    /// User mode only.
    UserOnly,
    /// No hardware counters: they are not permitted, or this host (often a virtual one) has none.
    None,
}

impl Permission {
    /// The word in records: `full`, `user` or `none`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::UserOnly => "user",
            Self::None => "none",
        }
    }
}

/// The outcome of the check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Check {
    pub(crate) permission: Permission,
    /// Hardware events that count correctly at the same time, 0 to 4.
    pub(crate) slots: usize,
}

/// What this process may count on this host; tried once and then remembered.
pub fn permission() -> Permission {
    check().permission
}

/// Open files that the counters of one task take on this host at most, for data in a folder; 0
/// where perf permits none.
pub fn files_per_task(data_folder: &Path) -> usize {
    let opens = |set: &attach::Set| set.events.first().is_some_and(|event| event.opens());
    let own = attach::sets(check()).into_iter().find(opens).map_or(0, |set| set.events.len());
    let syncs = match sync_counts(data_folder) {
        SyncCounts::Counted(events) => events.ids.len(),
        _ => 0,
    };
    own + syncs
}

/// Whether syncs of files can be counted on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SyncCounts {
    /// By these events.
    Counted(SyncEvents),
    /// There are events, and perf does not permit to count them.
    Forbidden,
    /// There are no events.
    Absent(NoSyncEvents),
}

/// Whether syncs of files can be counted for data in a folder, tried on the calling thread.
pub fn sync_counts(data_folder: &Path) -> SyncCounts {
    let proc_root = Path::new("/proc");
    match tracefs::sync_events(proc_root, mount::of(proc_root, data_folder)) {
        Err(why) => SyncCounts::Absent(why),
        Ok(found) if found.ids.iter().all(|id| Event::traced("", *id).opens()) => {
            SyncCounts::Counted(found)
        }
        Ok(_) => SyncCounts::Forbidden,
    }
}

pub(crate) fn check() -> Check {
    static CHECK: OnceLock<Check> = OnceLock::new();
    // A thread of its own, because a thread that already carries counters would not be a fair
    // trial.
    *CHECK.get_or_init(|| {
        thread::spawn(try_all).join().unwrap_or(Check { permission: Permission::None, slots: 0 })
    })
}

/// Rounds of the known work: long enough that the differences of starting events do not matter.
const ROUNDS: u64 = 2_000_000;

/// Relative difference that equal events may have.
const TOLERANCE: f64 = 0.01;

fn try_all() -> Check {
    stay_on_fast_processors();
    let slots = (1..=HARDWARE_EVENTS_MAX).rev().find(|n| events_agree(*n).unwrap_or(false));
    let Some(slots) = slots else { return Check { permission: Permission::None, slots: 0 } };
    let kernel = kernel_counts().unwrap_or(false);
    Check { permission: if kernel { Permission::Full } else { Permission::UserOnly }, slots }
}

/// Whether `n` equal events count the known work, equally and all the time.
fn events_agree(n: usize) -> io::Result<bool> {
    let mut counters = (0..n)
        .map(|_| on_this_thread(Source::Instructions, Mode::User))
        .collect::<io::Result<Vec<_>>>()?;
    counters.iter_mut().try_for_each(Counter::enable)?;
    let mut state = 0_u64;
    for round in 0..ROUNDS {
        state = black_box(state ^ round);
    }
    counters.iter_mut().try_for_each(Counter::disable)?;
    let mut counts = Vec::with_capacity(n);
    for counter in &mut counters {
        let data = counter.read_full()?;
        let times = [data.time_enabled(), data.time_running()].map(Option::unwrap_or_default);
        if !counted_whole(times[0], times[1]) {
            return Ok(false);
        }
        counts.push(data.count());
    }
    Ok(agree(&counts, ROUNDS))
}

fn agree(counts: &[u64], work: u64) -> bool {
    let least = counts.iter().copied().min().unwrap_or(0);
    let most = counts.iter().copied().max().unwrap_or(0);
    least >= work && (most - least) as f64 <= TOLERANCE * most as f64
}

/// Whether events of the kernel may be opened and move.
fn kernel_counts() -> io::Result<bool> {
    let mut counter = on_this_thread(Source::Instructions, Mode::Kernel)?;
    counter.enable()?;
    for _ in 0..100 {
        // Any system call will do; yielding has no effect that lasts.
        thread::yield_now();
    }
    counter.disable()?;
    Ok(counter.read()? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_events_agree_or_are_not_believed() {
        for (counts, expected) in [
            (&[5_000, 5_010, 5_020][..], true),
            (&[5_000, 0, 5_020], false),
            (&[5_000, 830], false),
            (&[900, 900], false),
            (&[], false),
        ] {
            assert_eq!(agree(counts, 1_000), expected, "{counts:?}");
        }
    }

    #[test]
    fn the_check_is_made_once_and_is_consistent() {
        let first = check();
        assert_eq!(first, check());
        assert_eq!(first.permission == Permission::None, first.slots == 0);
        assert!(["full", "user", "none"].contains(&permission().word()));
    }
}
