//! Rows that are made in Rust, where the generators of a schema cannot say what they are.

use super::{tpcc, tsbm, tsbs, vectors};
use crate::wire::{RowSink, RowSource};
use model::{Parameters, quoted};
use values::Random;

/// A table whose rows are written in Rust. One file of this folder makes those of a schema.
pub(super) struct CodedTable {
    /// Its name, by which schemas call it.
    pub(super) name: &'static str,
    /// Names of its loaded columns.
    pub(super) columns: &'static [&'static str],
    /// Rows of the schema's `rows` that one unit stands for: a unit with a drawn number of rows has
    /// so many in the mean.
    pub(super) rows_per_unit: u64,
    /// Gives one row of a unit and says whether the unit has another one.
    pub(super) make: fn(&mut Maker, RowNumber, &mut dyn RowSink) -> bool,
}

/// Every table of coded rows.
const TABLES: &[&[CodedTable]] = &[tpcc::TABLES, tsbm::TABLES, tsbs::TABLES, vectors::TABLES];

/// The table of this name.
pub(super) fn find(name: &str) -> Option<&'static CodedTable> {
    TABLES.iter().copied().flatten().find(|table| table.name == name)
}

/// The names of all tables, for messages.
pub(super) fn names() -> String {
    quoted(TABLES.iter().copied().flatten().map(|table| table.name))
}

/// Which row is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowNumber {
    /// Number of the unit, from 0.
    pub(super) unit: u64,
    /// Number of the row in its unit, from 0.
    pub(super) row: u64,
}

/// What rows are made from.
#[derive(Debug, Clone)]
pub(super) struct Maker {
    /// Seed of the load, which all tables share.
    pub(super) shared_seed: u64,
    /// Seed of the table.
    pub(super) seed: u64,
    /// The random stream of the unit in hand.
    pub(super) random: Random,
    /// The moment of the load, as text.
    pub(super) now: Vec<u8>,
    /// Room for a text.
    pub(super) text: Vec<u8>,
    /// A permutation and what it belongs to.
    pub(super) permutation: (u64, Vec<u16>),
    /// Rows of the schema's first table, by which others are scaled.
    pub(super) first_rows: u64,
    /// Values that go on from row to row.
    pub(super) walks: tsbs::Walks,
    /// Numbers of the schema.
    pub(super) parameters: Parameters,
    /// What vectors are made from.
    pub(super) vectors: vectors::Vectors,
}

/// The rows of units `next` up to `end`.
pub(super) struct CodedRows<'m> {
    table: &'static CodedTable,
    maker: &'m mut Maker,
    next: RowNumber,
    end: u64,
    made: u64,
}

impl<'m> CodedRows<'m> {
    /// Units `start..end` (the first one of a table is 1).
    pub(super) fn new(
        table: &'static CodedTable,
        maker: &'m mut Maker,
        start: u64,
        end: u64,
    ) -> Self {
        let next = RowNumber { unit: start.saturating_sub(1), row: 0 };
        Self { table, maker, next, end: end.saturating_sub(1), made: 0 }
    }

    /// Rows made so far.
    pub(super) fn made(&self) -> u64 {
        self.made
    }
}

impl RowSource for CodedRows<'_> {
    fn next_row(&mut self, sink: &mut dyn RowSink) -> bool {
        if self.next.unit >= self.end {
            return false;
        }
        if self.next.row == 0 {
            self.maker.random = Random::new(self.maker.seed, self.next.unit);
        }
        let more = (self.table.make)(self.maker, self.next, sink);
        sink.end_row();
        self.made += 1;
        self.next = match more {
            true => RowNumber { row: self.next.row + 1, ..self.next },
            false => RowNumber { unit: self.next.unit + 1, row: 0 },
        };
        true
    }
}
