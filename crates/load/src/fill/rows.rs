//! The rows of a table, each drawn from a random stream of its own.

use crate::wire::{RowSink, RowSource};
use model::schema::{Column, ColumnValue};
use values::{
    Random,
    generator::{Letters, Sampler},
};

/// How the values of a row are made, compiled once per table.
#[derive(Debug, Clone)]
pub(super) struct Values(Vec<Value>);

#[derive(Debug, Clone)]
enum Value {
    /// The row's number plus a constant.
    RowNumber(i64),
    Drawn(Sampler),
}

impl Values {
    /// Compiles columns.
    pub(super) fn compile(columns: &[Column], now_seconds: u64) -> Self {
        let compile = |column: &Column| match &column.value {
            ColumnValue::RowNumber => Value::RowNumber(0),
            ColumnValue::Counted { first } => Value::RowNumber(first.wrapping_sub(1)),
            ColumnValue::Drawn(generator) => Value::Drawn(generator.sampler(now_seconds)),
        };
        Self(columns.iter().map(compile).collect())
    }

    /// Whether all texts are ASCII.
    pub(super) fn ascii(&self) -> bool {
        self.0.iter().all(|value| match value {
            Value::Drawn(Sampler::Template(template)) => template.text().is_ascii(),
            _ => true,
        })
    }
}

/// The rows of one table from `next` up to `end`.
pub(super) struct TableRows<'a> {
    values: &'a [Value],
    seed: u64,
    next: u64,
    end: u64,
    /// Room for one text.
    text: Vec<u8>,
}

impl<'a> TableRows<'a> {
    /// Rows `start..end` (the first row of a table is 1) of the table with this seed.
    pub(super) fn new(values: &'a Values, seed: u64, start: u64, end: u64) -> Self {
        Self { values: &values.0, seed, next: start, end, text: Vec::new() }
    }
}

impl RowSource for TableRows<'_> {
    fn next_row(&mut self, sink: &mut dyn RowSink) -> bool {
        if self.next >= self.end {
            return false;
        }
        let row = self.next;
        self.next += 1;
        let mut random = Random::new(self.seed, row);
        for value in self.values {
            let sampler = match value {
                Value::RowNumber(plus) => {
                    sink.integer(plus.wrapping_add_unsigned(row));
                    continue;
                }
                Value::Drawn(sampler) => sampler,
            };
            self.text.clear();
            match sampler {
                Sampler::Fixed(value) => sink.integer(*value),
                Sampler::Uniform { low, span } => {
                    sink.integer(low.wrapping_add_unsigned(random.below(*span)));
                }
                Sampler::Integers(draws) => sink.integer(draws.draw(&mut random)),
                Sampler::Template(template) => {
                    self.text.extend_from_slice(template.text());
                    template.fill(&mut random, &mut self.text);
                    sink.text(&self.text);
                }
                Sampler::Filler(filler) => {
                    let mut letters = Letters::default();
                    let (plain, varied) = filler.cut(&mut random, &mut letters);
                    self.text.extend_from_slice(plain);
                    self.text.extend_from_slice(varied);
                    sink.text(&self.text);
                }
                Sampler::Texts(draws) => {
                    draws.draw(&mut random, &mut self.text);
                    sink.text(&self.text);
                }
            }
        }
        sink.end_row();
        true
    }
}
