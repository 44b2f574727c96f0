//! What is executed and repeated as a whole.

use super::{Draw, Effect, Statement, Value};
use crate::workload::Class;
use serde::{Deserialize, Serialize};

/// One operation: a list of statements that succeed or are repeated together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// Name, the tag of its histogram.
    pub name: String,
    /// Relative frequency among the operations of the same role; at least 1.
    pub weight: u32,
    /// Whether BEGIN and COMMIT enclose the statements.
    pub transaction: bool,
    /// Time between operations of a closed loop.
    #[serde(default, skip_serializing_if = "Pauses::is_none")]
    pub pauses: Pauses,
    /// Values drawn once per execution of the operation, in order, by name.
    pub draws: Vec<Draw>,
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

/// What a user at a terminal does before and after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pauses {
    /// Types its inputs in, milliseconds.
    pub keying_ms: u64,
    /// Looks at its answer, milliseconds in the mean of an exponential distribution.
    pub think_ms: u64,
}

impl Pauses {
    /// Whether an operation follows the one before at once.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

impl Op {
    /// An operation without a transaction, draws and pauses.
    pub fn plain(name: &str, statements: Vec<Statement>) -> Self {
        let (name, pauses) = (name.to_owned(), Pauses::default());
        Self { name, weight: 1, transaction: false, pauses, draws: Vec::new(), statements }
    }

    /// Whether it starts after a pause, or another one does after it.
    pub fn has_pauses(&self) -> bool {
        !self.pauses.is_none()
    }

    /// Whether any of its statements adds rows.
    pub fn inserts(&self) -> bool {
        self.statements.iter().any(|one| one.effect.inserts())
    }

    /// Rows that its writing statements give to the server or take from it, by their definition.
    pub fn rows_written(&self) -> u64 {
        let rows = |one: &Statement| match (one.effect, one.expect.changed) {
            (Effect::Insert(rows), _) => rows,
            (Effect::Update | Effect::Delete | Effect::Other, Some(changed)) => changed.high,
            _ => u64::from(one.rows_per_statement.unwrap_or(1)),
        };
        let writing = self.statements.iter().filter(|statement| statement.class == Class::Write);
        writing.map(|one| one.repeat.saturating_mul(rows(one))).fold(0, u64::saturating_add)
    }

    /// Whether any of its statements takes rows away.
    pub fn deletes(&self) -> bool {
        self.statements.iter().any(|statement| statement.effect == Effect::Delete)
    }

    /// Whether it adds rows and has a counter among its values. Another driver counts from the
    /// beginning again, and would add rows that are there.
    pub fn adds_by_counter(&self) -> bool {
        let drawn = self.statements.iter().flat_map(|one| one.draws.iter().chain(&one.row_draws));
        let drawn = self.draws.iter().chain(drawn).map(|draw| &draw.value);
        let given = self.statements.iter().flat_map(|one| &one.args).map(|arg| &arg.value);
        let mut values = drawn.chain(given);
        self.inserts() && values.any(|value| matches!(value, Value::Sequence { .. }))
    }

    /// Its values and those of its statements, to change them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut Value> {
        let of_statements = self.statements.iter_mut().flat_map(|one| {
            let drawn = one.draws.iter_mut().chain(&mut one.row_draws);
            drawn.map(|draw| &mut draw.value).chain(one.args.iter_mut().map(|arg| &mut arg.value))
        });
        self.draws.iter_mut().map(|draw| &mut draw.value).chain(of_statements)
    }

    /// Rows that its statements with some effects change, by their definition.
    pub fn rows_by(&self, does: fn(Effect) -> bool) -> u64 {
        let own = self.statements.iter().filter(|one| does(one.effect));
        let rows = own.map(|one| one.repeat.saturating_mul(one.rows_changed()));
        rows.fold(0, u64::saturating_add)
    }
}

impl Effect {
    /// Whether it adds rows.
    pub fn inserts(self) -> bool {
        matches!(self, Self::Insert(_) | Self::Merge(_))
    }
}

/// First words of statements that begin or end a transaction.
const BRACKETS: [&str; 5] = ["BEGIN", "START", "COMMIT", "END", "ROLLBACK"];

impl Statement {
    /// Whether it begins or ends a transaction that the workload writes itself, by its common text.
    pub fn is_bracket(&self) -> bool {
        let mut words = self.sql.trim_start().split(|c: char| !c.is_ascii_alphabetic());
        let first = words.next().unwrap_or_default();
        BRACKETS.iter().any(|word| first.eq_ignore_ascii_case(word))
    }

    /// Rows that one execution changes, at most, by its definition; of what nobody knows, such as a
    /// procedure, those that the workload expects.
    pub fn rows_changed(&self) -> u64 {
        let told = self.expect.changed.map(|changed| changed.high);
        let usual = || u64::from(self.rows_per_statement.unwrap_or(1));
        match self.effect {
            Effect::Insert(rows) | Effect::Merge(rows) => rows,
            Effect::Update | Effect::Delete => told.unwrap_or_else(usual),
            Effect::Other if self.class == Class::Write => told.unwrap_or(0),
            Effect::Read | Effect::Other => 0,
        }
    }
}
