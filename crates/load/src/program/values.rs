//! Generators of the model turned into sources of the program.

use super::{Decimal, Program, Sequence, Source, ZipfSource, sql};
use crate::keys::{Filler, Pool, Template, Zipf};
use model::script::{Draw, Generator};
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
    pub(super) pool: &'a mut Option<Pool>,
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
                Source::Now | Source::Filler(_) | Source::Decimal(_) => {
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

    /// Compiles one generator.
    pub(super) fn source(
        &mut self,
        generator: &Generator,
        scope: &DrawNames,
    ) -> Result<Source, String> {
        Ok(match generator {
            Generator::Uniform { low, high } => {
                let (low, high) = interval(*low, *high)?;
                Source::Uniform { low, span: (high.wrapping_sub(low) as u64).wrapping_add(1) }
            }
            Generator::Zipf { low, high, exponent } => self.zipf((*low, *high), *exponent)?,
            Generator::Consecutive { first } => Source::Ascending(*first),
            Generator::Integer { value } => Source::Ascending(*value),
            Generator::Sequence { first } => {
                let first = *first;
                let at = index(self.program.sequences.len())?;
                let key = format!("{}/{}/{at}", self.program.name, self.place);
                self.program.sequences.push(Sequence { key, first });
                Source::Sequence(at)
            }
            Generator::Template { template } => self.text(Template::new(template))?,
            Generator::Text { value } => self.text(Template::fixed(value))?,
            Generator::Draw { name, plus } => self.draw(name, *plus, scope)?,
            Generator::Captured { name, plus } => {
                Source::Kept { index: self.kept(name)?, plus: *plus }
            }
            Generator::Between { low, high } => {
                Source::Between { low: self.kept(low)?, high: self.kept(high)? }
            }
            Generator::Decimal { sum, digits } => self.decimal(sum, *digits, scope)?,
            Generator::Now => Source::Now,
            Generator::Timestamp { .. } => {
                return Err("a `timestamp` belongs to a column of a schema".to_owned());
            }
            Generator::Filler { low, high, random_percent } => {
                self.filler((*low, *high), *random_percent)?
            }
        })
    }

    /// The number of a kept value.
    pub(super) fn kept(&self, name: &str) -> Result<u16, String> {
        self.captures
            .get(name)
            .copied()
            .ok_or_else(|| unknown("captured value", name, self.captures.keys(), "`capture`"))
    }

    fn filler(&mut self, (low, high): (i64, i64), percent: u32) -> Result<Source, String> {
        let (least, most) = interval(low, high)?;
        let pool = self.pool.get_or_insert_with(Pool::new);
        let filler = Filler::new((least, most), percent, pool).ok_or_else(|| {
            format!(
                "a filler of {least} to {most} characters, {percent} % of them random, cannot be \
                 made; give lengths from 0 to {} and at most 100 %",
                Filler::LENGTH_MAX
            )
        })?;
        let at = index(self.program.fillers.len())?;
        self.program.fillers.push(filler);
        Ok(Source::Filler(at))
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
        let at = index(self.program.decimals.len())?;
        self.program.decimals.push(decimal);
        Ok(Source::Decimal(at))
    }

    /// The values of a constant source as literals, one per argument; `None` if it is not constant.
    pub(super) fn literals(
        &self,
        source: Source,
        count: u32,
        dialect: &str,
    ) -> Option<Vec<String>> {
        match source {
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

    fn zipf(&mut self, (low, high): (i64, i64), by: f64) -> Result<Source, String> {
        let (low, high) = interval(low, high)?;
        if !by.is_finite() || by <= 0.0 {
            return Err(format!("the exponent `{by}` of `zipf` must be a number above 0"));
        }
        let ranks = high.checked_sub(low).and_then(|distance| distance.checked_add(1));
        let ranks = ranks.ok_or("the interval of `zipf` is wider than 64 bits")?;
        let at = index(self.program.zipfs.len())?;
        self.program.zipfs.push(ZipfSource { low, zipf: Zipf::new(ranks as u64, by) });
        Ok(Source::Zipf(at))
    }

    fn text(&mut self, template: Template) -> Result<Source, String> {
        let at = index(self.program.templates.len())?;
        self.program.templates.push(template);
        Ok(Source::Text(at))
    }
}

fn interval(low: i64, high: i64) -> Result<(i64, i64), String> {
    if low > high {
        return Err(format!("the interval from {low} to {high} has no value"));
    }
    Ok((low, high))
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
    let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    match known.is_empty() {
        true => format!("there is no {what} `{name}`; declare it with {remedy}"),
        false => format!("there is no {what} `{name}` (known: {})", known.join(", ")),
    }
}
