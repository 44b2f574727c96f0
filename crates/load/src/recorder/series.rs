//! Counters per interval, told apart by clock readings that are taken anyway.

use model::drive::Interval;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Intervals for which there is room: at one second each nine hours, and memory that is not reached
/// is never touched. A stretch of up to a week makes more room a few times.
pub(super) const ROOM: usize = 32_768;

/// The finished intervals of all connections of a stretch. Its clones are the same intervals: so
/// many connections take no more memory than one, however long a stretch is.
#[derive(Debug, Clone)]
pub struct Timeline<T = Interval>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Timeline<T> {
    /// No interval yet.
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Vec::with_capacity(ROOM))))
    }
}

impl<T: Clone + Default> Timeline<T> {
    /// One without room, to which nothing is added.
    pub(super) fn none() -> Self {
        Self(Arc::default())
    }

    /// All intervals, up to the last one of any connection.
    pub fn intervals(&self) -> Vec<T> {
        self.lock().clone()
    }

    /// Adds what a connection counted to an interval: once to each, so that nobody waits for long.
    pub(super) fn add(&self, index: usize, counts: impl FnOnce(&mut T)) {
        let mut all = self.lock();
        if all.len() <= index {
            all.resize(index + 1, T::default());
        }
        all.get_mut(index).map(counts);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        // Counts are whole whatever has become of who added them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Intervals of equal width from the barrier on, as one connection counts them.
#[derive(Debug, Clone)]
pub struct Series {
    finished: Timeline,
    /// The longest service time in it is in nanoseconds: a division per operation would cost more
    /// than all of the counting.
    current: Interval,
    /// Which interval the current one is.
    index: usize,
    /// When the current interval ends, nanoseconds.
    boundary: u64,
    /// Nanoseconds.
    width: u64,
}

impl Series {
    /// A series whose intervals are `interval_ms` wide (at least 1) and become those of `finished`.
    pub fn new(finished: Timeline, interval_ms: u32) -> Self {
        let width = u64::from(interval_ms.max(1)) * 1_000_000;
        Self { finished, current: Interval::default(), index: 0, boundary: u64::MAX, width }
    }

    /// How wide its intervals are, nanoseconds.
    pub(super) fn width(&self) -> u64 {
        self.width
    }

    /// The first interval begins at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.boundary = start_ns.saturating_add(self.width);
    }

    /// Counts an answered operation with the statements since the one before it.
    #[inline]
    pub fn answered(&mut self, now: u64, statements: u64, service_ns: u64) {
        if now >= self.boundary {
            self.advance(now);
        }
        self.current.operations += 1;
        self.current.statements += statements;
        self.current.service_us_max = self.current.service_us_max.max(service_ns);
    }

    /// Counts an error.
    #[cold]
    pub fn error(&mut self, now: u64) {
        if now >= self.boundary {
            self.advance(now);
        }
        self.current.errors += 1;
    }

    #[cold]
    fn advance(&mut self, now: u64) {
        self.finish();
        let passed = (now - self.boundary) / self.width + 1;
        self.index += passed as usize;
        self.boundary = self.boundary.saturating_add(passed * self.width);
    }

    /// Puts the unfinished interval away: the last entry may be shorter than the others.
    pub fn finish(&mut self) {
        let theirs = std::mem::take(&mut self.current);
        self.finished.add(self.index, |mine| {
            mine.operations += theirs.operations;
            mine.statements += theirs.statements;
            mine.errors += theirs.errors;
            mine.service_us_max = mine.service_us_max.max(theirs.service_us_max / 1000);
        });
    }

    /// The finished intervals of all connections.
    pub fn intervals(&self) -> Vec<Interval> {
        self.finished.intervals()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(operations: u64, statements: u64, errors: u64, max: u64) -> Interval {
        Interval { operations, statements, errors, service_us_max: max }
    }

    #[test]
    fn answers_count_in_the_interval_in_which_they_came() {
        let mut series = Series::new(Timeline::default(), 1);
        series.start(1_000_000);
        series.answered(1_500_000, 2, 7_000);
        series.answered(1_999_999, 2, 9_000);
        series.error(2_000_000);
        series.answered(5_000_000, 1, 3_000);
        series.finish();
        let expected = [
            interval(2, 4, 0, 9),
            interval(0, 0, 1, 0),
            interval(0, 0, 0, 0),
            interval(0, 0, 0, 0),
            interval(1, 1, 0, 3),
        ];
        assert_eq!(series.intervals(), expected);
    }

    #[test]
    fn connections_add_to_the_same_intervals() {
        let timeline = Timeline::default();
        let series = || Series::new(timeline.clone(), 1);
        let (mut short, mut long) = (series(), series());
        short.start(0);
        long.start(0);
        short.answered(10, 1, 2_000);
        long.answered(10, 1, 1_000);
        long.answered(1_000_010, 1, 5_000);
        short.finish();
        long.finish();
        assert_eq!(timeline.intervals(), [interval(2, 2, 0, 2), interval(1, 1, 0, 5)]);
    }

    #[test]
    fn a_long_stretch_has_its_intervals_to_the_end() {
        let mut series = Series::new(Timeline::default(), 1);
        series.start(0);
        let late = ROOM as u64 * 1_000_000;
        series.answered(late, 1, 1_000);
        series.answered(late + 1_000_000, 1, 2_000);
        series.finish();
        let last = [interval(0, 0, 0, 0), interval(1, 1, 0, 1), interval(1, 1, 0, 2)];
        assert_eq!(series.intervals()[ROOM - 1..], last);
    }
}
