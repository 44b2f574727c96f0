//! Operations that do not simply follow each other: open loops, users at terminals, and roles that
//! look at others.

use super::{Execution, LATE_NS, State};
use crate::arrival::{Limit, Schedule};
use crate::clock::Clock;
use crate::recorder::Tally;
use crate::transaction::Transaction;

/// Nanoseconds of a millisecond.
const NS_PER_MS: u64 = 1_000_000;

impl<T: Transaction> Execution<'_, T> {
    /// When the last operation was due that may have been left undone, nanoseconds from the start.
    pub(super) fn end_of_the_due(&self, limit: Limit, tally: &Tally) -> u64 {
        match self.pairing.stopped_at() {
            _ if limit.time < u64::MAX => limit.time,
            Some(stopped) => stopped.saturating_sub(self.start),
            // Nobody can tell how long it would have gone on.
            None if tally.lost.is_some() => self.now.saturating_sub(self.start),
            None => 0,
        }
    }

    /// What is next in an open loop or a role.
    #[inline(never)]
    pub(super) fn paced<K: Clock>(
        &mut self,
        schedule: &mut Schedule,
        clock: &mut K,
        tally: &mut Tally,
    ) -> State {
        if self.open {
            self.intended = self.start.saturating_add(schedule.take());
            return self.due(tally);
        }
        if self.pairing.go_together(clock, tally.succeeded, self.deadline) {
            self.now = clock.now();
        }
        if self.pairing.is_over(self.now, self.deadline, tally.succeeded) {
            return State::Done;
        }
        if schedule.has_pauses() {
            return self.at_a_terminal(schedule, tally);
        }
        tally.scheduled += 1;
        self.choose();
        self.started = self.now;
        self.intended = self.now;
        self.intend(tally);
        State::Executing
    }

    /// A user thinks about the last answer and types the next inputs in. Before the first operation
    /// its own answer is thought about, so that users do not begin in step.
    fn at_a_terminal(&mut self, schedule: &mut Schedule, tally: &mut Tally) -> State {
        let before = self.op;
        self.choose();
        let answered = if tally.scheduled == 0 { self.op } else { before };
        let pauses = |op: usize| self.program.ops[op].pauses;
        let think = schedule.think(pauses(answered).think_ms);
        let keying = pauses(self.op).keying_ms * NS_PER_MS;
        tally.scheduled += 1;
        self.intended = (self.now + think + keying).min(self.deadline);
        State::Scheduled
    }

    /// What becomes of an operation of an open loop that is due at `self.intended`.
    #[inline(never)]
    fn due(&mut self, tally: &mut Tally) -> State {
        if self.pairing.is_over(self.intended, self.deadline, tally.succeeded) {
            return State::Done;
        }
        tally.scheduled += 1;
        self.choose();
        if self.pairing.is_over(self.now, self.deadline, tally.succeeded) {
            self.intend(tally);
            tally.dropped += 1;
            return State::Idle;
        }
        State::Scheduled
    }

    /// Notes when the operation was to start.
    fn intend(&self, tally: &mut Tally) {
        if let Some(detail) = tally.recorder.details.get_mut(self.op) {
            detail.series.intended(self.intended);
        }
    }

    /// Waits for the intended start. Where that has passed, the clock reading of the last answer
    /// will do.
    #[inline(never)]
    pub(super) fn wait<K: Clock>(&mut self, clock: &mut K, tally: &mut Tally) -> State {
        let completed = tally.succeeded;
        if self.now < self.intended {
            if self.pairing.may_be_stopped() {
                self.pairing.sleep_until(clock, self.intended, completed);
            } else {
                clock.sleep_until(self.intended);
            }
            self.now = clock.now();
            if self.pairing.is_over(self.intended, self.deadline, completed) {
                // The end came first: it is not due any more.
                tally.scheduled -= 1;
                return State::Done;
            }
        }
        self.intend(tally);
        if self.pairing.go_together(clock, completed, self.deadline) {
            self.now = clock.now();
            if self.pairing.is_over(self.now, self.deadline, completed) {
                tally.dropped += 1;
                return State::Idle;
            }
        }
        let lag = self.now.saturating_sub(self.intended);
        tally.lag_ns_max = tally.lag_ns_max.max(lag);
        tally.late += u64::from(lag > LATE_NS);
        if let Some(detail) = tally.recorder.details.get_mut(self.op) {
            detail.lag_ns_max = detail.lag_ns_max.max(lag);
            detail.late += u64::from(lag > LATE_NS);
        }
        self.started = self.now;
        State::Executing
    }

    /// What is recorded of open loops, of roles, and where there are several operations.
    #[inline(never)]
    pub(super) fn record_more(&mut self, service: u64, tally: &mut Tally) {
        let response = if self.open { self.now - self.intended } else { service };
        // There is none in a closed loop.
        if let Some(histogram) = tally.recorder.latencies.response.get(self.op) {
            histogram.record(response);
        }
        let (read, changed) = self.rows(tally);
        if let Some(detail) = tally.recorder.details.get_mut(self.op) {
            let rows = if self.program.ops[self.op].writes { changed } else { read };
            detail.series.completed(self.now, rows, service, response);
        }
        self.pairing.publish(tally.succeeded);
    }

    /// Adds the rows since the end of the operation before to this one, and returns them.
    pub(super) fn rows(&mut self, tally: &mut Tally) -> (u64, u64) {
        let read = tally.rows_read - self.rows_read_before;
        let changed = tally.rows_changed - self.rows_changed_before;
        self.rows_read_before = tally.rows_read;
        self.rows_changed_before = tally.rows_changed;
        if let Some(detail) = tally.recorder.details.get_mut(self.op) {
            detail.rows_read += read;
            detail.rows_changed += changed;
        }
        (read, changed)
    }
}
