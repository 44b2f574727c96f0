//! All probes together, read at the two ends of a window.

use crate::{
    Error, Kind, Target, Values,
    source::{self, PROBES, Purpose, Reader},
};
use model::reading::{Reading, Scope};

/// The open probes of one target.
///
/// It is opened once while the server is idle or frozen, and read before and after each window.
/// Before a new meter is opened on the same tasks, this one must be dropped: two sets of hardware
/// counters on one task spoil each other.
pub struct Meter {
    readers: Vec<Box<dyn Reader>>,
    absent: Vec<String>,
}

/// The values of all counters at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    values: Values,
}

impl Meter {
    /// Opens every probe on a target, for exact readings at the ends of windows. What this host
    /// does not permit or does not have is left out and named by [`Meter::marks`].
    ///
    /// # Errors
    /// If counters that this host has cannot be attached, e.g. because there are too few file
    /// descriptors.
    pub fn open(target: &Target) -> Result<Self, Error> {
        Self::open_for(target, Purpose::Window)
    }

    /// Opens the cheap probes alone, without perf.
    ///
    /// # Errors
    /// If counters that this host has cannot be opened.
    pub fn open_for_series(target: &Target) -> Result<Self, Error> {
        Self::open_for(target, Purpose::Series)
    }

    fn open_for(target: &Target, purpose: Purpose) -> Result<Self, Error> {
        let mut meter = Self { readers: Vec::new(), absent: Vec::new() };
        for probe in PROBES {
            match (probe.open)(target, purpose) {
                Ok(reader) => meter.readers.extend(reader),
                Err(Error::Absent(mark)) => meter.absent.push(mark),
                Err(error) => return Err(error),
            }
        }
        Ok(meter)
    }

    /// Reads all counters now.
    ///
    /// # Errors
    /// If a counter that was open cannot be read any more.
    pub fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let mut snapshot = Snapshot::default();
        for reader in &mut self.readers {
            reader.read(&mut snapshot.values)?;
        }
        Ok(snapshot)
    }

    /// The counters over the window between two snapshots of one meter, in the order of the probes.
    /// A counter that only one of them has is left out. A gauge ends at the higher of its two
    /// levels: see [`crate::raise_peaks`].
    pub fn readings(start: &Snapshot, end: &Snapshot) -> Vec<Reading> {
        let mut readings = Vec::new();
        for after in end.values.iter() {
            let Some(before) = start.values.get(after.scope, after.counter) else { continue };
            let peak = if is_gauge(after.counter) { before } else { f64::MIN };
            readings.push(Reading {
                scope: after.scope,
                counter: after.counter.to_owned(),
                start: before,
                end: after.value.max(peak),
            });
        }
        readings
    }

    /// The same counters of each task of the foreground by itself, with the task's number.
    pub fn task_readings(start: &Snapshot, end: &Snapshot) -> Vec<(u32, Reading)> {
        let reading = |((task, counter), value): (&(u32, &'static str), &f64)| {
            let before = start.values.tasks().get(&(*task, *counter))?;
            let (counter, scope) = ((*counter).to_owned(), Scope::Foreground);
            Some((*task, Reading { scope, counter, start: *before, end: *value }))
        };
        end.values.tasks().iter().filter_map(reading).collect()
    }

    /// What a reader of the values must know, e.g. `user mode only`; empty on a host that permits
    /// everything.
    pub fn marks(&self) -> Vec<String> {
        let open = self.readers.iter().flat_map(|reader| reader.marks());
        self.absent.iter().cloned().chain(open).collect()
    }
}

impl Snapshot {
    /// The values.
    pub fn values(&self) -> &Values {
        &self.values
    }
}

/// Whether a counter is a level at a time: its differences mean nothing.
pub fn is_gauge(counter: &str) -> bool {
    source::counter(counter).is_some_and(|counter| counter.kind == Kind::Level)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    fn snapshot(values: &[(Scope, &'static str, f64)]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for (scope, counter, value) in values {
            snapshot.values.push(*scope, counter, *value);
        }
        snapshot
    }

    #[test]
    fn a_window_has_the_counters_of_both_ends_and_the_peak_of_gauges() {
        let start = snapshot(&[
            (Scope::Server, "cpu_ns", 5.0),
            (Scope::Server, "rss_kib", 90.0),
            (Scope::Host, "steal_ns", 1.0),
        ]);
        let end = snapshot(&[
            (Scope::Server, "cpu_ns", 8.0),
            (Scope::Server, "rss_kib", 70.0),
            (Scope::Client, "cpu_ns", 3.0),
        ]);
        let readings = Meter::readings(&start, &end);
        let found: Vec<_> = readings.iter().map(|r| (&*r.counter, r.start, r.end)).collect();
        assert_eq!(found, [("cpu_ns", 5.0, 8.0), ("rss_kib", 90.0, 90.0)]);
    }

    #[test]
    fn tasks_of_the_foreground_are_told_apart_too() {
        let snapshot = |values: &[(u32, &'static str, f64)]| {
            let mut snapshot = Snapshot::default();
            for (task, counter, value) in values {
                snapshot.values.push_task(*task, counter, *value);
            }
            snapshot
        };
        let start = snapshot(&[(12, "cpu_ns", 30.0), (11, "cpu_ns", 5.0)]);
        let end = snapshot(&[
            (11, "cpu_ns", 505.0),
            (12, "cpu_ns", 31.0),
            (12, "cpu_ns", 9e9),
            (13, "cpu_ns", 1.0),
        ]);
        let readings = Meter::task_readings(&start, &end);
        let moved: Vec<_> = readings.iter().map(|(task, r)| (*task, r.delta())).collect();
        assert_eq!(moved, [(11, 500.0), (12, 1.0)]);
    }

    #[test]
    fn a_host_that_has_nothing_gives_marks_instead_of_errors() {
        let fake = FakeProc::new();
        let mut meter = Meter::open(&fake.target()).unwrap();
        assert_eq!(meter.snapshot().unwrap().values().iter().count(), 0);
        let marks = meter.marks();
        assert_eq!(marks.len(), 2, "{marks:?}");
        assert!(marks[0].starts_with("host counters absent"));
        assert!(marks[1].starts_with("device counters absent"));
    }
}
