//! The loop of a connection within one stretch: a state machine over preallocated state.

mod guided;
mod values;

use super::Tally;
use super::seat::{Guide, Seat};
use crate::arrival::{Limit, Schedule};
use crate::client::{Answer, Client, Failure, FailureKind};
use crate::clock::Clock;
use crate::keys::Random;
use crate::pieces::BRIEF;
use crate::program::{Decimal, Every, Op, Program, Statement, TIME_TEXT};
use model::workload::{Class, TableChoice};

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
    /// `Scheduled` in an open loop, where a backlog at the end is counted as dropped, `Executing`
    /// in a closed one, where a role that is paired first waits for its partner.
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
    /// and it is executed again with fresh values, its service time running on: `Executing`; after
    /// too many attempts, `Failed`.
    Retrying,
    /// The operation is given up. `Idle`; `Done` if the connection is lost or nothing works any
    /// more.
    Failed,
    /// Nothing more to do. Left over operations are counted as dropped, and the loop ends.
    Done,
}

/// A connection's own state while it executes a program: values, and the operation in hand.
pub(super) struct Turn<'a> {
    // Configuration:
    program: &'a Program,
    guide: Guide<'a>,
    index: u64,
    clients: u64,
    /// Whether operations start by a schedule, or with an eye on other roles.
    guided: bool,
    open: bool,
    /// Whether more is recorded than service times.
    detailed: bool,
    /// When it ends by itself, nanoseconds.
    deadline: u64,
    /// The barrier, nanoseconds.
    start: u64,
    // Values:
    random: Random,
    registers: Box<[i64]>,
    texts: Box<[Box<[u8]>]>,
    /// Executions so far of each counter.
    sequences: Box<[u64]>,
    /// Turns of the statements that are not executed every time.
    visits: Box<[Visit]>,
    /// The time as text at the start of some bytes, and the second that it tells.
    time: ([u8; BRIEF], u64),
    /// A decimal in the making.
    decimal: [u8; Decimal::LENGTH_MAX],
    /// Copy of the table that the last statement used, from 0.
    copy: u64,
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
    /// All rows, returned and changed, when the operation before it ended.
    rows_before: (u64, u64),
    /// The error of the states `Retrying` and `Failed`.
    failure: Option<Failure>,
}

/// The turns of one statement.
#[derive(Debug, Clone, Copy, Default)]
struct Visit {
    /// The last operation that came by, counted from 1; its restarts count as the same.
    operation: u64,
    /// Operations that came by before it.
    before: u64,
}

impl<'a> Turn<'a> {
    /// A turn at a seat; `executed` are the positions of its counters.
    pub(super) fn new(
        program: &'a Program,
        (guide, seat): (Guide<'a>, &Seat),
        random: Random,
        executed: Vec<u64>,
    ) -> Self {
        Self {
            program,
            guide,
            index: u64::from(seat.index),
            clients: u64::from(seat.clients),
            guided: seat.guided,
            open: false,
            detailed: false,
            deadline: 0,
            start: 0,
            random,
            registers: vec![0; program.registers].into(),
            texts: program.text_registers.iter().map(|length| vec![0; *length].into()).collect(),
            sequences: executed.into(),
            visits: vec![Visit::default(); program.visits].into(),
            time: (values::brief(TIME_TEXT), 0),
            decimal: [0; Decimal::LENGTH_MAX],
            copy: 0,
            op: 0,
            intended: 0,
            started: 0,
            now: 0,
            attempts: 0,
            errors_in_a_row: 0,
            statements_before: 0,
            rows_before: (0, 0),
            failure: None,
        }
    }

    /// Positions of the counters, for the next stretch.
    pub(super) fn executed(&self) -> &[u64] {
        &self.sequences
    }

    /// Executes operations from `start_ns` until the limit.
    pub(super) fn execute<C: Client, K: Clock>(
        &mut self,
        (client, clock): (&mut C, &mut K),
        (mut schedule, limit, start_ns): (Schedule, Limit, u64),
        tally: &mut Tally,
    ) {
        self.start = start_ns;
        self.deadline = start_ns.saturating_add(limit.time);
        self.open = schedule.is_open();
        self.guided |= self.open;
        self.detailed = !tally.recorder.details.is_empty();
        let (deadline, guided) = (self.deadline, self.guided);
        tally.recorder.start(start_ns);
        self.now = clock.now();
        let mut state = State::Idle;
        loop {
            state = match state {
                State::Idle if tally.scheduled >= limit.operations => State::Done,
                State::Idle if guided => self.guided(&mut schedule, clock, tally),
                State::Idle if self.now >= deadline => State::Done,
                State::Idle => {
                    tally.scheduled += 1;
                    self.choose();
                    self.started = self.now;
                    State::Executing
                }
                State::Scheduled => self.wait(clock, tally),
                State::Executing => match self.operation((client, clock), tally) {
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

    /// Draws the next operation.
    #[inline]
    fn choose(&mut self) {
        let ops = &self.program.ops;
        self.op = 0;
        if ops.len() > 1 {
            let at = self.random.below(self.program.weight_total);
            self.op = ops.iter().position(|op| at < op.weight_end).unwrap_or_default();
        }
    }

    #[inline(always)]
    fn record(&mut self, tally: &mut Tally) {
        tally.succeeded += 1;
        self.errors_in_a_row = 0;
        self.attempts = 0;
        let service = self.now - self.started;
        if let Some(histogram) = tally.recorder.service.get_mut(self.op) {
            histogram.record(service);
        }
        if self.detailed {
            self.record_more(service, tally);
        }
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
        self.attempts += 1;
        tally.retries += 1;
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
        State::Executing
    }

    #[cold]
    fn fail<C: Client>(&mut self, client: &mut C, tally: &mut Tally) -> State {
        tally.failed += 1;
        self.rows(tally);
        self.attempts = 0;
        self.errors_in_a_row += 1;
        let mut lost = false;
        if let Some(failure) = self.failure.take() {
            lost = failure.kind() == FailureKind::Lost;
            tally.error(&failure);
            tally.recorder.series.error(self.now);
        }
        // The failure may have been in BEGIN or may have ended the transaction: then there is
        // nothing to roll back, which servers do not mind.
        if !lost
            && self.program.ops[self.op].transaction
            && let Err(failure) = client.rollback()
        {
            lost = failure.kind() == FailureKind::Lost;
            tally.error(&failure);
        }
        if lost || self.errors_in_a_row >= ERRORS_IN_A_ROW_MAX { State::Done } else { State::Idle }
    }

    /// Executes all statements of the operation in hand.
    #[inline(always)]
    fn operation<C: Client, K: Clock>(
        &mut self,
        (client, clock): (&mut C, &mut K),
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let program = self.program;
        let Op { draws, statements, .. } = program.ops[self.op];
        self.draw(draws);
        for statement in statements.of(&program.statements) {
            if statement.choice {
                if statement.copies > 1 {
                    match statement.table {
                        TableChoice::Fresh => self.copy = self.random.below(statement.copies),
                        TableChoice::Same => {}
                        TableChoice::Connection => self.copy = self.index % statement.copies,
                    }
                }
                if let Some(every) = statement.every {
                    if !self.visit(every, tally.scheduled) {
                        continue;
                    }
                    if every.untimed {
                        self.untimed((client, clock), statement, tally)?;
                        continue;
                    }
                }
            }
            let mut left = statement.repeat;
            while left > 0 {
                self.statement((client, clock), statement, tally)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// Whether it is the turn of a statement in the operation with this number.
    #[inline(never)]
    fn visit(&mut self, every: Every, operation: u64) -> bool {
        let visit = &mut self.visits[usize::from(every.visit)];
        if visit.operation == 0 {
            visit.operation = operation;
        } else if visit.operation != operation {
            visit.operation = operation;
            visit.before += 1;
        }
        visit.before.is_multiple_of(every.period)
    }

    /// Executes a statement whose time is not the operation's: that begins later by as much. What
    /// waits for it all the same is seen in the response times of an open loop.
    #[inline(never)]
    fn untimed<C: Client, K: Clock>(
        &mut self,
        (client, clock): (&mut C, &mut K),
        statement: &Statement,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        let before = clock.now();
        for _ in 0..statement.repeat {
            self.statement((client, clock), statement, tally)?;
        }
        self.started += clock.now().saturating_sub(before);
        Ok(())
    }

    /// Executes one statement once and counts what it did.
    #[inline(always)]
    fn statement<C: Client, K: Clock>(
        &mut self,
        (client, clock): (&mut C, &mut K),
        statement: &Statement,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        self.draw(statement.draws);
        let copy = if statement.copies > 1 { self.copy as usize } else { 0 };
        client.begin(statement.sql as usize + copy);
        match &statement.only {
            Some(source) => client.integer(self.integer(source, 0)),
            None => {
                if statement.timed {
                    self.tell_time(clock.wall());
                }
                self.arguments(client, statement);
            }
        }
        let answer = match client.execute() {
            Ok(answer) => answer,
            Err(failure) => return Err(self.located(statement, copy, failure)),
        };
        self.count(statement, answer, tally);
        Ok(())
    }

    /// A refused statement's error with its place; what is repeated or lost needs none.
    #[cold]
    fn located(&self, statement: &Statement, copy: usize, failure: Failure) -> Failure {
        if failure.kind() != FailureKind::Statement {
            return failure;
        }
        match self.program.sql.get(statement.sql as usize + copy) {
            Some(sql) => self.program.located(sql, failure),
            None => failure,
        }
    }

    #[inline(always)]
    fn count(&mut self, statement: &Statement, answer: Answer, tally: &mut Tally) {
        match statement.class {
            Class::Read => tally.reads += 1,
            Class::Write if answer.changed > 0 => tally.writes += 1,
            Class::Write | Class::Other => tally.others += 1,
        }
        tally.rows_read += answer.rows;
        tally.rows_changed += answer.changed;
        let expected =
            statement.expect_rows.hold(answer.rows) & statement.expect_changed.hold(answer.changed);
        tally.unexpected += u64::from(!expected);
        if statement.keeps {
            self.keep(statement, answer);
        }
    }

    /// Keeps what the statement found, and moves on what it left behind.
    #[inline(never)]
    fn keep(&mut self, statement: &Statement, answer: Answer) {
        if let Some(number) = statement.capture
            && let Some(value) = answer.captured
        {
            self.guide.kept.set(number, value);
        }
        if let Some((number, by)) = statement.advance {
            self.guide.kept.add(number, by);
        }
    }
}

#[cfg(test)]
mod tests;
