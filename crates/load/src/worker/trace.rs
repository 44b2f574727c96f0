//! A few operations, told statement by statement: what `dbdyno verify` looks at.
//!
//! The loop and the client are those of every measured stretch. Between them stands a client that
//! remembers what it is given and passes it on.

use super::{
    Pairing, Peers,
    execution::{Execution, Timing},
};
use crate::clock::{Clock, Monotonic};
use crate::program::{Program, Roles};
use crate::recorder::{Intervals, Recorder, Series, Tally, Timeline};
use crate::transaction::{Coded, Declared, Transaction};
use crate::wire::{Answer, Client, Draft, Failure, FailureKind, Row, Session, Sql};
use model::drive::{Argument, Stretch, StretchEnd, Target, TracedStatement};
use std::sync::Arc;
use values::Random;

/// Executes a stretch of the only role of `roles`, which is declared, on a connection of its own
/// and gives its statements in order. The last one has the error, if there was one.
pub(super) fn declared<C: Client>(
    target: &Target,
    roles: &Roles,
    stretch: &Stretch,
) -> Result<Vec<TracedStatement>, Failure> {
    let peers = Peers::new(roles, stretch, 1);
    let Some((program, pairing)) = alone(roles, &peers) else { return Ok(Vec::new()) };
    let executed = vec![0; program.sequences.len()];
    let declared = Declared::new(program, pairing.kept, pairing.peer.member, executed);
    told::<C, _>(target, Traced { program, pairing, stretch, transaction: declared })
}

/// The same for coded transactions.
pub(super) fn coded<C: Client, T: Coded>(
    target: &Target,
    roles: &Roles,
    stretch: &Stretch,
) -> Result<Vec<TracedStatement>, Failure> {
    let peers = Peers::new(roles, stretch, 1);
    let Some((program, pairing)) = alone(roles, &peers) else { return Ok(Vec::new()) };
    let mut transaction = super::coded::<T>(&target.protocol, program, pairing);
    if stretch.end != StretchEnd::Operations(0) {
        transaction.get_ready();
    }
    told::<C, _>(target, Traced { program, pairing, stretch, transaction })
}

/// The only role and its only connection.
fn alone<'a>(roles: &'a Roles, peers: &'a Peers) -> Option<(&'a Program, Pairing<'a>)> {
    Some((&roles.parts.first()?.program, peers.pairing(0)?))
}

/// What is executed and told.
struct Traced<'a, T> {
    program: &'a Program,
    pairing: Pairing<'a>,
    stretch: &'a Stretch,
    transaction: T,
}

fn told<C: Client, T: Transaction>(
    target: &Target,
    traced: Traced<'_, T>,
) -> Result<Vec<TracedStatement>, Failure> {
    let Traced { program, pairing, stretch, transaction } = traced;
    let mut client = C::connect(target)?;
    super::prepare(&mut client, program)?;
    let mut tracing = Tracing::new(&mut client, program);
    let latencies = Arc::clone(&pairing.peer.latencies);
    let series = Series::new(Timeline::default(), stretch.interval_ms);
    let mut tally = Tally::new(Recorder::new(latencies, Intervals::Common, series));
    let random = Random::new(stretch.seed, 0);
    let mut execution = Execution::new(program, pairing, transaction, random);
    let mut clock = Monotonic;
    let (schedule, limit) = (pairing.peer.schedule.clone(), pairing.peer.limit);
    let timing = Timing { schedule, limit, start_ns: clock.now() };
    execution.execute(&mut tracing, &mut clock, timing, &mut tally);
    let mut told = tracing.told;
    // A transaction may find fault with an answer that was none to the server.
    if let (1.., Some(error), Some(last)) = (tally.failed, tally.errors.first(), told.last_mut()) {
        last.error.get_or_insert_with(|| format!("{}: {}", error.code, error.message));
    }
    Ok(told)
}

/// A client that remembers.
struct Tracing<'a, C> {
    client: &'a mut C,
    program: &'a Program,
    /// The statement in hand: its entry of [`Program::sql`] and its values so far.
    sql: usize,
    values: Vec<Value>,
    told: Vec<TracedStatement>,
    refused: bool,
}

enum Value {
    Integer(i64),
    Text { template: Vec<u8>, filled: Vec<u8> },
    Varying { head: Vec<u8>, tail: Vec<u8> },
}

impl<'a, C: Client> Tracing<'a, C> {
    fn new(client: &'a mut C, program: &'a Program) -> Self {
        Self { client, program, sql: 0, values: Vec::new(), told: Vec::new(), refused: false }
    }

    fn tell(&mut self, answer: &Result<Answer, Failure>) {
        let Some(sql) = self.program.sql.get(self.sql) else { return };
        let argument = |value: &Value| match value {
            Value::Integer(value) => Argument::Integer(*value),
            Value::Text { filled, .. } => {
                Argument::Text(String::from_utf8_lossy(filled).into_owned())
            }
            Value::Varying { head, tail } => {
                Argument::Text(String::from_utf8_lossy(&[&head[..], tail].concat()).into_owned())
            }
        };
        let done = answer.as_ref().ok().copied().unwrap_or_default();
        self.told.push(TracedStatement {
            origin: sql.origin,
            pieces: sql.pieces.clone(),
            arguments: self.values.iter().map(argument).collect(),
            rows: done.rows,
            changed: done.changed,
            error: answer.as_ref().err().map(|f| format!("{}: {}", f.code(), f.message())),
        });
    }
}

impl<C: Client> Client for Tracing<'_, C> {
    fn connect(_: &Target) -> Result<Self, Failure> {
        Err(Failure::lost("a trace has its connection already"))
    }

    fn session(target: &Target) -> Result<Box<dyn Session>, Failure> {
        C::session(target)
    }

    fn server_id(&self) -> u64 {
        self.client.server_id()
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.client.forget()
    }

    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure> {
        self.client.prepare(sql)
    }

    fn begin(&mut self, index: usize) {
        self.sql = index;
        self.values.clear();
    }

    fn compose(&mut self, _: impl FnOnce(&mut Draft<'_>)) -> bool {
        false
    }

    fn integer(&mut self, value: i64) {
        self.values.push(Value::Integer(value));
    }

    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        self.values.push(Value::Text { template: template.to_vec(), filled: template.to_vec() });
        match self.values.last_mut() {
            Some(Value::Text { filled, .. }) => filled,
            _ => &mut [],
        }
    }

    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.values.push(Value::Varying { head: head.to_vec(), tail: tail.to_vec() });
    }

    fn execute(&mut self) -> Result<Answer, Failure> {
        self.pass_on(C::execute)
    }

    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure> {
        self.pass_on(|client| client.fetch(take))
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.client.rollback()
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        self.client.trivial()
    }
}

impl<C: Client> Tracing<'_, C> {
    /// Gives the client the statement in hand, and tells how it answered.
    fn pass_on(
        &mut self,
        execute: impl FnOnce(&mut C) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        if self.refused {
            // One error is enough to tell; nothing after it means anything.
            return Err(Failure::lost("the trace ended at an earlier error"));
        }
        self.client.begin(self.sql);
        let values = &self.values;
        let compose = |draft: &mut Draft<'_>| {
            for value in values {
                match value {
                    Value::Integer(value) => draft.integer(*value),
                    Value::Text { filled, .. } => draft.text(filled),
                    Value::Varying { head, tail } => draft.varying(head, tail),
                }
            }
        };
        if !self.client.compose(compose) {
            for value in values {
                match value {
                    Value::Integer(value) => self.client.integer(*value),
                    Value::Text { template, filled } => {
                        self.client.text(template).copy_from_slice(filled);
                    }
                    Value::Varying { head, tail } => self.client.varying(head, tail),
                }
            }
        }
        let answer = execute(self.client);
        self.tell(&answer);
        answer.inspect_err(|failure| self.refused = failure.kind() != FailureKind::Retry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Null;
    use crate::testing::*;
    use model::drive::Origin;

    #[test]
    fn a_trace_tells_every_statement_with_its_values() {
        let select = statement(
            "SELECT c FROM {table} WHERE id IN ({list})",
            vec![list(model::script::Value::Consecutive { first: expression("5") }, "3")],
        );
        let mut operation = op("o", vec![select]);
        operation.transaction = true;
        let roles = Roles::compile(&assignment(vec![operation], 2), "mysql").unwrap();
        let told = declared::<Null>(&Target::null(), &roles, &closed(2)).unwrap();
        let of_statements: Vec<&TracedStatement> =
            told.iter().filter(|one| one.origin.is_some()).collect();
        assert_eq!((told.len(), of_statements.len()), (6, 2));
        let values = [5, 6, 7].map(Argument::Integer);
        for one in of_statements {
            let Some(Origin { op: 0, statement: 0, copy }) = one.origin else { panic!("{one:?}") };
            assert_eq!(one.arguments, values);
            assert_eq!(one.pieces[0], format!("SELECT c FROM t{copy} WHERE id IN ("));
            assert_eq!((one.rows, one.changed, &one.error), (1, 0, &None));
        }
    }
}
