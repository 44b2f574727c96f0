//! `{ uniform = [1, "rows"] }`: where a value comes from.

use super::{
    number::Whole,
    numbers::{Numbers, VALUES_MAX},
    value::Formula,
};
use crate::{
    explain::shown,
    source::{Fault, Under},
    suggest,
};
use model::{
    civil::Civil,
    script::{Arg, Generator},
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Every key that an argument, a draw or a column may have; exactly one of them says the kind.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireGenerator {
    uniform: Option<[Formula; 2]>,
    zipf: Option<[Formula; 2]>,
    exponent: Option<f64>,
    consecutive: Option<Formula>,
    sequence: Option<Formula>,
    template: Option<String>,
    integer: Option<Formula>,
    text: Option<String>,
    draw: Option<String>,
    captured: Option<String>,
    now: Option<bool>,
    timestamp: Option<[String; 2]>,
    filler: Option<[Formula; 2]>,
    random_percent: Option<Whole<u32>>,
    between: Option<[String; 2]>,
    decimal: Option<Vec<String>>,
    digits: Option<Whole<u32>>,
    plus: Option<Formula>,
    list: Option<Formula>,
}

/// A key that says the kind, and whether a value has it.
type Kind = (&'static str, fn(&WireGenerator) -> bool);

const KINDS: [Kind; 14] = [
    ("uniform", |one| one.uniform.is_some()),
    ("zipf", |one| one.zipf.is_some()),
    ("consecutive", |one| one.consecutive.is_some()),
    ("sequence", |one| one.sequence.is_some()),
    ("template", |one| one.template.is_some()),
    ("integer", |one| one.integer.is_some()),
    ("text", |one| one.text.is_some()),
    ("now", |one| one.now.is_some()),
    ("timestamp", |one| one.timestamp.is_some()),
    ("filler", |one| one.filler.is_some()),
    ("between", |one| one.between.is_some()),
    ("decimal", |one| one.decimal.is_some()),
    ("draw", |one| one.draw.is_some()),
    ("captured", |one| one.captured.is_some()),
];

/// Share of random characters in a filler, as published.
const RANDOM_PERCENT: u32 = 50;

/// Digits of a decimal after the point, as of most money.
const DIGITS: u32 = 2;

/// Exponent of the published zipfian workloads.
const EXPONENT: f64 = 0.8;

impl WireGenerator {
    /// The value as an argument, which may be a list.
    pub(crate) fn argument(mut self, numbers: Numbers<'_>) -> Result<Arg, Fault> {
        let list = self.list.take();
        let list = numbers.optional("list", list.as_ref(), 1..=VALUES_MAX)?;
        if self.timestamp.is_some() {
            let reason = "`timestamp` belongs to a column of a schema; a statement has `now`";
            return Err(Fault::invalid(reason)).under("timestamp");
        }
        Ok(Arg { value: self.value(numbers)?, list })
    }

    /// The value of a loaded column.
    pub(crate) fn column(self, numbers: Numbers<'_>) -> Result<Generator, Fault> {
        let value = self.value(numbers)?;
        let of_statements = match &value {
            Generator::Draw { .. } => "draw",
            Generator::Captured { .. } => "captured",
            Generator::Between { .. } => "between",
            Generator::Decimal { .. } => "decimal",
            _ => return Ok(value),
        };
        let reason = format!(
            "`{of_statements}` works only in statements; give the column a generator of its own"
        );
        Err(Fault::invalid(reason)).under(of_statements)
    }

    /// The value where only a single one makes sense.
    pub(crate) fn value(self, numbers: Numbers<'_>) -> Result<Generator, Fault> {
        if self.list.is_some() {
            return Err(Fault::invalid("`list` belongs to an argument of a statement only"));
        }
        self.only_one_kind()?;
        self.modifiers_fit()?;
        let one = |key: &str, formula: &Formula| numbers.value(formula).under(key);
        let plus = self.plus.as_ref().map_or(Ok(0), |plus| one("plus", plus))?;
        if let Some([low, high]) = &self.uniform {
            let (low, high) = numbers.interval("uniform", [low, high]).under("uniform")?;
            return Ok(Generator::Uniform { low, high });
        }
        if let Some([low, high]) = &self.zipf {
            let (low, high) = numbers.interval("zipf", [low, high]).under("zipf")?;
            let exponent = self.exponent.unwrap_or(EXPONENT);
            return Ok(Generator::Zipf { low, high, exponent });
        }
        if let Some([low, high]) = &self.filler {
            return self.filler([low, high], numbers).under("filler");
        }
        if let Some(first) = &self.consecutive {
            return Ok(Generator::Consecutive { first: one("consecutive", first)? });
        }
        if let Some(first) = &self.sequence {
            return Ok(Generator::Sequence { first: one("sequence", first)? });
        }
        if let Some(value) = &self.integer {
            return Ok(Generator::Integer { value: one("integer", value)? });
        }
        if let Some([low, high]) = self.between {
            return Ok(Generator::Between { low, high });
        }
        if let Some([low, high]) = &self.timestamp {
            return timestamp(low, high).under("timestamp");
        }
        if let Some(sum) = self.decimal {
            return Ok(Generator::Decimal {
                sum,
                digits: self.digits.map_or(DIGITS, |digits| digits.0),
            });
        }
        match (self.template, self.text, self.draw, self.captured) {
            (Some(template), ..) if template.is_ascii() => Ok(Generator::Template { template }),
            (Some(_), ..) => Err(Fault::invalid("a template must be ASCII")).under("template"),
            (_, Some(value), ..) => Ok(Generator::Text { value }),
            (_, _, Some(name), _) => Ok(Generator::Draw { name, plus }),
            (_, _, _, Some(name)) => Ok(Generator::Captured { name, plus }),
            _ if self.now == Some(true) => Ok(Generator::Now),
            _ => Err(Fault::invalid("`now` can only be true")).under("now"),
        }
    }

    fn filler(&self, ends: [&Formula; 2], numbers: Numbers<'_>) -> Result<Generator, Fault> {
        for (place, end) in ends.into_iter().enumerate() {
            numbers.within("`filler`", end, 0..=VALUES_MAX).under(place)?;
        }
        let (low, high) = numbers.interval("filler", ends)?;
        let random_percent = self.random_percent.map_or(RANDOM_PERCENT, |percent| percent.0);
        Ok(Generator::Filler { low, high, random_percent })
    }

    fn only_one_kind(&self) -> Result<(), Fault> {
        let given = KINDS.iter().filter(|(_, is_given)| is_given(self));
        let kinds: Vec<_> = given.map(|(kind, _)| kind).collect();
        match kinds.as_slice() {
            [_] => Ok(()),
            [] => {
                let all = suggest::one_of(&KINDS.map(|(kind, _)| kind));
                Err(Fault::invalid(format!("a value needs one of {all}")))
            }
            [first, second, ..] => Err(Fault::invalid(format!(
                "a value has `{first}` or `{second}`, not both; remove one"
            ))),
        }
    }

    /// `exponent`, `plus` and `random_percent` mean something to some kinds only.
    fn modifiers_fit(&self) -> Result<(), Fault> {
        match self.random_percent {
            Some(_) if self.filler.is_none() => {
                return Err(Fault::invalid("`random_percent` belongs to `filler` only"));
            }
            Some(Whole(percent @ 101..)) => {
                let reason = format!("`random_percent` is {percent}; it must be from 0 to 100");
                return Err(Fault::invalid(reason)).under("random_percent");
            }
            _ => {}
        }
        match self.digits {
            Some(_) if self.decimal.is_none() => {
                return Err(Fault::invalid("`digits` belongs to `decimal` only"));
            }
            Some(Whole(digits)) if !(1..=9).contains(&digits) => {
                let reason = format!("`digits` is {digits}; it must be from 1 to 9");
                return Err(Fault::invalid(reason)).under("digits");
            }
            _ => {}
        }
        if self.plus.is_some() && self.draw.is_none() && self.captured.is_none() {
            return Err(Fault::invalid("`plus` belongs to `draw` or `captured` only"));
        }
        match self.exponent {
            Some(_) if self.zipf.is_none() => {
                Err(Fault::invalid("`exponent` belongs to `zipf` only"))
            }
            Some(exponent) if !(exponent > 0.0 && exponent.is_finite()) => {
                Err(Fault::invalid(format!("`exponent` is {exponent}; it must be above 0")))
            }
            _ => Ok(()),
        }
    }
}

/// A moment between two dates, of which the later one may be the time of the load.
fn timestamp(low: &str, high: &str) -> Result<Generator, Fault> {
    let moment = |text: &str| {
        Civil::parse(text).map(Civil::seconds).ok_or_else(|| {
            Fault::invalid(format!(
                "`{}` is not a date such as 2026-01-31 or 2026-01-31 23:59:59, from 1970 to 9999",
                shown(text)
            ))
        })
    };
    let low = moment(low).under(0)?;
    let high = match high {
        "now" => None,
        high => Some(moment(high).under(1)?),
    };
    if high.is_some_and(|high| high < low) {
        return Err(Fault::invalid("the first date must not be after the second"));
    }
    Ok(Generator::Timestamp { low, high })
}
