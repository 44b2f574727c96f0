//! Transactions as a workload's file declares them: a program, executed statement by statement.

mod values;

use super::{Kept, Member, Outcome, Transaction, Work};
use crate::clock::Clock;
use crate::program::{Decimal, Every, Op, Program, Statement, TIME_TEXT};
use crate::wire::{Answer, Client, Failure, FailureKind, Row, Value};
use ::values::{Random, generator::BRIEF};
use model::workload::TableChoice;

/// The declared operations of a connection, with its values.
pub(crate) struct Declared<'a> {
    program: &'a Program,
    kept: &'a Kept,
    /// Which connection of the role it is.
    member: Member,
    registers: Box<[i64]>,
    texts: Box<[Box<[u8]>]>,
    /// Executions so far of each counter.
    sequences: Box<[u64]>,
    /// Turns of the statements that are not executed every time.
    visits: Box<[Visit]>,
    /// The time as text at the start of some bytes.
    time: [u8; BRIEF],
    /// The second that it tells.
    second: u64,
    /// Room for the longest text of the generators that have no way of their own here.
    text: Vec<u8>,
    /// A decimal in the making.
    decimal: [u8; Decimal::LENGTH_MAX],
    /// Copy of the table that the last statement used, from 0.
    copy: u64,
}

/// The turns of one statement.
#[derive(Debug, Clone, Copy, Default)]
struct Visit {
    /// The last operation that came by, counted from 1; its restarts count as the same.
    operation: u64,
    /// Operations that came by before it.
    before: u64,
}

impl<'a> Declared<'a> {
    /// The operations of a program; `executed` are the positions of its counters.
    pub(crate) fn new(
        program: &'a Program,
        kept: &'a Kept,
        member: Member,
        executed: Vec<u64>,
    ) -> Self {
        Self {
            program,
            kept,
            member,
            registers: vec![0; program.registers].into(),
            texts: program.text_registers.iter().map(|length| vec![0; *length].into()).collect(),
            sequences: executed.into(),
            visits: vec![Visit::default(); program.visits].into(),
            time: values::brief(TIME_TEXT),
            second: 0,
            text: Vec::with_capacity(
                program.texts.iter().map(|one| one.length_max()).max().unwrap_or(0),
            ),
            decimal: [0; Decimal::LENGTH_MAX],
            copy: 0,
        }
    }

    /// Positions of the counters, for the next stretch.
    pub(crate) fn executed(&self) -> &[u64] {
        &self.sequences
    }
}

impl Transaction for Declared<'_> {
    /// Each attempt draws its own values.
    #[inline(always)]
    fn draw(&mut self, _: usize, _: &mut Random) {}

    #[inline(always)]
    fn attempt<C: Client, K: Clock>(
        &mut self,
        op: usize,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure> {
        let program = self.program;
        let Op { draws, statements, .. } = program.ops[op];
        self.draw_named(draws, work.random);
        for statement in statements.of(&program.statements) {
            if statement.choice {
                if statement.copies > 1 {
                    match statement.table {
                        TableChoice::Fresh => self.copy = work.random.below(statement.copies),
                        TableChoice::Same => {}
                        TableChoice::Connection => {
                            self.copy = u64::from(self.member.index) % statement.copies;
                        }
                    }
                }
                if let Some(every) = statement.every {
                    if !self.visit(every, work.tally.scheduled) {
                        continue;
                    }
                    if every.untimed {
                        self.untimed(work, statement)?;
                        continue;
                    }
                }
            }
            let mut left = statement.repeat;
            while left > 0 {
                self.statement(work, statement)?;
                left -= 1;
            }
        }
        Ok(Outcome::Done)
    }
}

impl Declared<'_> {
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
        work: &mut Work<'_, C, K>,
        statement: &Statement,
    ) -> Result<(), Failure> {
        let before = work.clock.now();
        for _ in 0..statement.repeat {
            self.statement(work, statement)?;
        }
        *work.started += work.clock.now().saturating_sub(before);
        Ok(())
    }

    /// Executes one statement once and counts what it did.
    #[inline(always)]
    fn statement<C: Client, K: Clock>(
        &mut self,
        work: &mut Work<'_, C, K>,
        statement: &Statement,
    ) -> Result<(), Failure> {
        self.draw_named(statement.draws, work.random);
        let copy = if statement.copies > 1 { self.copy as usize } else { 0 };
        work.client.begin(statement.sql as usize + copy);
        match &statement.only {
            Some(source) => work.client.integer(self.integer(source, 0, work.random)),
            None => {
                if statement.timed {
                    self.tell_time(work.clock.wall());
                }
                self.arguments(work.client, statement, work.random);
            }
        }
        let executed = match statement.keeps {
            true => self.keeping(work.client, statement),
            false => work.client.execute(),
        };
        let answer = match executed {
            Ok(answer) => answer,
            Err(failure) => return Err(self.located(statement, copy, failure)),
        };
        work.tally.answered(statement.class, answer);
        let expected =
            statement.expect_rows.hold(answer.rows) & statement.expect_changed.hold(answer.changed);
        work.tally.unexpected += u64::from(!expected);
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

    /// Executes a statement, keeps what it found, and moves on what it left behind.
    #[inline(never)]
    fn keeping<C: Client>(
        &mut self,
        client: &mut C,
        statement: &Statement,
    ) -> Result<Answer, Failure> {
        let answer = match statement.capture {
            None => client.execute()?,
            Some(number) => {
                let (mut rows, mut kept) = (0, Ok(()));
                let answer = client.fetch(&mut |row| {
                    rows += 1;
                    if rows == 1 {
                        kept = captured(row).map(|value| self.kept.set(number, value));
                    }
                })?;
                kept?;
                answer
            }
        };
        if let Some((number, by)) = statement.advance {
            self.kept.add(number, by);
        }
        Ok(answer)
    }
}

/// The first value of a row. NULL, such as the least key of an empty table, is 0.
fn captured(row: &mut dyn Row) -> Result<i64, Failure> {
    let found = row.next().and_then(|value| match value {
        Value::Null => Some(0),
        value => value.integer(),
    });
    found.ok_or_else(|| Failure::own("the value to be captured is no integer: cast it in the SQL"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct One(Option<Value<'static>>);

    impl Row for One {
        fn next(&mut self) -> Option<Value<'_>> {
            self.0.take()
        }
    }

    #[test]
    fn what_is_captured_is_an_integer_or_refused() {
        let check = |value: Option<Value<'static>>, expected: Option<i64>| {
            assert_eq!(captured(&mut One(value)).ok(), expected, "{value:?}");
        };
        check(Some(Value::Integer(-7)), Some(-7));
        check(Some(Value::Null), Some(0));
        check(Some(Value::Bytes(b"42")), Some(42));
        check(Some(Value::Real(5.0)), Some(5));
        check(Some(Value::Real(5.5)), None);
        check(Some(Value::Bytes(b"2026-01-02")), None);
        check(Some(Value::Unsigned(u64::MAX)), None);
        check(None, None);
    }
}
