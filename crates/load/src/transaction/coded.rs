//! Transactions that are written in Rust.

use super::{Member, Transaction};
use crate::program::{Op, Program, Span};
use crate::wire::{Parameter, Sql};
use model::workload::{Class, Mode};

/// A workload whose transactions are written in Rust.
pub trait Coded: Transaction + Send + Sized + 'static {
    /// Name of the workload.
    const NAME: &'static str;

    /// Its operations, by their numbers.
    const OPERATIONS: &'static [Operation];

    /// The transactions of one connection, with their statements and with room for all that they
    /// draw and capture.
    fn new(setup: &mut Setup<'_>) -> Self;
}

/// An operation of a coded workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Name of its histogram.
    pub name: &'static str,
    /// How often it comes, compared with the others; at least 1.
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
    statements: Vec<Sql>,
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
    pub(crate) fn new(dialect: &'a str, mode: Mode, member: Member) -> Self {
        Self { dialect, mode, member, statements: Vec::new() }
    }

    /// Adds a statement with `?` for each of its arguments, texts of which are at most as long as
    /// [`Parameter::Varying`] says.
    pub fn statement(&mut self, class: Class, sql: &str, parameters: &[Parameter]) -> Statement {
        let number = self.statements.len();
        self.statements.push(Sql::new(self.mode, sql, parameters.to_vec()));
        Statement { number, class }
    }
}

/// The program of a coded workload: its statements, and its operations without any.
pub(crate) fn program<T: Coded>(dialect: &str, mode: Mode) -> Program {
    let mut setup = Setup::new(dialect, mode, Member { index: 0, clients: 1 });
    T::new(&mut setup);
    let mut program = Program { sql: setup.statements, ..Program::empty(T::NAME) };
    for operation in T::OPERATIONS {
        program.weight_total += u64::from(operation.weight);
        program.ops.push(Op {
            name: operation.name.to_owned(),
            weight_end: program.weight_total,
            draws: Span::default(),
            statements: Span::default(),
            transaction: true,
            writes: true,
        });
    }
    program
}
