//! A workload compiled to flat tables: what a worker executes, without strings to look up.
//!
//! [`Program::compile`] says in clear sentences what is wrong with a workload; after it, nothing
//! about the workload can fail any more but the server. Read [`Program`], then [`Statement`].

mod compile;
mod decimal;
mod roles;
mod sql;
mod statement;
mod values;

use crate::arrival::Member;
use crate::wire::Failure;
pub use crate::wire::{Parameter, Sql, TIME_TEXT};
use ::values::{
    VectorFile,
    generator::{CompiledFiller, CompiledTemplate, Integers, Texts},
};
pub use decimal::Decimal;
use model::{
    Parameters,
    script::Pauses,
    workload::{Class, TableChoice},
};
pub use roles::{Part, Roles};
use std::{collections::BTreeMap, sync::Arc};

/// What one role of a workload executes, shared by its connections.
#[derive(Debug, Clone, Default)]
pub struct Program {
    /// Name of the workload.
    pub name: String,
    /// Name of the role; empty for the only one of a workload that names none.
    pub role: String,
    /// The operations.
    pub ops: Vec<Op>,
    /// Sum of the operations' weights; at least 1.
    pub weight_total: u64,
    /// Statements of all operations; [`Op::statements`] are ranges of it.
    pub statements: Vec<Statement>,
    /// Arguments of all statements; [`Statement::slots`] are ranges of it.
    pub slots: Vec<Slot>,
    /// Named draws of all operations and statements, as ranges say.
    pub draws: Vec<Draw>,
    /// What goes to the server: for each statement that names its table, one entry per copy of it.
    pub sql: Vec<Sql>,
    /// What each connection executes before it prepares them: settings of its session.
    pub session: Vec<String>,
    /// Texts that arguments and draws are made from.
    pub templates: Vec<CompiledTemplate>,
    /// Fillers.
    pub fillers: Vec<CompiledFiller>,
    /// Generators of any other integers.
    pub integers: Vec<Arc<dyn Integers>>,
    /// Generators of any other texts.
    pub texts: Vec<Arc<dyn Texts>>,
    /// Decimal texts.
    pub decimals: Vec<Decimal>,
    /// Counters of a connection.
    pub sequences: Vec<Sequence>,
    /// Number of integers that a connection draws and remembers.
    pub registers: usize,
    /// Number of values kept from results; they have the same numbers in all roles.
    pub kept: usize,
    /// Number of statements that are not executed every time.
    pub visits: usize,
    /// Length of every text that a connection remembers.
    pub text_registers: Vec<usize>,
    /// Copies of the table.
    pub tables: u64,
    /// Where a statement stands, `file:line`, by operation and statement; for messages only.
    pub places: BTreeMap<(u32, u32), String>,
    /// Numbers that coded transactions may ask for; empty for declared ones.
    pub parameters: Parameters,
    /// The file that vectors of coded transactions come from, if they do.
    pub dataset: Option<VectorFile>,
}

impl Program {
    /// How often an operation comes, compared with the others; never, if it is 0.
    pub fn weight_of(&self, index: usize) -> u64 {
        let end = |index: usize| self.ops.get(index).map_or(0, |op| op.weight_end);
        end(index) - index.checked_sub(1).map_or(0, end)
    }

    /// A refused statement's failure, with the place of the statement if it is known.
    #[cold]
    pub fn located(&self, sql: &Sql, failure: Failure) -> Failure {
        let place = sql.origin.and_then(|at| self.places.get(&(at.op, at.statement)));
        let Some(place) = place else { return failure };
        failure.worded(|message| format!("`{place}`: {message}"))
    }
}

/// A range of indexes into one of the program's tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First index.
    pub start: u32,
    /// Index after the last.
    pub end: u32,
}

impl Span {
    /// The entries of `table` in this range.
    #[inline]
    pub fn of<T>(self, table: &[T]) -> &[T] {
        table.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// One operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Op {
    /// Name of its histogram.
    pub name: String,
    /// Weight of this operation and of all before it: the smallest one above a random number below
    /// [`Program::weight_total`] is the operation drawn.
    pub weight_end: u64,
    /// Time before and after it.
    pub pauses: Pauses,
    /// Draws made once per execution.
    pub draws: Span,
    /// The statements in order; BEGIN and COMMIT of a transaction are the first and the last.
    pub statements: Span,
    /// Whether they are a transaction, to be rolled back after a failure; one that the workload
    /// begins by a statement of its own has no others.
    pub transaction: bool,
    /// Whether any of them changes rows.
    pub writes: bool,
}

/// One statement of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its entry in [`Program::sql`] for the first copy of the table.
    pub sql: u32,
    /// Whether there is anything to decide before it: which copy of the table, or whether it is
    /// executed at all.
    pub choice: bool,
    /// Copies of the table that it names; 1 also if it names none.
    pub copies: u64,
    /// If it is not executed every time: how often.
    pub every: Option<Every>,
    /// How the copy is chosen.
    pub table: TableChoice,
    /// Executions in a row, on the same copy.
    pub repeat: u64,
    /// Times that the slots are filled: rows of a multi-row INSERT.
    pub rows: u32,
    /// Arguments, of one row if there are several.
    pub slots: Span,
    /// The argument of a prepared statement, if it is one integer and nothing else, as most have
    /// it.
    pub only: Option<Source>,
    /// Whether the time is among the arguments.
    pub timed: bool,
    /// Draws made before each execution.
    pub draws: Span,
    /// Draws made before each row.
    pub row_draws: Span,
    /// For the published counts.
    pub class: Class,
    /// Rows returned that are expected.
    pub expect_rows: Limits,
    /// Rows changed that are expected.
    pub expect_changed: Limits,
    /// Whether a kept value changes when it has succeeded.
    pub keeps: bool,
    /// Number of the kept value that is captured, if any.
    pub capture: Option<u16>,
    /// Number of the kept value that moves on, if any, and by how much.
    pub advance: Option<(u16, i64)>,
}

/// A statement's turns: the first execution of its operation, and then every so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every {
    /// Executions of the operation from one turn to the next; at least 2, or 1 if untimed.
    pub period: u64,
    /// Whether its time is no part of the operation's.
    pub untimed: bool,
    /// Which of the connection's [`Program::visits`] counts them.
    pub visit: u16,
}

/// An inclusive interval of row counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Least value.
    pub low: u64,
    /// Greatest value.
    pub high: u64,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { low: 0, high: u64::MAX };

    /// Whether `value` is inside.
    #[inline]
    pub fn hold(self, value: u64) -> bool {
        // One comparison for both ends: what is below the low end wraps to more than any width.
        value.wrapping_sub(self.low) <= self.high - self.low
    }
}

/// One argument, or several alike in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Where the values come from.
    pub source: Source,
    /// Number of arguments.
    pub count: u32,
}

/// A named draw: its value goes to a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    /// Where the value comes from.
    pub source: Source,
    /// Integer register, or text register for the two text sources.
    pub register: u16,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// Uniform in `[low, low + span)`; `span` 0 stands for 2^64.
    Uniform {
        /// Least value.
        low: i64,
        /// Number of values.
        span: u64,
    },
    /// Always the same integer.
    Fixed(i64),
    /// Index into [`Program::integers`].
    Integer(u16),
    /// First value plus the place in the list.
    Ascending(i64),
    /// Index into [`Program::sequences`].
    Sequence(u16),
    /// An integer register, plus a constant.
    Register {
        /// Index of the register.
        index: u16,
        /// Added to it.
        plus: i64,
    },
    /// A kept value, plus a constant.
    Kept {
        /// Its number.
        index: u16,
        /// Added to it.
        plus: i64,
    },
    /// Uniform from one kept value up to, and without, another; the former if there is nothing in
    /// between.
    Between {
        /// Number of the least.
        low: u16,
        /// Number of the bound.
        high: u16,
    },
    /// The time as text; as long as [`TIME_TEXT`].
    Now,
    /// Index into [`Program::fillers`].
    Filler(u16),
    /// Index into [`Program::texts`].
    Varying(u16),
    /// Index into [`Program::decimals`].
    Decimal(u16),
    /// Text made from an entry of [`Program::templates`].
    Text(u16),
    /// Text of a register, as long as an entry of [`Program::templates`].
    TextRegister {
        /// Index of the register.
        index: u16,
        /// The template that it is made from.
        template: u16,
    },
}

impl Source {
    /// Whether the value is a text.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Self::Text(_)
                | Self::TextRegister { .. }
                | Self::Now
                | Self::Filler(_)
                | Self::Varying(_)
                | Self::Decimal(_)
        )
    }
}

/// A counter that a connection keeps for as long as it is open, whatever else is compiled in
/// between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Identity: workload, operation, statement and argument.
    pub key: String,
    /// First value of connection 0; connection `c` of `n` starts `c` later and steps by `n`.
    pub first: i64,
    /// Connections of the roles before this one that execute the same operation.
    pub before: u32,
    /// Connections of all other roles that do.
    pub others: u32,
}

impl Sequence {
    /// A connection of the role among all that count.
    pub(crate) fn among(&self, Member { index, clients }: Member) -> Member {
        Member {
            index: index.saturating_add(self.before),
            clients: clients.saturating_add(self.others),
        }
    }
}

#[cfg(test)]
mod tests;
