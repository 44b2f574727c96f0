//! Where the time of a run goes: every moment belongs to one activity.
//!
//! Loading, warm-ups, measurement and the servers' maintenance are what a run is for; everything
//! else is overhead, whose share a run reports of itself.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// What a run does at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Activity {
    /// Fetching and unpacking servers.
    Install,
    /// Initializing, filling and indexing the tables.
    Load,
    /// Work that is executed and not reported.
    WarmUp,
    /// Measured stretches.
    Measurement,
    /// Instructions counted under emulation, where the host has no hardware counters.
    Emulation,
    /// Changes that are explained by function, after the last block.
    Explanation,
    /// Waiting until servers have finished pending background work.
    Maintenance,
    /// Waiting until nothing else uses the host, before a disturbed round is repeated.
    Quiet,
    /// Everything else: starts and stops, copies of data folders, calibration, bookkeeping.
    Overhead,
}

impl Activity {
    /// Name in the record of a run.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Activity::Install => "install",
            Activity::Load => "load",
            Activity::WarmUp => "warm-up",
            Activity::Measurement => "measurement",
            Activity::Emulation => "emulation",
            Activity::Explanation => "explanation",
            Activity::Maintenance => "maintenance",
            Activity::Quiet => "waiting for a quiet host",
            Activity::Overhead => "overhead",
        }
    }
}

/// The account of a run's wall time.
#[derive(Debug)]
pub(crate) struct Ledger {
    spent: BTreeMap<Activity, Duration>,
    current: Activity,
    since: Instant,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { spent: BTreeMap::new(), current: Activity::Overhead, since: Instant::now() }
    }
}

impl Ledger {
    /// From now on the time belongs to `activity`; gives the one before, to return to.
    pub(crate) fn enter(&mut self, activity: Activity) -> Activity {
        let now = Instant::now();
        *self.spent.entry(self.current).or_default() += now - self.since;
        self.since = now;
        std::mem::replace(&mut self.current, activity)
    }

    /// Executes `work` as `activity`.
    pub(crate) fn during<T>(&mut self, activity: Activity, work: impl FnOnce() -> T) -> T {
        let before = self.enter(activity);
        let done = work();
        self.enter(before);
        done
    }

    /// Seconds by activity until now, added to those of earlier executions of the run.
    pub(crate) fn seconds(&mut self, earlier: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
        self.enter(self.current);
        let mut seconds = earlier.clone();
        for (activity, spent) in &self.spent {
            *seconds.entry(activity.name().to_owned()).or_default() += spent.as_secs_f64();
        }
        seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_belongs_to_one_activity() {
        let start = Instant::now();
        let mut ledger = Ledger::default();
        ledger.during(Activity::Load, || std::thread::sleep(Duration::from_millis(5)));
        let before = ledger.enter(Activity::Measurement);
        assert_eq!(before, Activity::Overhead);
        std::thread::sleep(Duration::from_millis(5));
        let earlier = BTreeMap::from([("load".to_owned(), 100.0)]);
        let seconds = ledger.seconds(&earlier);
        let total: f64 = seconds.values().sum::<f64>() - 100.0;
        assert!(total <= start.elapsed().as_secs_f64());
        assert!(seconds["load"] >= 100.005 && seconds["measurement"] >= 0.005, "{seconds:?}");
        assert!(seconds["overhead"] >= 0.0);
    }

    #[test]
    fn asking_twice_counts_nothing_twice() {
        let mut ledger = Ledger::default();
        ledger.during(Activity::WarmUp, || std::thread::sleep(Duration::from_millis(3)));
        let first = ledger.seconds(&BTreeMap::new())["warm-up"];
        assert_eq!(ledger.seconds(&BTreeMap::new())["warm-up"], first);
    }
}
