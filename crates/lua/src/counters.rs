//! What threads count and time, each in a place of its own.

use crate::bins::Bins;
use hdrhistogram::Histogram;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Longest latency that the histogram holds, nanoseconds: an hour.
const NANOS_MAX: u64 = 3_600_000_000_000;

/// The counters of one thread, in cache lines of their own.
#[repr(align(128))]
pub(crate) struct Counters {
    /// Statements with a result set, with changed rows, and others.
    pub(crate) reads: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) others: AtomicU64,
    /// Events that were tried again.
    pub(crate) errors: AtomicU64,
    pub(crate) reconnects: AtomicU64,
    /// Rows returned, and rows changed.
    pub(crate) rows_read: AtomicU64,
    pub(crate) rows_changed: AtomicU64,
    latency: Mutex<Latency>,
}

impl Counters {
    pub(crate) fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            reads: zero(),
            writes: zero(),
            others: zero(),
            errors: zero(),
            reconnects: zero(),
            rows_read: zero(),
            rows_changed: zero(),
            latency: Mutex::new(Latency::new()),
        }
    }

    /// Adds one; only this thread does.
    #[inline]
    pub(crate) fn add(counter: &AtomicU64) {
        Self::add_many(counter, 1);
    }

    /// Adds so many; only this thread does.
    #[inline]
    pub(crate) fn add_many(counter: &AtomicU64, many: u64) {
        counter.store(counter.load(Relaxed) + many, Relaxed);
    }

    /// Adds an event that took so many nanoseconds.
    #[inline]
    pub(crate) fn event(&self, nanos: u64) {
        self.latency.lock().unwrap_or_else(PoisonError::into_inner).add(nanos);
    }
}

/// The latencies of one thread.
struct Latency {
    /// Of all events, and of those since the last intermediate report.
    all: Histogram<u64>,
    recent: Histogram<u64>,
    min: u64,
    max: u64,
    sum: u64,
}

fn histogram() -> Histogram<u64> {
    // Two digits: an error of 1 %, less than sysbench's own 1.8 %.
    Histogram::new_with_bounds(1, NANOS_MAX, 2).expect("the bounds are in order")
}

impl Latency {
    fn new() -> Self {
        Self { all: histogram(), recent: histogram(), min: u64::MAX, max: 0, sum: 0 }
    }

    fn add(&mut self, nanos: u64) {
        self.all.saturating_record(nanos.max(1));
        self.recent.saturating_record(nanos.max(1));
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        self.sum = self.sum.saturating_add(nanos);
    }
}

/// What all threads counted, from a moment on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sums {
    pub(crate) events: u64,
    pub(crate) reads: u64,
    pub(crate) writes: u64,
    pub(crate) others: u64,
    pub(crate) errors: u64,
    pub(crate) reconnects: u64,
}

impl Sums {
    /// What was counted since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            events: self.events - earlier.events,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            others: self.others - earlier.others,
            errors: self.errors - earlier.errors,
            reconnects: self.reconnects - earlier.reconnects,
        }
    }
}

/// Counts of all threads and the latencies of one stretch.
pub(crate) struct Snapshot {
    pub(crate) sums: Sums,
    /// Seconds: the percentile that was asked for, the extremes, the mean, the sum.
    pub(crate) latency: [f64; 5],
    /// Events and seconds in events of each thread.
    pub(crate) shares: Vec<(f64, f64)>,
}

/// Which latencies a snapshot is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stretch {
    /// Those since the last snapshot of this kind.
    Recent,
    All,
}

/// Latencies of all events, in the bins of sysbench: 1,024 from a microsecond to 100 s, in
/// milliseconds.
pub(crate) fn latency_bins(all: &[Counters]) -> Option<Bins> {
    let mut bins = Bins::new(1024, 0.001, 100_000.0)?;
    for one in all {
        let latency = one.latency.lock().unwrap_or_else(PoisonError::into_inner);
        for step in latency.all.iter_recorded() {
            bins.add(step.value_iterated_to() as f64 / 1e6, step.count_at_value());
        }
    }
    Some(bins)
}

/// Reads the counters of all threads.
pub(crate) fn snapshot(all: &[Counters], stretch: Stretch, percentile: f64) -> Snapshot {
    let mut merged = histogram();
    let (mut sums, mut shares) = (Sums::default(), Vec::new());
    let (mut min, mut max, mut sum) = (u64::MAX, 0, 0);
    for one in all {
        let mut latency = one.latency.lock().unwrap_or_else(PoisonError::into_inner);
        let from = if stretch == Stretch::All { &latency.all } else { &latency.recent };
        // Their bounds are the same.
        let _ = merged.add(from);
        if stretch == Stretch::Recent {
            latency.recent.reset();
        }
        sums.events += latency.all.len();
        min = min.min(latency.min);
        max = max.max(latency.max);
        sum += latency.sum;
        shares.push((latency.all.len() as f64, latency.sum as f64 / 1e9));
        drop(latency);
        sums.reads += one.reads.load(Relaxed);
        sums.writes += one.writes.load(Relaxed);
        sums.others += one.others.load(Relaxed);
        sums.errors += one.errors.load(Relaxed);
        sums.reconnects += one.reconnects.load(Relaxed);
    }
    let quantile =
        if merged.is_empty() { 0.0 } else { merged.value_at_percentile(percentile) as f64 };
    let events = sums.events.max(1) as f64;
    let least = if min == u64::MAX { 0 } else { min };
    let nanos = [quantile, least as f64, max as f64, sum as f64 / events, sum as f64];
    Snapshot { sums, latency: nanos.map(|nanos| nanos / 1e9), shares }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_and_recent_latencies_are_told_once() {
        let all = [Counters::new(), Counters::new()];
        Counters::add(&all[0].reads);
        Counters::add(&all[1].reads);
        Counters::add(&all[1].writes);
        all[0].event(1_000_000);
        all[1].event(3_000_000);
        let recent = snapshot(&all, Stretch::Recent, 100.0);
        assert!((recent.latency[0] - 0.003).abs() < 0.00005);
        assert_eq!(snapshot(&all, Stretch::Recent, 100.0).latency[0], 0.0);
        let found = snapshot(&all, Stretch::All, 50.0);
        assert_eq!((found.sums.events, found.sums.reads, found.sums.writes), (2, 2, 1));
        assert_eq!(found.latency[1..], [0.001, 0.003, 0.002, 0.004]);
        assert_eq!(found.sums.since(&recent.sums), Sums::default());
    }
}
