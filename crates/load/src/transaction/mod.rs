//! What operations do: the seam of the transactions.
//!
//! A transaction is declared, as a workload's file says it ([`Declared`]), or coded: a type with
//! loops, branches and several captured values ([`Coded`]), or it is an event of a user's own
//! script ([`Scripted`]). All are compiled for each type of
//! client and executed by the same loop, which counts, times and repeats them. Nothing here
//! allocates between two operations. A coded one that workload files may name is one file or folder
//! here and one line of [`Workloads::CODED`].

mod coded;
mod declared;
mod kept;
mod scripted;
mod tpcc;
mod vectors;

pub use coded::{Argument, Coded, Operation, Setup, Statement};
pub(crate) use coded::{program, roles};
pub(crate) use declared::Declared;
pub(crate) use kept::Kept;
pub(crate) use scripted::Scripted;

pub use crate::arrival::Member;

use crate::clock::{Clock, write_time};
use crate::recorder::Tally;
use crate::wire::{Answer, Client, Failure, Row, TIME_TEXT};
use model::{drawn::Drawn, neighbors::Neighbors, quoted};
use std::{marker::PhantomData, ops::RangeInclusive};
use values::Random;

/// Something that exists once per coded workload.
pub(crate) trait PerCoded {
    /// What there is for each.
    type Value;

    /// That of one coded workload.
    fn of<T: Coded>() -> Self::Value;
}

struct Entry<P: PerCoded> {
    name: &'static str,
    of: fn() -> P::Value,
}

struct Workloads<P>(PhantomData<P>);

impl<P: PerCoded> Workloads<P> {
    /// Every coded workload that a workload's file may name; in the order in which messages list
    /// them.
    const CODED: [Entry<P>; 4] = [
        Self::entry::<tpcc::Tpcc>(),
        Self::entry::<vectors::Vectors<vectors::Graph>>(),
        Self::entry::<vectors::Vectors<vectors::Halfvec>>(),
        Self::entry::<vectors::Vectors<vectors::Ivfflat>>(),
    ];

    const fn entry<T: Coded>() -> Entry<P> {
        Entry { name: T::NAME, of: P::of::<T> }
    }
}

/// What there is for a coded workload; an error names those that exist.
pub(crate) fn find<P: PerCoded>(name: &str) -> Result<P::Value, String> {
    let all = Workloads::<P>::CODED;
    match all.iter().find(|known| known.name == name) {
        Some(found) => Ok((found.of)()),
        None => {
            let known = quoted(all.map(|known| known.name));
            Err(format!("there are no coded transactions `{name}` (known: {known})"))
        }
    }
}

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

    /// What was counted of the operations and of their draws, when a stretch is over.
    fn drawn(&self) -> Vec<Drawn> {
        Vec::new()
    }

    /// How many of the nearest rows the searches of a stretch found, where operations search.
    fn neighbors(&self) -> Option<Neighbors> {
        None
    }
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

    /// The same of a statement that is expected to return one row.
    pub fn one(
        &mut self,
        statement: Statement,
        arguments: &[Argument<'_>],
        take: impl FnMut(&mut dyn Row),
    ) -> Result<(), Failure> {
        let answer = self.fetch(statement, arguments, take)?;
        self.expect(answer.rows, 1..=1);
        Ok(())
    }

    /// Executes a statement that is expected to change one row.
    pub fn change(
        &mut self,
        statement: Statement,
        arguments: &[Argument<'_>],
    ) -> Result<(), Failure> {
        let answer = self.execute(statement, arguments)?;
        self.expect(answer.changed, 1..=1);
        Ok(())
    }

    /// Counts a statement as unexpected that returned or changed another number of rows than it
    /// may.
    pub fn expect(&mut self, rows: u64, allowed: RangeInclusive<u64>) {
        self.tally.unexpected += u64::from(!allowed.contains(&rows));
    }

    /// Rolls the transaction back on purpose.
    pub fn roll_back(&mut self) -> Result<Outcome, Failure> {
        self.client.rollback()?;
        self.tally.others += 1;
        Ok(Outcome::RolledBack)
    }

    fn give(&mut self, statement: Statement, arguments: &[Argument<'_>]) {
        let mut now = *TIME_TEXT;
        if arguments.contains(&Argument::Now) {
            write_time(self.clock.wall(), &mut now);
        }
        let client = &mut *self.client;
        client.begin(statement.number);
        let composed = client.compose(|draft| {
            for argument in arguments {
                match argument {
                    Argument::Integer(value) => draft.integer(*value),
                    Argument::Text(text) => draft.varying(text, &[]),
                    Argument::Bytes(bytes) => draft.text(bytes),
                    Argument::Now => draft.text(&now),
                }
            }
        });
        if !composed {
            for argument in arguments {
                match argument {
                    Argument::Integer(value) => client.integer(*value),
                    Argument::Text(text) => client.varying(text, &[]),
                    Argument::Bytes(bytes) => client.text(bytes).copy_from_slice(bytes),
                    Argument::Now => client.text(TIME_TEXT).copy_from_slice(&now),
                }
            }
        }
    }
}
