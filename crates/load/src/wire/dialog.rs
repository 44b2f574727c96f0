//! A connection of a program that decides while it goes: statements and arguments that nobody knew
//! before, and answers that may be looked at later.

use super::{Failure, Value};

/// An open connection. Each statement frees the answer to the one before.
pub trait Dialog: Send {
    /// Executes a text.
    fn query(&mut self, sql: &[u8]) -> Result<Told, Failure>;

    /// Adds a statement with `?` for each of its arguments; returns its number, by which it is
    /// meant until it is closed.
    fn prepare(&mut self, sql: &str) -> Result<usize, Failure>;

    /// Says what the arguments of a statement will be: before its first execution.
    fn bind(&mut self, statement: usize, kinds: &[Kind]) -> Result<(), Failure>;

    /// Executes a statement that was prepared and, if it has arguments, bound.
    fn execute(&mut self, statement: usize, arguments: &[Argument<'_>]) -> Result<Told, Failure>;

    /// Closes a statement.
    fn close(&mut self, statement: usize) -> Result<(), Failure>;

    /// Hands the values of the next row of the last answer to `take`; returns whether there was
    /// one.
    fn next_row(&mut self, take: &mut dyn FnMut(Value<'_>)) -> Result<bool, Failure>;
}

/// What a statement did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// Columns of its result set; `None` if there is no result set.
    pub columns: Option<u64>,
    /// Rows of it.
    pub rows: u64,
    /// Rows changed, as the server tells it.
    pub changed: u64,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit integer.
    Integer,
    /// Floating-point number of 64 bits.
    Real,
    /// A text in the connection's character set.
    Text,
}

/// An argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// NULL.
    Null,
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Real(f64),
    /// A text.
    Text(&'a [u8]),
}
