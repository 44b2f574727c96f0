//! The rows of a table, each drawn from a random stream of its own.

use crate::{
    Error,
    keys::{Filler, Letters, Pool, Random, Template, Zipf},
    wire::{RowSink, RowSource},
};
use model::{
    civil::Civil,
    schema::{Column, ColumnValue},
    script::Generator,
};
use std::io::Write;

/// How the values of a row are made, compiled once per table.
#[derive(Debug, Clone)]
pub(super) struct Values(Vec<Value>);

#[derive(Debug, Clone)]
enum Value {
    /// The row's number plus a constant.
    RowNumber(i64),
    /// `low` plus a uniform number below the span.
    Uniform(i64, u64),
    /// A constant plus a Zipfian rank.
    Zipf(i64, Zipf),
    Integer(i64),
    Text(Template),
    Filler(Filler),
    /// Seconds since 1970 plus a uniform number below the span, as a date.
    Moment(u64, u64),
}

impl Values {
    /// Compiles the columns of `table`; fails for generators that only an operation can have.
    pub(super) fn compile(
        table: &str,
        columns: &[Column],
        now_seconds: u64,
    ) -> Result<Self, Error> {
        let compile = |column: &Column| match &column.value {
            ColumnValue::RowNumber => Ok(Value::RowNumber(0)),
            ColumnValue::Drawn(Generator::Now) => Ok(Value::Moment(now_seconds, 1)),
            ColumnValue::Drawn(Generator::Timestamp { low, high }) => {
                let high = high.unwrap_or(now_seconds).max(*low);
                Ok(Value::Moment(*low, high - *low + 1))
            }
            ColumnValue::Drawn(generator) => {
                value(generator, &format!("column `{}` of `{table}`", column.name))
            }
        };
        Ok(Self(columns.iter().map(compile).collect::<Result<_, _>>()?))
    }

    /// Whether all texts are ASCII.
    pub(super) fn ascii(&self) -> bool {
        self.0.iter().all(|value| match value {
            Value::Text(template) => template.text().is_ascii(),
            _ => true,
        })
    }
}

fn value(generator: &Generator, place: &str) -> Result<Value, Error> {
    let bounds =
        |low: i64, high: i64| match high.checked_sub(low).and_then(|span| u64::try_from(span).ok())
        {
            Some(span) => Ok((low, span + 1)),
            None => Err(Error::Schema(format!(
                "{place} has bounds `{low}` to `{high}`; the first must not be above the second"
            ))),
        };
    Ok(match generator {
        Generator::Uniform { low, high } => {
            let (low, span) = bounds(*low, *high)?;
            Value::Uniform(low, span)
        }
        Generator::Zipf { low, high, exponent } => {
            let (low, span) = bounds(*low, *high)?;
            Value::Zipf(low - 1, Zipf::new(span, *exponent))
        }
        Generator::Consecutive { first } | Generator::Sequence { first } => {
            Value::RowNumber(first - 1)
        }
        Generator::Template { template } => Value::Text(Template::new(template)),
        Generator::Integer { value } => Value::Integer(*value),
        Generator::Text { value } => Value::Text(Template::fixed(value)),
        Generator::Filler { low, high, random_percent } => {
            let filler = Filler::new((*low, *high), *random_percent, &Pool::new()).ok_or_else(|| {
                Error::Schema(format!(
                    "{place} has a filler of `{low}` to `{high}` characters, {random_percent} % of \
                     them random; give lengths from 0 to {} and at most 100 %",
                    Filler::LENGTH_MAX
                ))
            })?;
            Value::Filler(filler)
        }
        Generator::Now | Generator::Timestamp { .. } => {
            return Err(Error::Schema(format!("{place} is a time, which needs that of the load")));
        }
        Generator::Decimal { .. } => {
            return Err(Error::Schema(format!(
                "{place} is a sum of draws, which only a statement has; give its own generator"
            )));
        }
        Generator::Draw { name, .. }
        | Generator::Captured { name, .. }
        | Generator::Between { low: name, .. } => {
            return Err(Error::Schema(format!(
                "{place} refers to `{name}`, which only a statement can; give its own generator"
            )));
        }
    })
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
            match value {
                Value::RowNumber(plus) => sink.integer(plus.wrapping_add_unsigned(row)),
                Value::Uniform(low, span) => {
                    sink.integer(low.wrapping_add_unsigned(random.below(*span)));
                }
                Value::Zipf(plus, zipf) => {
                    sink.integer(plus.wrapping_add_unsigned(zipf.draw(&mut random)));
                }
                Value::Integer(value) => sink.integer(*value),
                Value::Moment(low, span) => {
                    let moment = Civil::of(low + random.below(*span));
                    self.text.clear();
                    // Writing to memory cannot fail.
                    let _ = write!(self.text, "{moment}");
                    sink.text(&self.text);
                }
                Value::Filler(filler) => {
                    let mut letters = Letters::default();
                    let (plain, varied) = filler.cut(&mut random, &mut letters);
                    self.text.clear();
                    self.text.extend_from_slice(plain);
                    self.text.extend_from_slice(varied);
                    sink.text(&self.text);
                }
                Value::Text(template) => {
                    self.text.clear();
                    self.text.extend_from_slice(template.text());
                    template.fill(&mut random, &mut self.text);
                    sink.text(&self.text);
                }
            }
        }
        sink.end_row();
        true
    }
}
