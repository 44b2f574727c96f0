//! Generators of the model turned into sources of the program.

use super::{Decimal, Program, Sequence, Source, sql};
use crate::clock::{Clock, Monotonic};
use ::values::generator::Sampler;
use model::{
    quoted,
    script::{Draw, Value},
};
use std::collections::BTreeMap;

/// Where a named value is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Register {
    Integer(u16),
    Text { register: u16, template: u16 },
}

/// The names that a statement's arguments may use.
#[derive(Debug, Clone, Default)]
pub(super) struct DrawNames {
    draws: BTreeMap<String, Register>,
}

/// Compiles values into `program`.
pub(super) struct Values<'a> {
    pub(super) program: &'a mut Program,
    pub(super) captures: &'a BTreeMap<String, u16>,
    /// Start of the identity of counters: operation and statement.
    pub(super) place: String,
}

impl Values<'_> {
    /// Compiles draws in order; each may use those before it. They are added to `scope`.
    pub(super) fn draws(
        &mut self,
        draws: &[Draw],
        scope: &mut DrawNames,
    ) -> Result<super::Span, String> {
        let start = self.program.draws.len() as u32;
        for draw in draws {
            let source = self
                .source(&draw.value, scope)
                .map_err(|reason| format!("draw `{}`: {reason}", draw.name))?;
            let place = match source {
                Source::Text(template) | Source::TextRegister { template, .. } => {
                    let length = self.program.templates[usize::from(template)].text().len();
                    let register = index(self.program.text_registers.len())?;
                    self.program.text_registers.push(length);
                    Register::Text { register, template }
                }
                Source::Now | Source::Filler(_) | Source::Varying(_) | Source::Decimal(_) => {
                    return Err(format!(
                        "draw `{}`: a time, a filler or a decimal is made where it is used; write \
                         it there",
                        draw.name
                    ));
                }
                _ => {
                    let register = index(self.program.registers)?;
                    self.program.registers += 1;
                    Register::Integer(register)
                }
            };
            let (Register::Integer(register) | Register::Text { register, .. }) = place;
            self.program.draws.push(super::Draw { source, register });
            scope.draws.insert(draw.name.clone(), place);
        }
        Ok(super::Span { start, end: self.program.draws.len() as u32 })
    }

    /// Compiles one value.
    pub(super) fn source(&mut self, value: &Value, scope: &DrawNames) -> Result<Source, String> {
        Ok(match value {
            Value::Drawn(generator) => self.sampler(generator.sampler(Monotonic.wall()))?,
            Value::Consecutive { first } => Source::Ascending(*first),
            Value::Sequence { first } => {
                let at = index(self.program.sequences.len())?;
                let key = format!("{}/{}", self.program.name, self.place);
                let (before, others) = (0, 0);
                self.program.sequences.push(Sequence { key, first: *first, before, others });
                Source::Sequence(at)
            }
            Value::Draw { name, plus } => self.draw(name, *plus, scope)?,
            Value::Captured { name, plus } => Source::Kept { index: self.kept(name)?, plus: *plus },
            Value::Between { low, high } => {
                Source::Between { low: self.kept(low)?, high: self.kept(high)? }
            }
            Value::Decimal { sum, digits } => self.decimal(sum, *digits, scope)?,
            Value::Now => Source::Now,
        })
    }

    fn sampler(&mut self, sampler: Sampler) -> Result<Source, String> {
        let program = &mut *self.program;
        Ok(match sampler {
            Sampler::Fixed(value) => Source::Fixed(value),
            Sampler::Uniform { low, span } => Source::Uniform { low, span },
            Sampler::Template(template) => Source::Text(added(&mut program.templates, template)?),
            Sampler::Filler(filler) => Source::Filler(added(&mut program.fillers, filler)?),
            Sampler::Integers(draws) => Source::Integer(added(&mut program.integers, draws)?),
            Sampler::Texts(draws) => Source::Varying(added(&mut program.texts, draws)?),
        })
    }

    /// The number of a kept value.
    pub(super) fn kept(&self, name: &str) -> Result<u16, String> {
        self.captures
            .get(name)
            .copied()
            .ok_or_else(|| unknown("captured value", name, self.captures.keys(), "`capture`"))
    }

    fn decimal(
        &mut self,
        sum: &[String],
        digits: u32,
        scope: &DrawNames,
    ) -> Result<Source, String> {
        let mut registers = Vec::with_capacity(sum.len());
        for name in sum {
            match self.draw(name, 0, scope)? {
                Source::Register { index, .. } => registers.push(index),
                _ => return Err(format!("draw `{name}` is text, which cannot be summed")),
            }
        }
        let decimal = Decimal::new(registers, digits)
            .ok_or_else(|| format!("a decimal has 1 to 9 digits after the point, not {digits}"))?;
        Ok(Source::Decimal(added(&mut self.program.decimals, decimal)?))
    }

    /// The values of a constant source as literals, one per argument; `None` if it is not constant.
    pub(super) fn literals(
        &self,
        source: Source,
        count: u32,
        dialect: &str,
    ) -> Option<Vec<String>> {
        match source {
            Source::Fixed(value) => Some(vec![value.to_string(); count as usize]),
            Source::Ascending(first) => {
                let value = |place: u32| first.wrapping_add(i64::from(place)).to_string();
                Some((0..count).map(value).collect())
            }
            Source::Text(at) => {
                let template = &self.program.templates[usize::from(at)];
                let text = String::from_utf8_lossy(template.text());
                let literal = template.is_fixed().then(|| sql::literal(&text, dialect))?;
                Some(vec![literal; count as usize])
            }
            _ => None,
        }
    }

    fn draw(&self, name: &str, plus: i64, scope: &DrawNames) -> Result<Source, String> {
        let place = scope
            .draws
            .get(name)
            .ok_or_else(|| unknown("draw", name, scope.draws.keys(), "`draw`"))?;
        match *place {
            Register::Integer(index) => Ok(Source::Register { index, plus }),
            Register::Text { register, template } if plus == 0 => {
                Ok(Source::TextRegister { index: register, template })
            }
            Register::Text { .. } => {
                Err(format!("draw `{name}` is text, so {plus} cannot be added to it"))
            }
        }
    }
}

/// Adds to a small table; the index.
fn added<T>(table: &mut Vec<T>, one: T) -> Result<u16, String> {
    let at = index(table.len())?;
    table.push(one);
    Ok(at)
}

/// `length` as an index of a small table.
pub(super) fn index(length: usize) -> Result<u16, String> {
    u16::try_from(length).map_err(|_| "it has more than 65535 values".to_owned())
}

fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
    remedy: &str,
) -> String {
    match quoted(known).as_str() {
        "" => format!("there is no {what} `{name}`; declare it with {remedy}"),
        known => format!("there is no {what} `{name}` (known: {known})"),
    }
}
