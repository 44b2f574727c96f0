//! The loop of a connection within one stretch: a state machine over preallocated state.

mod paced;

use super::peers::Pairing;
use crate::arrival::{Limit, Schedule};
use crate::clock::Clock;
use crate::program::Program;
use crate::recorder::Tally;
use crate::transaction::{Outcome, Transaction, Work};
use crate::wire::{Client, Failure, FailureKind};
use values::Random;

/// Failures in a row after which a connection gives up.
pub const ERRORS_IN_A_ROW_MAX: u32 = 100;
/// Restarts of one operation after which it has failed.
pub const RETRIES_MAX: u32 = 1000;
/// An operation that starts after its intended time by more than this is late, nanoseconds.
pub const LATE_NS: u64 = 1_000_000;

/// Where a connection stands. The clock is read once per step that takes time.
#[derive(Clone, Copy)]
enum State {
    /// No operation in hand. At the end of the stretch: `Done`. Otherwise one becomes due:
    /// `Scheduled` in an open loop, where a backlog at the end is counted as dropped, and where
    /// operations have pauses; `Executing` in a closed one, where a role that is paired first
    /// waits for its partner.
    Idle,
    /// An operation has an intended start. Sleeps until then, waits for the partner, notes the
    /// lag: `Executing`. The end may come in the meantime: `Idle`.
    Scheduled,
    /// Sends the statements one after the other and waits for each answer. All answered:
    /// `Answered`. A deadlock, lock timeout or serialization failure: `Retrying`. Any other error:
    /// `Failed`.
    Executing,
    /// The operation has succeeded: it is recorded. `Idle`.
    Answered,
    /// The operation met an error that a new attempt may not meet. Its transaction is rolled back,
    /// and it is attempted again, its service time running on: `Executing`; after
    /// too many attempts, `Failed`. After the end nothing is attempted again, and the operation
    /// was not due: `Idle`.
    Retrying,
    /// The operation is given up. `Idle`; `Done` if the connection is lost or nothing works any
    /// more.
    Failed,
    /// Nothing more to do. Left over operations are counted as dropped, and the loop ends.
    Done,
}

/// When operations start and when they end.
pub(super) struct Timing {
    /// Intended starts.
    pub(super) schedule: Schedule,
    /// When the connection ends by itself.
    pub(super) limit: Limit,
    /// CLOCK_MONOTONIC of the barrier, nanoseconds.
    pub(super) start_ns: u64,
}

/// A connection's own state while it executes a program, and the operation in hand.
pub(super) struct Execution<'a, T> {
    // Configuration:
    transaction: T,
    program: &'a Program,
    pairing: Pairing<'a>,
    /// Whether operations start by a schedule, or with an eye on other roles.
    paced: bool,
    open: bool,
    /// Whether more is recorded than service times.
    detailed: bool,
    /// When it ends by itself, nanoseconds.
    deadline: u64,
    /// The barrier, nanoseconds.
    start: u64,
    random: Random,
    // The operation in hand:
    op: usize,
    /// When it was due, nanoseconds.
    intended: u64,
    /// When its first statement was sent, nanoseconds.
    started: u64,
    /// The last reading of the clock, nanoseconds.
    now: u64,
    /// Restarts of it so far.
    attempts: u32,
    /// Failures since the last success.
    errors_in_a_row: u32,
    /// All statements when the operation before it was answered.
    statements_before: u64,
    /// All rows returned when the operation before it ended.
    rows_read_before: u64,
    /// All rows changed when the operation before it ended.
    rows_changed_before: u64,
    /// The error of the states `Retrying` and `Failed`.
    failure: Option<Failure>,
}

impl<'a, T: Transaction> Execution<'a, T> {
    pub(super) fn new(
        program: &'a Program,
        pairing: Pairing<'a>,
        transaction: T,
        random: Random,
    ) -> Self {
        Self {
            transaction,
            program,
            paced: pairing.peer.paired,
            pairing,
            open: false,
            detailed: false,
            deadline: 0,
            start: 0,
            random,
            op: 0,
            intended: 0,
            started: 0,
            now: 0,
            attempts: 0,
            errors_in_a_row: 0,
            statements_before: 0,
            rows_read_before: 0,
            rows_changed_before: 0,
            failure: None,
        }
    }

    /// What was executed, when it is over.
    pub(super) fn into_transaction(self) -> T {
        self.transaction
    }

    /// Executes operations from the start until the limit.
    pub(super) fn execute<C: Client, K: Clock>(
        &mut self,
        client: &mut C,
        clock: &mut K,
        timing: Timing,
        tally: &mut Tally,
    ) {
        let Timing { mut schedule, limit, start_ns } = timing;
        self.start = start_ns;
        self.deadline = start_ns.saturating_add(limit.time);
        self.open = schedule.is_open();
        self.paced |= self.open || schedule.has_pauses();
        self.detailed = !tally.recorder.details.is_empty();
        let (deadline, paced) = (self.deadline, self.paced);
        tally.recorder.start(start_ns);
        self.now = clock.now();
        let mut state = State::Idle;
        loop {
            state = match state {
                State::Idle if tally.scheduled >= limit.operations => State::Done,
                State::Idle if paced => self.paced(&mut schedule, clock, tally),
                State::Idle if self.now >= deadline => State::Done,
                State::Idle => {
                    tally.scheduled += 1;
                    self.choose();
                    self.started = self.now;
                    State::Executing
                }
                State::Scheduled => self.wait(clock, tally),
                State::Executing => match self.attempt(client, clock, tally) {
                    Ok(()) => State::Answered,
                    Err(failure) => self.after(failure),
                },
                State::Answered => {
                    self.now = clock.now();
                    self.record(tally);
                    State::Idle
                }
                State::Retrying => self.retry(client, clock, tally),
                State::Failed => {
                    self.now = clock.now();
                    self.fail(client, tally)
                }
                State::Done => break,
            }
        }
        let end = self.end_of_the_due(limit, tally);
        tally.drop_rest(&mut schedule, limit.operations, end);
        tally.end_ns = self.now;
        tally.recorder.finish();
        tally.check();
    }

    /// Chooses the next operation and draws its inputs.
    #[inline(always)]
    fn choose(&mut self) {
        let ops = &self.program.ops;
        self.op = 0;
        if ops.len() > 1 {
            let at = self.random.below(self.program.weight_total);
            self.op = ops.iter().position(|op| at < op.weight_end).unwrap_or_default();
        }
        self.transaction.draw(self.op, &mut self.random);
    }

    /// Attempts the operation in hand.
    #[inline(always)]
    fn attempt<C: Client, K: Clock>(
        &mut self,
        client: &mut C,
        clock: &mut K,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let (random, started) = (&mut self.random, &mut self.started);
        let mut work = Work { client, clock, random, tally, started };
        let outcome = self.transaction.attempt(self.op, &mut work)?;
        if outcome == Outcome::RolledBack {
            tally.rolled_back(self.op);
        }
        Ok(())
    }

    #[inline(always)]
    fn record(&mut self, tally: &mut Tally) {
        tally.succeeded += 1;
        self.errors_in_a_row = 0;
        self.attempts = 0;
        let service = self.now - self.started;
        tally.service_ns += service;
        if let Some(histogram) = tally.recorder.latencies.service.get(self.op) {
            histogram.record(service);
        }
        if self.detailed {
            self.record_more(service, tally);
        }
        self.rows_changed_before = tally.rows_changed;
        let statements = tally.statements();
        let since = statements - self.statements_before;
        self.statements_before = statements;
        tally.recorder.series.answered(self.now, since, service);
    }

    /// The state after an error.
    #[cold]
    fn after(&mut self, failure: Failure) -> State {
        let again = failure.kind() == FailureKind::Retry && self.attempts < RETRIES_MAX;
        self.failure = Some(failure);
        if again { State::Retrying } else { State::Failed }
    }

    #[cold]
    fn retry<C: Client, K: Clock>(
        &mut self,
        client: &mut C,
        clock: &mut K,
        tally: &mut Tally,
    ) -> State {
        self.now = clock.now();
        if let Some(failure) = self.failure.take() {
            tally.error(&failure);
            tally.recorder.series.error(self.now);
        }
        if self.program.ops[self.op].transaction
            && let Err(failure) = client.rollback()
        {
            self.failure = Some(failure);
            return State::Failed;
        }
        self.take_back(tally);
        // Waits for locks could otherwise go on for hours.
        if self.pairing.is_over(self.now, self.deadline, tally.succeeded) {
            self.rows(tally);
            self.attempts = 0;
            tally.scheduled -= 1;
            tally.unfinished(self.op);
            return State::Idle;
        }
        self.attempts += 1;
        tally.retries += 1;
        State::Executing
    }

    /// What a transaction takes back is not what the operation changed.
    fn take_back(&self, tally: &mut Tally) {
        if self.program.ops[self.op].transaction {
            tally.rows_changed = self.rows_changed_before;
        }
    }

    #[cold]
    fn fail<C: Client>(&mut self, client: &mut C, tally: &mut Tally) -> State {
        self.take_back(tally);
        self.rows(tally);
        self.attempts = 0;
        self.errors_in_a_row += 1;
        tally.unfinished(self.op);
        let mut lost = false;
        if let Some(failure) = self.failure.take() {
            lost = failure.is_lost();
            tally.failed_by(&failure);
            tally.recorder.series.error(self.now);
        }
        // The failure may have been in BEGIN or may have ended the transaction: then there is
        // nothing to roll back, which servers do not mind.
        if !lost
            && self.program.ops[self.op].transaction
            && let Err(failure) = client.rollback()
        {
            lost = failure.is_lost();
            tally.error(&failure);
        }
        if lost || self.errors_in_a_row >= ERRORS_IN_A_ROW_MAX { State::Done } else { State::Idle }
    }
}

#[cfg(test)]
mod tests;
