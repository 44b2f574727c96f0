//! What operations do: the seam of the transactions.
//!
//! A transaction is declared, as a workload's file says it ([`Declared`]), or coded: a type with
//! loops, branches and several captured values ([`Coded`]). Both are compiled for each type of
//! client and executed by the same loop, which counts, times and repeats them. Nothing here
//! allocates between two operations.

mod coded;
mod declared;
mod kept;

pub(crate) use coded::program;
pub use coded::{Argument, Coded, Operation, Setup, Statement};
pub(crate) use declared::Declared;
pub(crate) use kept::Kept;

pub use crate::arrival::Member;

use crate::clock::Clock;
use crate::keys::Random;
use crate::recorder::Tally;
use crate::wire::{Answer, Client, Failure, Row};

/// The operations of a workload, on one connection.
pub trait Transaction {
    /// Draws the inputs of operation `op`, which is about to start. An attempt that is repeated
    /// has the same inputs.
    fn draw(&mut self, op: usize, random: &mut Random);

    /// Attempts operation `op` once. After a failure the loop rolls back what was begun and, where
    /// another attempt may succeed, calls this again.
    fn attempt<C: Client, K: Clock>(
        &mut self,
        op: usize,
        work: &mut Work<'_, C, K>,
    ) -> Result<Outcome, Failure>;
}

/// How an attempt succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All that it was to do is done.
    Done,
    /// It was rolled back on purpose.
    RolledBack,
}

/// What an attempt works with.
pub struct Work<'w, C, K> {
    /// The connection.
    pub(crate) client: &'w mut C,
    pub(crate) clock: &'w mut K,
    /// The connection's random numbers.
    pub(crate) random: &'w mut Random,
    /// Counts of statements and rows.
    pub(crate) tally: &'w mut Tally,
    /// When the operation started, nanoseconds.
    pub(crate) started: &'w mut u64,
}

impl<C: Client, K: Clock> Work<'_, C, K> {
    /// Executes a statement of a coded transaction.
    pub fn execute(
        &mut self,
        statement: Statement,
        arguments: &[Argument<'_>],
    ) -> Result<Answer, Failure> {
        self.give(statement, arguments);
        let answer = self.client.execute()?;
        self.tally.answered(statement.class, answer);
        Ok(answer)
    }

    /// The same, and hands each row to `take`.
    pub fn fetch(
        &mut self,
        statement: Statement,
        arguments: &[Argument<'_>],
        mut take: impl FnMut(&mut dyn Row),
    ) -> Result<Answer, Failure> {
        self.give(statement, arguments);
        let answer = self.client.fetch(&mut take)?;
        self.tally.answered(statement.class, answer);
        Ok(answer)
    }

    /// Rolls the transaction back on purpose.
    pub fn roll_back(&mut self) -> Result<Outcome, Failure> {
        self.client.rollback()?;
        self.tally.others += 1;
        Ok(Outcome::RolledBack)
    }

    fn give(&mut self, statement: Statement, arguments: &[Argument<'_>]) {
        let client = &mut *self.client;
        client.begin(statement.number);
        let composed = client.compose(|draft| {
            for argument in arguments {
                match argument {
                    Argument::Integer(value) => draft.integer(*value),
                    Argument::Text(text) => draft.varying(text, &[]),
                }
            }
        });
        if !composed {
            for argument in arguments {
                match argument {
                    Argument::Integer(value) => client.integer(*value),
                    Argument::Text(text) => client.varying(text, &[]),
                }
            }
        }
    }
}
