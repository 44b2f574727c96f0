//! What one slice executes, in numbers: the roles of a workload in one phase with their operations.
//!
//! A script is what `plan` makes of a workload and the parameters of a phase. It is sent to the
//! driver, kept in the plan of every record, and asked by the analysis who did what. Nothing in it
//! has to be evaluated or checked again.

use crate::Parameters;
use crate::lua::Lua;
use crate::subject::Subject;
use crate::workload::{Arrival, Check, Class, Counts, Deviation, Mode, TableChoice};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

mod lookups;
mod op;
mod pace;
mod value;

pub use lookups::Lookups;
pub use op::{Op, Pauses};
pub use value::Value;

/// A workload with the parameters of a phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// Name of the workload: its file's stem.
    pub workload: String,
    /// Where its text came from, for messages: a path, or `catalog/…` for a shipped file.
    pub source: String,
    /// Name of the schema whose tables the statements use.
    pub schema: String,
    /// What the per-operation metrics divide by.
    pub counts: Counts,
    /// Who executes what, at least one; the only one of a workload without `[[role]]` has no name.
    pub roles: Vec<Role>,
    /// What servers are known to do in another way than the statements expect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
    /// What its operations are, where they are written in Rust: they have no statements then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coded: Option<Coded>,
    /// The user's own sysbench script that its only operation executes: it has no statements then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lua: Option<Lua>,
}

impl Script {
    /// Connections of all roles together.
    pub fn connections(&self) -> u32 {
        self.roles.iter().fold(0, |sum, role| sum.saturating_add(role.clients))
    }

    /// The role, by its place, of each connection, in the order of the connections.
    pub fn role_of_connections(&self) -> Vec<usize> {
        let roles = self.roles.iter().enumerate();
        roles.flat_map(|(place, role)| (0..role.clients).map(move |_| place)).collect()
    }

    /// The operations of all roles; one that several execute is there several times.
    pub fn ops(&self) -> impl Iterator<Item = &Op> {
        self.roles.iter().flat_map(|role| &role.ops)
    }

    /// The statements of all operations.
    pub fn statements(&self) -> impl Iterator<Item = &Statement> {
        self.ops().flat_map(|op| &op.statements)
    }

    /// The same, to change them.
    pub fn statements_mut(&mut self) -> impl Iterator<Item = &mut Statement> {
        self.ops_mut().flat_map(|op| &mut op.statements)
    }

    fn ops_mut(&mut self) -> impl Iterator<Item = &mut Op> {
        self.roles.iter_mut().flat_map(|role| &mut role.ops)
    }

    /// Whether the workload's file divides the work among roles, which reports then tell apart.
    pub fn has_named_roles(&self) -> bool {
        self.roles.iter().any(|role| !role.name.is_empty())
    }

    /// Whether its roles say when a phase ends: at least one of them ends by itself. Otherwise the
    /// phase has a length.
    pub fn ends_by_itself(&self) -> bool {
        self.roles.iter().any(|role| role.end.is_own())
    }

    /// Whether any statement may change data: such workloads run after the reading ones, and drain.
    pub fn writes(&self) -> bool {
        let coded = self.coded.as_ref().is_some_and(|coded| coded.writes);
        // What a script does nobody knows.
        let unknown = coded || self.lua.is_some();
        unknown || self.statements().any(|statement| statement.class == Class::Write)
    }

    /// Whether it writes and leaves as many rows as it finds, as far as its statements say what
    /// they do, and can do so again from the beginning.
    pub fn changes_in_place(&self) -> bool {
        let declared = self.coded.is_none() && self.lua.is_none();
        let is_known = |one: &Statement| one.class != Class::Write || one.effect != Effect::Other;
        let known = declared && self.statements().all(is_known);
        let in_place = |op: &Op| op.inserts() == op.deletes() && !op.adds_by_counter();
        known && self.writes() && self.ops().all(in_place)
    }

    /// What a subject is known not to do as the workload says.
    pub fn deviation(&self, subject: &Subject, check: Check) -> Option<&Deviation> {
        let engine = |engine: &String| {
            subject.config.engine.as_ref().is_some_and(|name| name.eq_ignore_ascii_case(engine))
        };
        self.deviations.iter().find(|known| {
            known.server == subject.build.server
                && known.engine.as_ref().is_none_or(engine)
                && known.check == check
        })
    }

    /// Part `index` of `of` equal parts of the work: each role ends after its share, and the shares
    /// have exactly the operations of the whole. A share of rows is one operation at least.
    pub fn piece(&self, index: u64, of: u64) -> Self {
        let share = |whole: u64| {
            let until = |n: u64| u128::from(whole) * u128::from(n) / u128::from(of.max(1));
            // A share is not larger than the whole.
            (until(index + 1) - until(index)) as u64
        };
        let mut piece = self.clone();
        for role in &mut piece.roles {
            role.end = match role.end {
                End::Operations(operations) => End::Operations(share(operations)),
                // Whole operations: what is begun would be done in each piece.
                End::Rows(rows) => {
                    let each = role.rows_per_operation().unwrap_or(1);
                    End::Rows(share(rows.div_ceil(each)).max(1) * each)
                }
                End::Seconds(seconds) => End::Seconds(share(seconds)),
                other => other,
            };
        }
        piece
    }

    /// The same with one client that waits for nothing; roles that need each other keep their
    /// clients and schedules.
    pub fn of_one_client(&self) -> Self {
        if self.has_named_roles() {
            return self.without_pauses();
        }
        let mut script = self.without_waits();
        script.roles.iter_mut().for_each(|role| role.clients = 1);
        script
    }

    /// The same without schedules and pauses: operations follow each other at once.
    pub fn without_waits(&self) -> Self {
        let mut script = self.without_pauses();
        script.roles.iter_mut().for_each(|role| role.arrival = Arrival::Closed);
        script
    }

    /// The same operations as one role of one connection, which waits for nobody and ends with its
    /// stretch.
    pub fn alone(&self) -> Self {
        let script = self.without_pauses();
        let mut ops: Vec<Op> = Vec::new();
        for op in script.ops() {
            if ops.iter().all(|known| known.name != op.name) {
                ops.push(op.clone());
            }
        }
        Self { roles: vec![Role { ops, ..Role::default() }], ..script }
    }

    fn without_pauses(&self) -> Self {
        let mut script = self.clone();
        script.ops_mut().for_each(|op| op.pauses = Pauses::default());
        script
    }
}

/// Operations that are written in Rust.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coded {
    /// Name in the load engine's table of coded transactions.
    pub name: String,
    /// The numbers of the phase, which they may ask for by name.
    pub parameters: Parameters,
    /// Whether any of them may change data.
    pub writes: bool,
    /// Which operation is counted apart, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub committed: Option<Committed>,
}

impl Coded {
    /// Name of the operation that is counted apart.
    pub fn committed_op(&self) -> Option<String> {
        self.committed.as_ref().map(|committed| committed.op.clone())
    }
}

/// An operation whose committed executions the tables count too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    /// Name of the operation.
    pub op: String,
    /// A query for one number, which grows by one with each committed execution.
    pub sql: String,
}

/// Connections that execute the same operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Role {
    /// Name, unique in the workload.
    pub name: String,
    /// Its connections.
    pub clients: u32,
    /// Closed loop, or operations per second over all its connections.
    pub arrival: Arrival,
    /// When each of its connections ends.
    pub end: End,
    /// Another role that this one stays in step with, connection `n` with connection `n`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairing: Option<Pairing>,
    /// Whether the per-operation metrics divide by its operations.
    pub leads: bool,
    /// Its operations, drawn by weight.
    pub ops: Vec<Op>,
}

impl Role {
    /// Operations of each connection, where they are known beforehand.
    pub fn operations(&self) -> Option<u64> {
        match self.end {
            End::Operations(operations) => Some(operations),
            End::Rows(rows) => Some(rows.div_ceil(self.rows_per_operation().unwrap_or(1))),
            End::Seconds(seconds) => {
                // As many as fit: a conversion to an integer saturates.
                let each = |rate: f64| (rate * seconds as f64) as u64;
                self.arrival.per_second().map(|rate| each(rate) / u64::from(self.clients.max(1)))
            }
            End::Stretch | End::With(_) | End::Others => None,
        }
    }

    /// Rows that each of its operations writes.
    ///
    /// # Errors
    /// They write none, or not all the same number: one sentence.
    pub fn rows_per_operation(&self) -> Result<u64, String> {
        let mut rows: Vec<u64> = self.ops.iter().map(Op::rows_written).collect();
        rows.dedup();
        let what = match rows.as_slice() {
            [0] => "write none",
            [rows] => return Ok(*rows),
            _ => "differ in theirs",
        };
        Err(format!(
            "it ends after a number of rows, but its operations {what}; end it after operations \
             or seconds"
        ))
    }

    /// The length that it aims at, seconds, where it has a rate or an end in time.
    pub fn seconds(&self) -> Option<f64> {
        if let End::Seconds(seconds) = self.end {
            return Some(seconds as f64);
        }
        let (operations, rate) = self.operations().zip(self.arrival.per_second())?;
        Some(operations as f64 * f64::from(self.clients) / rate)
    }
}

impl Default for Role {
    fn default() -> Self {
        Self {
            name: String::new(),
            clients: 1,
            arrival: Arrival::Closed,
            end: End::Stretch,
            pairing: None,
            leads: true,
            ops: Vec::new(),
        }
    }
}

/// When a connection of a role ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// As the stretch says.
    Stretch,
    /// After as many operations.
    Operations(u64),
    /// After as many rows that its operations write.
    Rows(u64),
    /// After as many seconds.
    Seconds(u64),
    /// When the role in this place ends.
    With(usize),
    /// When all roles have ended that end by themselves or with such a one.
    Others,
}

impl End {
    /// Whether it depends on nothing else.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Operations(_) | Self::Rows(_) | Self::Seconds(_))
    }
}

/// Two roles in step: an operation starts when the partner has completed at least as many
/// operations, less `lead`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// Place of the other role.
    pub role: usize,
    /// Operations by which this role may be ahead of the other.
    pub lead: u64,
}

/// A named value that several arguments share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Draw {
    /// Name by which [`Value::Draw`] refers to it.
    pub name: String,
    /// How it is drawn.
    pub value: Value,
}

/// One SQL statement and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// SQL with `?` per argument, `{table}` for the drawn table, and `{list}` where `args` says so.
    pub sql: String,
    /// SQL for one dialect (`mysql`, `postgres`, `sqlite`) where it differs.
    pub sql_for: BTreeMap<String, String>,
    /// Arguments in the order of their placeholders.
    pub args: Vec<Arg>,
    /// Number of value rows of a multi-row INSERT: `{rows}` in the SQL stands for them, and `args`
    /// describes one row. One if absent.
    pub rows_per_statement: Option<u32>,
    /// Executions in a row, each with fresh arguments on the same table.
    pub repeat: u64,
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
    /// What it does to the tables.
    pub effect: Effect,
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
    pub every: Option<u64>,
    /// Its time is no part of the operation's service time: it looks something up for operations to
    /// come. Only with `every`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untimed: bool,
    /// A kept value that grows when the statement has succeeded.
    #[serde(default)]
    pub advance: Option<Advance>,
    /// Indexes that the server is meant to use, `{n}` being the copy's number:
    /// [`crate::workload::PRIMARY`], [`crate::workload::NONE`] for a full scan, or names. Empty
    /// means not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<String>,
    /// Line of its SQL in the workload's file, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl Statement {
    /// A text without arguments, of which nothing is expected.
    pub fn plain(sql: &str) -> Self {
        Self { sql: sql.to_owned(), repeat: 1, ..Self::default() }
    }

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
        self.args.iter().any(|arg| matches!(arg.value, Value::Decimal { .. }))
    }
}

/// What a statement does to the tables, by its verb.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Returns rows.
    Read,
    /// Adds as many rows, at most.
    Insert(u64),
    /// Adds as many rows, at most, or changes those that are there.
    Merge(u64),
    /// Changes rows.
    Update,
    /// Takes rows away.
    Delete,
    /// Anything else.
    #[default]
    Other,
}

/// A kept value that moves on without asking the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advance {
    /// Name given by `capture`.
    pub name: String,
    /// Added to it.
    pub by: i64,
}

/// One argument, or an in-list of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arg {
    /// How each value is made.
    pub value: Value,
    /// Number of values where the SQL has `{list}` in place of `?`; each is drawn on its own.
    pub list: Option<u32>,
}

/// Bounds that each execution of a statement must meet; absent means not checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Expect {
    /// Rows returned.
    pub rows: Option<Bounds>,
    /// Rows changed.
    pub changed: Option<Bounds>,
    /// Keys that one execution asks for: the length of its list, or of its interval with both ends
    /// included. Checked by `dbdyno verify` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<i64>,
    /// Rows that one execution reads, one by one, where it returns others. Not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<i64>,
}

/// An inclusive interval of numbers of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Least value.
    pub low: u64,
    /// Greatest value.
    pub high: u64,
}

#[cfg(test)]
mod tests;
