//! The loop of a connection within one stretch: a state machine over preallocated state.

use super::Tally;
use crate::arrival::{Limit, Schedule};
use crate::client::{Answer, Client, Failure, FailureKind};
use crate::clock::Clock;
use crate::keys::Random;
use crate::program::{Draw, Op, Program, Source, Span, Statement};
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
    /// in a closed one.
    Idle,
    /// An operation has an intended start. Sleeps until then, notes the lag: `Executing`.
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
    index: u64,
    clients: u64,
    // Values:
    random: Random,
    registers: Box<[i64]>,
    texts: Box<[Box<[u8]>]>,
    /// Executions so far of each counter.
    sequences: Box<[u64]>,
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
    /// The error of the states `Retrying` and `Failed`.
    failure: Option<Failure>,
}

impl<'a> Turn<'a> {
    /// A turn of connection `index` of `clients`; `executed` are the positions of its counters.
    pub(super) fn new(
        program: &'a Program,
        (index, clients): (u32, u32),
        random: Random,
        executed: Vec<u64>,
    ) -> Self {
        Self {
            program,
            index: u64::from(index),
            clients: u64::from(clients),
            random,
            registers: vec![0; program.registers].into(),
            texts: program.text_registers.iter().map(|length| vec![0; *length].into()).collect(),
            sequences: executed.into(),
            copy: 0,
            op: 0,
            intended: 0,
            started: 0,
            now: 0,
            attempts: 0,
            errors_in_a_row: 0,
            statements_before: 0,
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
        let deadline = start_ns.saturating_add(limit.time);
        let open = schedule.is_open();
        tally.recorder.series.start(start_ns);
        self.now = clock.now();
        let mut state = State::Idle;
        loop {
            state = match state {
                State::Idle if tally.scheduled >= limit.operations => State::Done,
                State::Idle if open => {
                    self.intended = start_ns.saturating_add(schedule.take());
                    self.due(deadline, tally)
                }
                State::Idle if self.now >= deadline => State::Done,
                State::Idle => {
                    tally.scheduled += 1;
                    self.choose();
                    self.started = self.now;
                    State::Executing
                }
                State::Scheduled => {
                    self.wait(clock, tally);
                    State::Executing
                }
                State::Executing => match self.operation(client, tally) {
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
        tally.drop_rest(&mut schedule, limit);
        tally.end_ns = self.now;
        tally.recorder.series.finish();
        tally.check();
    }

    /// What becomes of an operation of an open loop that is due at `self.intended`.
    #[inline(never)]
    fn due(&mut self, deadline: u64, tally: &mut Tally) -> State {
        if self.intended >= deadline {
            return State::Done;
        }
        tally.scheduled += 1;
        if self.now >= deadline {
            tally.dropped += 1;
            return State::Idle;
        }
        self.choose();
        State::Scheduled
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

    /// Waits for the intended start. Where that has passed, the clock reading of the last answer
    /// will do.
    #[inline(never)]
    fn wait<K: Clock>(&mut self, clock: &mut K, tally: &mut Tally) {
        if self.now < self.intended {
            clock.sleep_until(self.intended);
            self.now = clock.now();
        }
        let lag = self.now.saturating_sub(self.intended);
        tally.lag_ns_max = tally.lag_ns_max.max(lag);
        tally.late += u64::from(lag > LATE_NS);
        self.started = self.now;
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
        // There is none in a closed loop.
        if let Some(histogram) = tally.recorder.response.get_mut(self.op) {
            histogram.record(self.now - self.intended);
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
    fn operation<C: Client>(&mut self, client: &mut C, tally: &mut Tally) -> Result<(), Failure> {
        let program = self.program;
        let Op { draws, statements, .. } = program.ops[self.op];
        self.draw(draws);
        for statement in statements.of(&program.statements) {
            if statement.copies > 1 {
                match statement.table {
                    TableChoice::Fresh => self.copy = self.random.below(statement.copies),
                    TableChoice::Same => {}
                    TableChoice::Connection => self.copy = self.index % statement.copies,
                }
            }
            let mut left = statement.repeat;
            while left > 0 {
                self.statement(client, statement, tally)?;
                left -= 1;
            }
        }
        Ok(())
    }

    /// Executes one statement once and counts what it did.
    #[inline(always)]
    fn statement<C: Client>(
        &mut self,
        client: &mut C,
        statement: &Statement,
        tally: &mut Tally,
    ) -> Result<(), Failure> {
        self.draw(statement.draws);
        let copy = if statement.copies > 1 { self.copy as usize } else { 0 };
        client.begin(statement.sql as usize + copy);
        match &statement.only {
            Some(source) => client.integer(self.integer(source, 0)),
            None => self.arguments(client, statement),
        }
        let answer = client.execute()?;
        self.count(statement, answer, tally);
        Ok(())
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
        if let Some(register) = statement.capture
            && let Some(value) = answer.captured
        {
            self.registers[usize::from(register)] = value;
        }
    }

    /// Gives the values of all slots to the client.
    #[inline(never)]
    fn arguments<C: Client>(&mut self, client: &mut C, statement: &Statement) {
        let program = self.program;
        for _ in 0..statement.rows {
            for slot in statement.slots.of(&program.slots) {
                match slot.source {
                    Source::Text(template) => {
                        let template = &program.templates[usize::from(template)];
                        for _ in 0..slot.count {
                            template.fill(&mut self.random, client.text(template.text()));
                        }
                    }
                    Source::TextRegister { index, template } => {
                        let template = &program.templates[usize::from(template)];
                        let text = &self.texts[usize::from(index)];
                        for _ in 0..slot.count {
                            client.text(template.text()).copy_from_slice(text);
                        }
                    }
                    source => {
                        for place in 0..slot.count {
                            client.integer(self.integer(&source, place));
                        }
                    }
                }
            }
        }
    }

    /// Makes named draws. Most operations have none, and should not pay for a call.
    #[inline(always)]
    fn draw(&mut self, draws: Span) {
        if draws.start < draws.end {
            self.draw_all(draws);
        }
    }

    #[inline(never)]
    fn draw_all(&mut self, draws: Span) {
        let program = self.program;
        for Draw { source, register } in draws.of(&program.draws) {
            let register = usize::from(*register);
            match source {
                Source::Text(template) => {
                    let template = &program.templates[usize::from(*template)];
                    self.texts[register].copy_from_slice(template.text());
                    template.fill(&mut self.random, &mut self.texts[register]);
                }
                Source::TextRegister { index, .. } => {
                    let text = std::mem::take(&mut self.texts[usize::from(*index)]);
                    self.texts[register].copy_from_slice(&text);
                    self.texts[usize::from(*index)] = text;
                }
                source => self.registers[register] = self.integer(source, 0),
            }
        }
    }

    /// The next value of an integer source at a place of its list.
    #[inline(always)]
    fn integer(&mut self, source: &Source, place: u32) -> i64 {
        match source {
            Source::Uniform { low, span } => low.wrapping_add(self.random.below(*span) as i64),
            source => self.other_integer(*source, place),
        }
    }

    /// The sources that are rarer than uniform ones; apart, to keep the usual path short.
    #[inline(never)]
    fn other_integer(&mut self, source: Source, place: u32) -> i64 {
        match source {
            Source::Zipf(at) => self.program.zipfs[usize::from(at)].draw(&mut self.random),
            Source::Ascending(first) => first.wrapping_add(i64::from(place)),
            Source::Sequence(at) => {
                let at = usize::from(at);
                let executed = self.sequences[at];
                self.sequences[at] += 1;
                let distance = self.index.wrapping_add(self.clients.wrapping_mul(executed));
                self.program.sequences[at].first.wrapping_add(distance as i64)
            }
            Source::Register { index, plus } => {
                self.registers[usize::from(index)].wrapping_add(plus)
            }
            // The first has its own place; texts are never asked for as integers: the program tells
            // them apart.
            Source::Uniform { .. } | Source::Text(_) | Source::TextRegister { .. } => 0,
        }
    }
}

#[cfg(test)]
mod tests;
