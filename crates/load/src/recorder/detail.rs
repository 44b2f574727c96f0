//! What one operation did, where a workload has several, or intended start times.

use super::series::ROOM;
use model::drive::OpInterval;

/// Counts of one operation on one connection.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Executions that were rolled back on purpose.
    pub rolled_back: u64,
    /// Rows returned.
    pub rows_read: u64,
    /// Rows changed.
    pub rows_changed: u64,
    /// Executions of an open loop that started more than a millisecond after their intended time.
    pub late: u64,
    /// The largest such lag, nanoseconds; also of executions that do not count as late.
    pub lag_ns_max: u64,
    /// Intervals, for workloads with roles.
    pub series: OpSeries,
}

impl Detail {
    /// No counts yet.
    pub fn new(series: OpSeries) -> Self {
        Self { rolled_back: 0, rows_read: 0, rows_changed: 0, late: 0, lag_ns_max: 0, series }
    }

    /// Adds the counts of another connection.
    pub fn merge(&mut self, other: &Self) {
        self.rolled_back += other.rolled_back;
        self.rows_read += other.rows_read;
        self.rows_changed += other.rows_changed;
        self.late += other.late;
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
        self.series.merge(&other.series);
    }
}

/// Intervals of equal width from the barrier on; the largest times in nanoseconds.
#[derive(Debug, Clone)]
pub struct OpSeries {
    intervals: Vec<OpInterval>,
    start: u64,
    /// Nanoseconds; 0 if nothing is to be recorded.
    width: u64,
}

impl OpSeries {
    /// A series whose intervals are so many nanoseconds wide (at least 1).
    pub fn new(width: u64) -> Self {
        Self { intervals: Vec::with_capacity(ROOM), start: 0, width }
    }

    /// A series that stays empty.
    pub fn none() -> Self {
        Self { intervals: Vec::new(), start: 0, width: 0 }
    }

    /// The first interval begins at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.start = start_ns;
    }

    /// Counts an operation that was to start at `time`.
    pub fn intended(&mut self, time: u64) {
        if let Some(interval) = self.at(time) {
            interval.intended += 1;
        }
    }

    /// Counts an operation that was answered at `time` with so many rows, and its service and
    /// response time, nanoseconds.
    pub fn completed(&mut self, time: u64, rows: u64, service: u64, response: u64) {
        if let Some(interval) = self.at(time) {
            interval.completed += 1;
            interval.rows += rows;
            interval.service_us_max = interval.service_us_max.max(service);
            interval.response_us_max = interval.response_us_max.max(response);
        }
    }

    fn at(&mut self, time: u64) -> Option<&mut OpInterval> {
        let index = time.saturating_sub(self.start).checked_div(self.width)? as usize;
        // Within the room, nothing is allocated.
        if index >= self.intervals.len() {
            self.intervals.resize(index + 1, OpInterval::default());
        }
        self.intervals.get_mut(index)
    }

    /// Adds another connection's series, interval by interval.
    pub fn merge(&mut self, other: &Self) {
        if self.intervals.len() < other.intervals.len() {
            self.intervals.resize(other.intervals.len(), OpInterval::default());
        }
        for (mine, theirs) in self.intervals.iter_mut().zip(&other.intervals) {
            mine.intended += theirs.intended;
            mine.completed += theirs.completed;
            mine.rows += theirs.rows;
            mine.service_us_max = mine.service_us_max.max(theirs.service_us_max);
            mine.response_us_max = mine.response_us_max.max(theirs.response_us_max);
        }
    }

    /// The intervals, with times in microseconds.
    pub fn intervals(&self) -> Vec<OpInterval> {
        let in_microseconds = |interval: &OpInterval| OpInterval {
            service_us_max: interval.service_us_max / 1000,
            response_us_max: interval.response_us_max / 1000,
            ..*interval
        };
        self.intervals.iter().map(in_microseconds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(times: &[(u64, u64, u64)]) -> OpSeries {
        let mut series = OpSeries::new(1_000_000);
        series.start(5_000_000);
        for (intended, answered, rows) in times {
            series.intended(*intended);
            let service = answered - intended;
            series.completed(*answered, *rows, service, service + 1000);
        }
        series
    }

    fn interval(counts: [u64; 3], times: [u64; 2]) -> OpInterval {
        let [intended, completed, rows] = counts;
        let [service_us_max, response_us_max] = times;
        OpInterval { intended, completed, rows, service_us_max, response_us_max }
    }

    #[test]
    fn intended_and_answered_count_each_in_its_interval() {
        let mut one = series(&[(5_000_000, 5_400_000, 50), (5_900_000, 7_100_000, 50)]);
        let expected = [
            interval([2, 1, 50], [400, 401]),
            interval([0, 0, 0], [0, 0]),
            interval([0, 1, 50], [1200, 1201]),
        ];
        assert_eq!(one.intervals(), expected);
        one.merge(&series(&[(5_000_001, 8_000_001, 7)]));
        assert_eq!(one.intervals().len(), 4);
        assert_eq!(one.intervals()[0].intended, 3);
        assert_eq!(one.intervals()[3], interval([0, 1, 7], [3000, 3001]));
    }

    #[test]
    fn a_long_stretch_has_its_intervals_to_the_end() {
        let late = 5_000_000 + ROOM as u64 * 1_000_000;
        let all = series(&[(late, late + 1_000_000, 50)]).intervals();
        let last = [interval([1, 0, 0], [0, 0]), interval([0, 1, 50], [1000, 1001])];
        assert_eq!(all[ROOM..], last);
    }

    #[test]
    fn a_series_of_nothing_stays_empty() {
        let mut none = OpSeries::none();
        none.intended(7);
        none.completed(9, 1, 2, 2);
        assert!(none.intervals().is_empty());
    }
}
