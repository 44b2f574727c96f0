//! The counters of one connection in one stretch, and their identities.

use super::Recorder;
use crate::arrival::{Limit, Schedule};
use crate::wire::{Answer, Failure};
use model::drawn::Drawn;
use model::drive::ErrorCount;
use model::neighbors::Neighbors;
use model::workload::Class;

/// What one connection did in a stretch.
///
/// Identities, asserted at the end of every stretch:
/// - `scheduled = succeeded + failed + dropped`
/// - the counts of all service histograms of a role sum up to `succeeded` of its connections
#[derive(Debug, Clone)]
pub struct Tally {
    /// Operations that were due: begun, or dropped.
    pub scheduled: u64,
    /// Operations that did all their statements, perhaps after retries.
    pub succeeded: u64,
    /// Their service times together, nanoseconds.
    pub service_ns: u64,
    /// Those of them that were rolled back on purpose.
    pub rolled_back: u64,
    /// Operations that were begun and did not succeed: those that failed, and those that the end
    /// kept from another attempt, which were not due.
    pub unfinished: u64,
    /// Operations that were begun and given up.
    pub failed: u64,
    /// Operations that were due and never begun: an open loop's backlog at its end, and what a
    /// connection that stopped early left undone of its fixed number.
    pub dropped: u64,
    /// Operations of an open loop that started more than a millisecond after their intended time.
    pub late: u64,
    /// The largest such lag, nanoseconds; also of operations that do not count as late.
    pub lag_ns_max: u64,
    /// Restarts of an operation.
    pub retries: u64,
    /// Statements of class read. With `writes` and `others`: all statements that were answered
    /// without an error, those of operations that failed later or were restarted included.
    pub reads: u64,
    /// Statements of class write that changed rows.
    pub writes: u64,
    /// All other statements: BEGIN, COMMIT, and writes that found no row to change.
    pub others: u64,
    /// Rows returned.
    pub rows_read: u64,
    /// Rows changed, without those that were rolled back after an error.
    pub rows_changed: u64,
    /// Statements whose rows were not as expected.
    pub unexpected: u64,
    /// Errors by code, those that led to a retry included. Where an operation was given up, its
    /// error comes first.
    pub errors: Vec<ErrorCount>,
    /// Why the connection was lost, if it was.
    pub lost: Option<Failure>,
    /// What coded transactions counted.
    pub drawn: Vec<Drawn>,
    /// How many of the nearest rows searches found.
    pub neighbors: Option<Neighbors>,
    /// CLOCK_MONOTONIC of the last answer, nanoseconds.
    pub end_ns: u64,
    /// Histograms and intervals.
    pub recorder: Recorder,
}

impl Tally {
    /// No counts yet.
    pub fn new(recorder: Recorder) -> Self {
        Self {
            scheduled: 0,
            succeeded: 0,
            service_ns: 0,
            rolled_back: 0,
            unfinished: 0,
            failed: 0,
            dropped: 0,
            late: 0,
            lag_ns_max: 0,
            retries: 0,
            reads: 0,
            writes: 0,
            others: 0,
            rows_read: 0,
            rows_changed: 0,
            unexpected: 0,
            errors: Vec::new(),
            lost: None,
            drawn: Vec::new(),
            neighbors: None,
            end_ns: 0,
            recorder,
        }
    }

    /// All statements that were answered without an error.
    #[inline]
    pub fn statements(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// Counts a statement that was answered without an error.
    #[inline(always)]
    pub fn answered(&mut self, class: Class, answer: Answer) {
        match class {
            Class::Read => self.reads += 1,
            Class::Write if answer.changed > 0 => self.writes += 1,
            Class::Write | Class::Other => self.others += 1,
        }
        self.rows_read += answer.rows;
        self.rows_changed += answer.changed;
    }

    /// Counts operation `op` as rolled back on purpose.
    pub fn rolled_back(&mut self, op: usize) {
        self.rolled_back += 1;
        if let Some(detail) = self.recorder.details.get_mut(op) {
            detail.rolled_back += 1;
        }
    }

    /// Counts operation `op` as begun in vain.
    #[cold]
    pub fn unfinished(&mut self, op: usize) {
        self.unfinished += 1;
        if let Some(detail) = self.recorder.details.get_mut(op) {
            detail.unfinished += 1;
        }
    }

    /// Counts an error. The only thing of a connection that may allocate in a stretch.
    #[cold]
    pub fn error(&mut self, failure: &Failure) {
        if failure.is_lost() {
            self.lost = Some(failure.clone());
        }
        count(&mut self.errors, failure.code(), failure.message(), 1);
    }

    /// Counts an operation that is given up because of an error.
    #[cold]
    pub fn failed_by(&mut self, failure: &Failure) {
        self.failed += 1;
        self.error(failure);
        to_front(&mut self.errors, failure.code());
    }

    /// Counts everything that is still due as dropped, for a connection that does not go on.
    pub fn give_up(&mut self, mut schedule: Schedule, limit: Limit, failure: &Failure) {
        self.error(failure);
        let end = if limit.time < u64::MAX { limit.time } else { 0 };
        self.drop_rest(&mut schedule, limit.operations, end);
    }

    /// Counts as dropped what is due between now and the end, of which `end` is the time from the
    /// barrier on, nanoseconds. A closed loop that ends by time has nothing due before the last
    /// answer, so nothing is dropped there.
    pub fn drop_rest(&mut self, schedule: &mut Schedule, operations: u64, end: u64) {
        let rest = if operations < u64::MAX {
            operations.saturating_sub(self.scheduled)
        } else if schedule.is_open() {
            std::iter::from_fn(|| Some(schedule.take())).take_while(|due| *due < end).count() as u64
        } else {
            0
        };
        self.scheduled += rest;
        self.dropped += rest;
    }

    /// Asserts the identities.
    pub fn check(&self) {
        assert_eq!(self.scheduled, self.succeeded + self.failed + self.dropped, "{self:?}");
    }

    /// Adds the counts of another connection of the same role.
    pub fn merge(&mut self, other: &Self) {
        self.recorder.merge(&other.recorder);
        self.add(other);
    }

    /// Adds the counts of another role, except counts per operation.
    pub fn add(&mut self, other: &Self) {
        let first_failed = self.failed == 0 && other.failed > 0;
        self.scheduled += other.scheduled;
        self.succeeded += other.succeeded;
        self.service_ns += other.service_ns;
        self.rolled_back += other.rolled_back;
        self.unfinished += other.unfinished;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.late += other.late;
        self.lag_ns_max = self.lag_ns_max.max(other.lag_ns_max);
        self.retries += other.retries;
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.rows_read += other.rows_read;
        self.rows_changed += other.rows_changed;
        self.unexpected += other.unexpected;
        Drawn::merge(&mut self.drawn, &other.drawn);
        Neighbors::merge(&mut self.neighbors, other.neighbors.as_ref());
        self.end_ns = self.end_ns.max(other.end_ns);
        for error in &other.errors {
            count(&mut self.errors, &error.code, &error.message, error.count);
        }
        if let Some(first) = other.errors.first().filter(|_| first_failed) {
            to_front(&mut self.errors, &first.code);
        }
    }
}

/// Moves an error before all others.
fn to_front(errors: &mut [ErrorCount], code: &str) {
    if let Some(place) = errors.iter().position(|error| error.code == code) {
        errors[..=place].rotate_right(1);
    }
}

fn count(errors: &mut Vec<ErrorCount>, code: &str, message: &str, by: u64) {
    match errors.iter_mut().find(|error| error.code == code) {
        Some(error) => error.count += by,
        None => errors.push(ErrorCount {
            code: code.to_owned(),
            message: message.to_owned(),
            count: by,
        }),
    }
}
