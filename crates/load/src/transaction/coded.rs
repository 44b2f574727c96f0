//! Transactions that are written in Rust.

use super::{Member, Transaction};
use crate::Error;
use crate::program::{Op, Part, Program, Roles};
use crate::wire::{Parameter, Sql};
use model::{
    Parameters,
    drive::Assignment,
    quoted,
    script::Role,
    workload::{Class, Mode},
};
use std::sync::Arc;
use values::VectorFile;

/// A workload whose transactions are written in Rust.
pub trait Coded: Transaction + Send + Sized + 'static {
    /// Name of the workload.
    const NAME: &'static str;

    /// Its operations, by their numbers.
    const OPERATIONS: &'static [Operation];

    /// What is wrong with the numbers of a phase on a server with this dialect: one sentence.
    fn check(_dialect: &str, _parameters: &Parameters) -> Result<(), String> {
        Ok(())
    }

    /// The transactions of one connection, with their statements and with room for all that they
    /// draw and capture.
    fn new(setup: &mut Setup<'_>) -> Self;

    /// Makes what operations need and a check of the phase does not; before the start barrier.
    fn get_ready(&mut self) {}
}

/// An operation of a coded workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Name of its histogram.
    pub name: &'static str,
    /// How often it comes, compared with the others, where no workload's file says it; at least 1.
    pub weight: u32,
}

/// What the transactions of a connection are made from.
pub struct Setup<'a> {
    /// Dialect of the server's SQL.
    pub dialect: &'a str,
    /// Whether statements are prepared or sent as text.
    pub mode: Mode,
    /// Which connection it is.
    pub member: Member,
    /// The numbers of the phase.
    pub parameters: &'a Parameters,
    /// The file that vectors come from, if they do.
    pub dataset: Option<&'a VectorFile>,
    statements: Vec<Sql>,
    session: Vec<String>,
}

/// A statement of a coded transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    pub(super) number: usize,
    pub(super) class: Class,
}

/// An argument of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument<'a> {
    /// An integer.
    Integer(i64),
    /// A text, without quote and backslash.
    Text(&'a [u8]),
    /// As many bytes as its [`Parameter::Bytes`].
    Bytes(&'a [u8]),
    /// The time of the wall clock, for a [`Parameter::Time`].
    Now,
}

impl From<i64> for Argument<'_> {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl<'a> From<&'a [u8]> for Argument<'a> {
    fn from(text: &'a [u8]) -> Self {
        Self::Text(text)
    }
}

impl<'a> Setup<'a> {
    pub(crate) fn new(dialect: &'a str, mode: Mode, member: Member, program: &'a Program) -> Self {
        Self {
            dialect,
            mode,
            member,
            parameters: &program.parameters,
            dataset: program.dataset.as_ref(),
            statements: Vec::new(),
            session: Vec::new(),
        }
    }

    /// A number of the phase, or its default.
    pub fn number(&self, name: &str, default: i64) -> i64 {
        self.parameters.get(name).copied().unwrap_or(default)
    }

    /// Adds a statement that each connection executes before it prepares the others: a setting of
    /// its session.
    pub fn session(&mut self, sql: String) {
        self.session.push(sql);
    }

    /// Adds a statement with `?` for each of its arguments, texts of which are at most as long as
    /// [`Parameter::Varying`] says.
    pub fn statement(&mut self, class: Class, sql: &str, parameters: &[Parameter]) -> Statement {
        let number = self.statements.len();
        // What the null client answers.
        let expected = match class {
            Class::Read => (1, 0),
            Class::Write => (0, 1),
            Class::Other => (0, 0),
        };
        let sql = Sql { expected, ..Sql::new(self.mode, sql, parameters.to_vec()) };
        self.statements.push(sql);
        Statement { number, class }
    }
}

/// The program of a coded workload: its statements, and its operations without any.
pub(crate) fn program<T: Coded>(
    dialect: &str,
    mode: Mode,
    parameters: &Parameters,
    dataset: Option<VectorFile>,
) -> Program {
    let mut program =
        Program { parameters: parameters.clone(), dataset, ..Program::empty(T::NAME) };
    let mut setup = Setup::new(dialect, mode, Member { index: 0, clients: 1 }, &program);
    T::new(&mut setup);
    (program.sql, program.session) = (setup.statements, setup.session);
    for operation in T::OPERATIONS {
        program.weight_total += u64::from(operation.weight);
        program.ops.push(Op {
            name: operation.name.to_owned(),
            weight_end: program.weight_total,
            transaction: true,
            writes: true,
            ..Op::default()
        });
    }
    program
}

/// The roles of a workload whose file names coded transactions; their weights are those of the
/// file, and an operation that a role does not name never comes there.
///
/// # Errors
/// An operation that does not exist.
pub(crate) fn roles<T: Coded>(assignment: &Assignment, dialect: &str) -> Result<Roles, Error> {
    let name = assignment.script.workload.clone();
    let parts = assignment.script.roles.iter().map(|role| part::<T>(assignment, dialect, role));
    Ok(Roles { name, parts: parts.collect::<Result<_, Error>>()? })
}

fn part<T: Coded>(assignment: &Assignment, dialect: &str, role: &Role) -> Result<Part, Error> {
    let none = Parameters::new();
    let parameters = assignment.script.coded.as_ref().map_or(&none, |coded| &coded.parameters);
    checked::<T>(dialect, parameters, role).map_err(|reason| Error::Workload {
        workload: assignment.script.workload.clone(),
        place: String::new(),
        reason,
    })?;
    let mode = assignment.mode.unwrap_or(Mode::Prepared);
    let tables = &assignment.schema.tables;
    let dataset = tables.iter().find_map(|table| table.coded.as_ref()?.dataset.clone());
    let mut program = program::<T>(dialect, mode, parameters, dataset);
    program.name.clone_from(&assignment.script.workload);
    program.role.clone_from(&role.name);
    program.weight_total = 0;
    for own in &mut program.ops {
        let named = role.ops.iter().find(|op| op.name == own.name);
        program.weight_total += named.map_or(0, |op| u64::from(op.weight));
        own.weight_end = program.weight_total;
        own.pauses = named.map(|op| op.pauses).unwrap_or_default();
    }
    Ok(Part {
        program: Arc::new(program),
        clients: role.clients,
        arrival: role.arrival,
        end: role.end,
        pairing: role.pairing,
    })
}

/// Operations that exist, and numbers that make sense.
fn checked<T: Coded>(dialect: &str, parameters: &Parameters, role: &Role) -> Result<(), String> {
    let unknown = role.ops.iter().find(|op| T::OPERATIONS.iter().all(|own| own.name != op.name));
    if let Some(op) = unknown {
        let (name, known) = (T::NAME, quoted(T::OPERATIONS.iter().map(|one| one.name)));
        return Err(format!("`{name}` has no operation `{}`; use some of {known}", op.name));
    }
    T::check(dialect, parameters)
}
