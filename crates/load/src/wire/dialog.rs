//! A connection of a program that decides while it goes: statements and arguments that nobody knew
//! before, and answers that may be looked at later.

use super::{Failure, Value};

/// An open connection. Each statement frees the answer to the one before.
pub trait Dialog: Send {
    /// Executes a text.
    fn query(&mut self, sql: &[u8]) -> Result<Told, Failure>;

    /// Adds a statement with `?` for each of its arguments; returns its number, by which it is
    /// meant until it is closed. Another one may have the number then.
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

/// The statements of a connection by their numbers. That of a closed one is given again: a program
/// may prepare one for each of its transactions.
pub(crate) struct Numbered<T>(Vec<Option<T>>);

impl<T> Numbered<T> {
    /// No statements.
    pub(crate) fn new() -> Self {
        Self(Vec::new())
    }

    /// Adds a statement; its number.
    pub(crate) fn add(&mut self, statement: T) -> usize {
        match self.0.iter().position(Option::is_none) {
            Some(free) => {
                self.0[free] = Some(statement);
                free
            }
            None => {
                self.0.push(Some(statement));
                self.0.len() - 1
            }
        }
    }

    /// The statement with this number, if there is one.
    pub(crate) fn get(&self, number: usize) -> Option<&T> {
        self.0.get(number)?.as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut T> {
        self.0.get_mut(number)?.as_mut()
    }

    /// The same, which is expected to be there.
    pub(crate) fn known(&mut self, number: usize) -> Result<&mut T, Failure> {
        self.get_mut(number).ok_or_else(|| Failure::own("the prepared statement is closed"))
    }

    /// Takes the statement with this number away.
    pub(crate) fn close(&mut self, number: usize) -> Option<T> {
        self.0.get_mut(number)?.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_closed_statement_is_given_again() {
        let mut statements = Numbered::new();
        assert_eq!(["a", "b", "c"].map(|one| statements.add(one)), [0, 1, 2]);
        assert_eq!((statements.close(1), statements.close(1)), (Some("b"), None));
        let closed = statements.known(1).unwrap_err();
        assert_eq!(closed.message(), "the prepared statement is closed");
        assert_eq!(["d", "e"].map(|one| statements.add(one)), [1, 3]);
        assert_eq!((statements.get(1), statements.get(4)), (Some(&"d"), None));
    }
}
