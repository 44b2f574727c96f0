//! What one operation did, where a workload has several, or intended start times.

use super::series::Timeline;
use model::drive::OpInterval;

/// Counts of one operation on one connection.
#[derive(Debug, Clone)]
pub struct Detail {
    /// Executions that were rolled back on purpose.
    pub rolled_back: u64,
    /// Executions that were begun and did not succeed.
    pub unfinished: u64,
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
        Self {
            rolled_back: 0,
            unfinished: 0,
            rows_read: 0,
            rows_changed: 0,
            late: 0,
            lag_ns_max: 0,
            series,
        }
    }

    /// Adds the counts of another connection, which shares the intervals.
    pub fn merge(&mut self, other: &Self) {
        self.rolled_back += other.rolled_back;
        self.unfinished += other.unfinished;
        self.rows_read += other.rows_read;
        self.rows_changed += other.rows_changed;
        self.late += other.late;
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
    }
}

/// The finished intervals of an operation of a role, of all connections that have it; the largest
/// times in nanoseconds.
pub type OpTimeline = Timeline<OpInterval>;

/// Intervals of equal width from the barrier on, as one connection counts them. An operation is
/// answered in another one than that in which it was to start where it waits for long.
#[derive(Debug, Clone)]
pub struct OpSeries {
    finished: OpTimeline,
    begun: Current,
    answered: Current,
    start: u64,
    /// Nanoseconds; 0 if nothing is to be recorded.
    width: u64,
}

/// The interval in hand.
#[derive(Debug, Clone, Default)]
struct Current {
    index: usize,
    counts: OpInterval,
}

impl Current {
    /// The counts of an interval.
    fn at(&mut self, index: usize, finished: &OpTimeline) -> &mut OpInterval {
        if index != self.index {
            self.put_away(finished);
            self.index = index;
        }
        &mut self.counts
    }

    #[cold]
    fn put_away(&mut self, finished: &OpTimeline) {
        let theirs = std::mem::take(&mut self.counts);
        if theirs == OpInterval::default() {
            return;
        }
        finished.add(self.index, |mine| {
            mine.intended += theirs.intended;
            mine.completed += theirs.completed;
            mine.rows += theirs.rows;
            mine.service_us_max = mine.service_us_max.max(theirs.service_us_max);
            mine.response_us_max = mine.response_us_max.max(theirs.response_us_max);
        });
    }
}

impl OpSeries {
    /// A series whose intervals are so many nanoseconds wide (at least 1) and become those of
    /// `finished`.
    pub fn new(finished: OpTimeline, width: u64) -> Self {
        let (begun, answered) = (Current::default(), Current::default());
        Self { finished, begun, answered, start: 0, width }
    }

    /// A series that stays empty.
    pub fn none() -> Self {
        Self::new(OpTimeline::none(), 0)
    }

    /// The first interval begins at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.start = start_ns;
    }

    /// Counts an operation that was to start at `time`.
    pub fn intended(&mut self, time: u64) {
        if let Some(index) = self.index(time) {
            self.begun.at(index, &self.finished).intended += 1;
        }
    }

    /// Counts an operation that was answered at `time` with so many rows, and its service and
    /// response time, nanoseconds.
    pub fn completed(&mut self, time: u64, rows: u64, service: u64, response: u64) {
        if let Some(index) = self.index(time) {
            let interval = self.answered.at(index, &self.finished);
            interval.completed += 1;
            interval.rows += rows;
            interval.service_us_max = interval.service_us_max.max(service);
            interval.response_us_max = interval.response_us_max.max(response);
        }
    }

    fn index(&self, time: u64) -> Option<usize> {
        Some(time.saturating_sub(self.start).checked_div(self.width)? as usize)
    }

    /// Puts the unfinished intervals away.
    pub fn finish(&mut self) {
        self.begun.put_away(&self.finished);
        self.answered.put_away(&self.finished);
    }

    /// The finished intervals of all connections, with times in microseconds.
    pub fn intervals(&self) -> Vec<OpInterval> {
        let in_microseconds = |interval: &OpInterval| OpInterval {
            service_us_max: interval.service_us_max / 1000,
            response_us_max: interval.response_us_max / 1000,
            ..*interval
        };
        self.finished.intervals().iter().map(in_microseconds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::series::ROOM, *};

    /// The intervals of all when one connection more has done this.
    fn record(timeline: &OpTimeline, times: &[(u64, u64, u64)]) -> Vec<OpInterval> {
        let mut series = OpSeries::new(timeline.clone(), 1_000_000);
        series.start(5_000_000);
        for (intended, answered, rows) in times {
            series.intended(*intended);
            let service = answered - intended;
            series.completed(*answered, *rows, service, service + 1000);
        }
        series.finish();
        series.intervals()
    }

    fn interval(counts: [u64; 3], times: [u64; 2]) -> OpInterval {
        let [intended, completed, rows] = counts;
        let [service_us_max, response_us_max] = times;
        OpInterval { intended, completed, rows, service_us_max, response_us_max }
    }

    #[test]
    fn intended_and_answered_count_each_in_its_interval() {
        let all = OpTimeline::default();
        let one = record(&all, &[(5_000_000, 5_400_000, 50), (5_900_000, 7_100_000, 50)]);
        let expected = [
            interval([2, 1, 50], [400, 401]),
            interval([0, 0, 0], [0, 0]),
            interval([0, 1, 50], [1200, 1201]),
        ];
        assert_eq!(one, expected);
        let two = record(&all, &[(5_000_001, 8_000_001, 7)]);
        assert_eq!(two.len(), 4);
        assert_eq!(two[0].intended, 3);
        assert_eq!(two[3], interval([0, 1, 7], [3000, 3001]));
    }

    #[test]
    fn a_long_stretch_has_its_intervals_to_the_end() {
        let late = 5_000_000 + ROOM as u64 * 1_000_000;
        let all = record(&OpTimeline::default(), &[(late, late + 1_000_000, 50)]);
        let last = [interval([1, 0, 0], [0, 0]), interval([0, 1, 50], [1000, 1001])];
        assert_eq!(all[ROOM..], last);
    }

    #[test]
    fn a_series_of_nothing_stays_empty() {
        let mut none = OpSeries::none();
        none.intended(7);
        none.completed(9, 1, 2, 2);
        none.finish();
        assert!(none.intervals().is_empty());
    }
}
