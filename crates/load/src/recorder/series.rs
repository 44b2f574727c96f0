//! Counters per interval, told apart by clock readings that are taken anyway.

use model::drive::Interval;

/// Maximum number of intervals; all later answers count in the last one. At one second
/// each this is nine hours, and memory that is not reached is never touched.
pub(super) const INTERVALS_MAX: usize = 32_768;

/// Intervals of equal width from the barrier on.
#[derive(Debug, Clone)]
pub struct Series {
    past: Vec<Interval>,
    current: Interval,
    /// When the current interval ends, nanoseconds.
    boundary: u64,
    width: u64,
}

impl Series {
    /// A series whose intervals are `interval_ms` wide (at least 1).
    pub fn new(interval_ms: u32) -> Self {
        Self {
            past: Vec::with_capacity(INTERVALS_MAX),
            current: Interval::default(),
            boundary: u64::MAX,
            width: u64::from(interval_ms.max(1)) * 1_000_000,
        }
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
        // Nanoseconds until the interval is put away: a division per operation would cost more than
        // all of the counting.
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
        while now >= self.boundary {
            if self.past.len() + 1 >= INTERVALS_MAX {
                self.boundary = u64::MAX;
                return;
            }
            let interval = std::mem::take(&mut self.current);
            self.past.push(in_microseconds(interval));
            self.boundary = self.boundary.saturating_add(self.width);
        }
    }

    /// Puts the unfinished interval away: the last entry may be shorter than the others.
    pub fn finish(&mut self) {
        let interval = std::mem::take(&mut self.current);
        self.past.push(in_microseconds(interval));
    }

    /// Adds another connection's finished series, interval by interval.
    pub fn merge(&mut self, other: &Self) {
        if self.past.len() < other.past.len() {
            self.past.resize(other.past.len(), Interval::default());
        }
        for (mine, theirs) in self.past.iter_mut().zip(&other.past) {
            mine.operations += theirs.operations;
            mine.statements += theirs.statements;
            mine.errors += theirs.errors;
            mine.service_us_max = mine.service_us_max.max(theirs.service_us_max);
        }
    }

    /// The finished intervals.
    pub fn intervals(&self) -> &[Interval] {
        &self.past
    }
}

fn in_microseconds(interval: Interval) -> Interval {
    Interval { service_us_max: interval.service_us_max / 1000, ..interval }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(operations: u64, statements: u64, errors: u64, max: u64) -> Interval {
        Interval { operations, statements, errors, service_us_max: max }
    }

    #[test]
    fn answers_count_in_the_interval_in_which_they_came() {
        let mut series = Series::new(1);
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
    fn series_of_different_lengths_merge() {
        let (mut short, mut long) = (Series::new(1), Series::new(1));
        short.start(0);
        long.start(0);
        short.answered(10, 1, 2_000);
        long.answered(10, 1, 1_000);
        long.answered(1_000_010, 1, 5_000);
        short.finish();
        long.finish();
        short.merge(&long);
        assert_eq!(short.intervals(), [interval(2, 2, 0, 2), interval(1, 1, 0, 5)]);
    }

    #[test]
    fn the_last_interval_takes_what_comes_after_the_limit() {
        let mut series = Series::new(1);
        series.start(0);
        series.answered(u64::MAX, 1, 1_000);
        series.answered(u64::MAX, 1, 1_000);
        series.finish();
        assert_eq!(series.intervals().len(), INTERVALS_MAX);
        assert_eq!(series.intervals().last(), Some(&interval(2, 2, 0, 1)));
    }
}
