//! What one slice executes: operations made of statements, their arguments and what they are
//! expected to do.

use crate::{
    Parameters,
    expression::{Condition, Expression, ExpressionError},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod arrival;

pub use arrival::{Arrival, Spacing};

/// A resolved workload: the domain form of one file of `catalog/workloads`, or of a file of the
/// user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique name: the file's stem.
    pub name: String,
    /// One line for `dbdyno list workloads`.
    pub help: String,
    /// Report group: `point`, `range`, `aggregate`, `write`, or a word of the user's.
    pub group: String,
    /// Name of the schema whose tables the statements use.
    pub schema: String,
    /// What the per-operation metrics divide by.
    pub counts: Counts,
    /// When operations start, if neither experiment nor suite says so. Roles have their own.
    #[serde(default, skip_serializing_if = "Arrival::is_closed")]
    pub arrival: Arrival,
    /// Defaults of the parameters that expressions may name; a phase or an experiment overrides
    /// them.
    pub parameters: Parameters,
    /// The operations, drawn by weight.
    pub ops: Vec<Op>,
    /// Who executes which operations; empty means one role that executes all of them.
    pub roles: Vec<Role>,
    /// Name of the role whose operations the per-operation metrics divide by; empty means all.
    #[serde(default)]
    pub lead: String,
    /// What servers are known to do in another way than the statements expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// Where the text came from, for messages: a path, or `catalog/…` for a shipped file.
    pub source: String,
}

impl Workload {
    /// Connections of a phase: those of all roles, or `clients` where there are no roles.
    ///
    /// # Errors
    /// The expression of a role's clients has no value.
    pub fn connections(&self, parameters: &Parameters) -> Result<i64, ExpressionError> {
        match self.roles.as_slice() {
            [] => Expression::new("clients").evaluate(parameters),
            roles => roles.iter().map(|role| role.clients.evaluate(parameters)).sum(),
        }
    }

    /// Whether its roles say when a phase ends: at least one of them ends by itself. Otherwise the
    /// phase has a length.
    pub fn ends_by_roles(&self) -> bool {
        self.roles.iter().any(|role| !matches!(role.end, RoleEnd::With(_)))
    }

    /// Whether any statement may change data: such workloads run after the reading ones, and drain.
    pub fn writes(&self) -> bool {
        self.ops.iter().flat_map(|op| &op.statements).any(|s| s.class == Class::Write)
    }
}

/// The denominator of every per-operation metric of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Executions of an `[[op]]`: a transaction counts once.
    Operations,
    /// Statements, BEGIN and COMMIT included: the published definition of sysbench's QPS.
    Statements,
    /// Rows that the statements returned or examined by definition (scans).
    Rows,
}

/// One operation: a list of statements that succeed or are repeated together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Op {
    /// Name, the tag of its histogram.
    pub name: String,
    /// Relative frequency among the operations of the same role; at least 1.
    pub weight: u32,
    /// Whether BEGIN and COMMIT enclose the statements.
    pub transaction: Condition,
    /// Values drawn once per execution of the operation, in order, by name.
    pub draws: Vec<Draw>,
    /// The statements, in order.
    pub statements: Vec<Statement>,
}

impl Op {
    /// Whether any of its statements begins with this verb, in any case: `INSERT`.
    pub fn begins_with(&self, verb: &str) -> bool {
        self.statements.iter().any(|statement| {
            let first = statement.sql.split_whitespace().next().unwrap_or_default();
            first.eq_ignore_ascii_case(verb)
        })
    }
}

/// A named value that several arguments share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Name by which [`Generator::Draw`] refers to it.
    pub name: String,
    /// How it is drawn.
    pub value: Generator,
}

/// One SQL statement and its arguments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// SQL with `?` per argument, `{table}` for the drawn table, and `{list}` where `args` says so.
    pub sql: String,
    /// SQL for one dialect (`mysql`, `postgres`, `sqlite`) where it differs.
    pub sql_for: BTreeMap<String, String>,
    /// Arguments in the order of their placeholders.
    pub args: Vec<Arg>,
    /// Number of value rows of a multi-row INSERT: `{rows}` in the SQL stands for them, and `args`
    /// describes one row. One if absent.
    pub rows_per_statement: Option<Expression>,
    /// Executions in a row, each with fresh arguments on the same table.
    pub repeat: Expression,
    /// Whether it is repeated in turn with the statement before it, as often and on its table:
    /// first one, then the other, then the first one again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turn: bool,
    /// Values drawn once per execution of this statement.
    pub draws: Vec<Draw>,
    /// Values drawn once per row of a multi-row INSERT.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub row_draws: Vec<Draw>,
    /// How the table is chosen.
    pub table: TableChoice,
    /// read, write or other, for the published counts.
    pub class: Class,
    /// Whether a prepared statement or text is sent.
    pub mode: Mode,
    /// The same for one dialect where it differs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mode_for: BTreeMap<String, Mode>,
    /// What the server must have done; checked in every slice.
    pub expect: Expect,
    /// Name under which the first column of the first returned row is kept for later arguments;
    /// NULL is 0. All roles of a workload share it: connection `n` of one role sees what connection
    /// `n` of another kept.
    pub capture: Option<String>,
    /// Executed in the first execution of its operation by a connection, and then in every so many;
    /// in every one if absent.
    #[serde(default)]
    pub every: Option<Expression>,
    /// Its time is no part of the operation's service time: it looks something up for operations to
    /// come. Only with `every`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// A kept value that grows when the statement has succeeded.
    #[serde(default)]
    pub advance: Option<Advance>,
    /// Indexes that the server is meant to use, `{n}` being the copy's number: [`PRIMARY`],
    /// [`NONE`] for a full scan, or names. Empty means not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<String>,
    /// Line of its SQL in the workload's file, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Statement {
    /// Its SQL in a dialect: its own, or the common one; none if the dialect has neither.
    pub fn sql_on(&self, dialect: &str) -> Option<&str> {
        let common = || (!self.sql.is_empty()).then_some(&self.sql);
        self.sql_for.get(dialect).or_else(common).map(String::as_str)
    }

    /// Whether a prepared statement or text is sent in a dialect.
    pub fn mode_on(&self, dialect: &str) -> Mode {
        self.mode_for.get(dialect).copied().unwrap_or(self.mode)
    }

    /// The same where a phase says how its statements travel; what needs text is sent as text all
    /// the same.
    pub fn mode_in(&self, dialect: &str, of_phase: Option<Mode>) -> Mode {
        match of_phase {
            None => self.mode_on(dialect),
            Some(_) if self.needs_text() => Mode::Text,
            Some(mode) => mode,
        }
    }

    /// Whether it cannot be prepared at all: a decimal is an argument in text only.
    pub fn needs_text(&self) -> bool {
        self.args.iter().any(|arg| matches!(arg.value, Generator::Decimal { .. }))
    }
}

/// A kept value that moves on without asking the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advance {
    /// Name given by `capture`.
    pub name: String,
    /// Added to it.
    pub by: Expression,
}

/// The index of the primary key, whatever the server calls it.
pub const PRIMARY: &str = "primary";
/// No index: the whole table is read.
pub const NONE: &str = "none";

/// A known difference between what a workload expects and what one server does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    /// Name of the server product.
    pub server: String,
    /// Storage engine; any if absent.
    pub engine: Option<String>,
    /// What differs.
    pub check: Check,
    /// Why, and why it is right to measure it all the same.
    pub reason: String,
}

/// A check of `dbdyno verify` on each statement of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Rows returned and changed are those that the workload expects.
    Rows,
    /// The server uses the index that the workload names.
    Plan,
    /// A statement asks for as many keys as the workload says, and gets their rows.
    Keys,
    /// Prepared statements and text do the same.
    Modes,
    /// The tables have as many rows afterwards as the changes told.
    Effect,
}

/// One argument, or an in-list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// How each value is made.
    pub value: Generator,
    /// Number of values where the SQL has `{list}` in place of `?`; each is drawn on its own.
    pub list: Option<Expression>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Generator {
    /// Uniform integer in `[low, high]`.
    Uniform {
        /// Least value.
        low: Expression,
        /// Greatest value, inclusive.
        high: Expression,
    },
    /// Zipfian integer in `[low, high]`, `low` the most frequent (Hörmann and Derflinger 1996).
    Zipf {
        /// Least and most frequent value.
        low: Expression,
        /// Greatest value, inclusive.
        high: Expression,
        /// Exponent, above 0; sysbench uses 0.8.
        exponent: f64,
    },
    /// The integers from `first` on, one after the other within one list; a lone argument is
    /// `first`.
    Consecutive {
        /// First value.
        first: Expression,
    },
    /// A counter of each connection: `first + stride * executions`, with its own offset per
    /// connection.
    Sequence {
        /// First value of connection 0.
        first: Expression,
    },
    /// Text in which each `#` becomes a random digit and each `@` a random lower-case letter.
    Template {
        /// The template, ASCII.
        template: String,
    },
    /// A fixed integer.
    Integer {
        /// The value.
        value: Expression,
    },
    /// A fixed text.
    Text {
        /// The value.
        value: String,
    },
    /// The sum of named integer draws as a decimal text: 12345 with two digits is `123.45`.
    Decimal {
        /// Names of the draws.
        sum: Vec<String>,
        /// Digits after the point, 1 to 9.
        digits: u32,
    },
    /// The driver's wall clock (UTC) when the statement is built: `YYYY-MM-DD HH:MM:SS`.
    Now,
    /// A moment between two, both included, as `YYYY-MM-DD HH:MM:SS`, UTC: of loaded columns.
    Timestamp {
        /// Earliest, seconds since 1970.
        low: u64,
        /// Latest; the time of the load if absent.
        high: Option<u64>,
    },
    /// Text of a uniform random length in `[low, high]`: `a`s, then
    /// `length * 3 / 4 * random_percent / 100` random characters of the base64 alphabet, which a
    /// compressor cannot shorten.
    Filler {
        /// Least length, characters.
        low: Expression,
        /// Greatest length, inclusive.
        high: Expression,
        /// Share of random characters, percent of three quarters of the length.
        random_percent: u32,
    },
    /// Uniform integer from one kept value up to, and without, another; the former where there is
    /// nothing between them.
    Between {
        /// Name of the kept value that is the least.
        low: String,
        /// Name of the kept value that is the bound.
        high: String,
    },
    /// A named draw of the operation or statement, plus a constant.
    Draw {
        /// Name of the draw.
        name: String,
        /// Added to it.
        plus: Expression,
    },
    /// A value captured from an earlier statement's result, plus a constant.
    Captured {
        /// Name given by `capture`.
        name: String,
        /// Added to it.
        plus: Expression,
    },
}

/// How a statement chooses among the copies of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableChoice {
    /// Uniform, drawn for this statement (once for all its repeats).
    Fresh,
    /// The table of the statement before it.
    Same,
    /// Table number `connection mod tables + 1`.
    Connection,
}

/// Class of a statement in the published counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Returns a result set.
    Read,
    /// Changes rows; counted as other where it changed none, as sysbench does.
    Write,
    /// Everything else.
    Other,
}

/// How a statement travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Prepared once per connection and table.
    Prepared,
    /// Sent as text with literals.
    Text,
}

/// Bounds that each execution of a statement must meet; absent means not checked.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Expect {
    /// Rows returned.
    pub rows: Option<Bounds>,
    /// Rows changed.
    pub changed: Option<Bounds>,
    /// Keys that one execution asks for: the length of its list, or of its interval with both ends
    /// included. Checked by `dbdyno verify` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Expression>,
}

/// An inclusive interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Least value.
    pub low: Expression,
    /// Greatest value.
    pub high: Expression,
}

/// Who executes what in a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Name, unique in the workload.
    pub name: String,
    /// Names of the operations it executes.
    pub ops: Vec<String>,
    /// Connections of this role.
    pub clients: Expression,
    /// Closed or open loop.
    pub arrival: RoleArrival,
    /// When the role ends.
    pub end: RoleEnd,
    /// Another role that this one goes hand in hand with, connection `n` with connection `n`.
    #[serde(default)]
    pub pair: Option<Pair>,
}

/// Two roles in step: an operation starts when the partner has completed at least as many
/// operations, less `lead`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Name of the other role.
    pub role: String,
    /// Operations by which this role may be ahead of the partner.
    pub lead: u32,
}

/// Closed or open loop of one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleArrival {
    /// The next operation starts when the last one is answered.
    Closed,
    /// Operations have intended start times, on an absolute schedule from the start of the stretch:
    /// time lost is caught up and counted.
    Open {
        /// Operations per second over all connections of the role, or rows, as `rows` says.
        per_second: Expression,
        /// Rows of an operation where `per_second` counts rows; the rate need not be a multiple.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rows: Option<Expression>,
        /// Distance of the intended start times.
        spacing: Spacing,
    },
}

impl RoleArrival {
    /// Operations per second over all connections of the role; none in a closed loop. Nothing that
    /// is not above 0 is a rate, which whoever executes it refuses.
    ///
    /// # Errors
    /// An expression has no value.
    pub fn per_second(&self, parameters: &Parameters) -> Result<Option<f64>, ExpressionError> {
        let Self::Open { per_second, rows, .. } = self else { return Ok(None) };
        let rate = per_second.evaluate(parameters)? as f64;
        Ok(Some(match rows {
            Some(rows) => rate / (rows.evaluate(parameters)? as f64),
            None => rate,
        }))
    }
}

/// When a role ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoleEnd {
    /// After as many operations per connection.
    Operations(Expression),
    /// After as many rows per connection.
    Rows(Expression),
    /// After as many seconds.
    Seconds(Expression),
    /// When the named role ends.
    With(String),
}
