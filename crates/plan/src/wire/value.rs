//! Values that TOML may write in two ways: `100` or `"rows / 2"`, `1` or `[1, "range"]`, a word or
//! a table.

use super::number;
use crate::error::{Error, Location};
use crate::source::Fault;
use model::{
    Parameters,
    expression::Expression,
    workload::{Arrival, Spacing},
};
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::{fmt, marker::PhantomData};

/// Parameters that every phase has beside those of its workload.
pub(crate) const EVERYWHERE: [&str; 3] = ["clients", "rows", "tables"];

/// Adds plausible values of the parameters that every phase has, so that expressions can be checked
/// early.
pub(crate) fn with_everywhere(parameters: &Parameters) -> Parameters {
    let mut all = parameters.clone();
    for (name, value) in [("clients", 1), ("rows", 1_000_000), ("tables", 1)] {
        all.insert(name.to_owned(), value);
    }
    all
}

/// An integer or an expression in a string.
#[derive(Debug, Clone)]
pub(crate) struct Formula(pub(crate) Expression);

impl Formula {
    /// The expression, if it has a value under `parameters`.
    pub(crate) fn check(self, parameters: &Parameters) -> Result<Expression, Fault> {
        match self.0.evaluate(parameters) {
            Ok(_) => Ok(self.0),
            Err(source) => Err(Error::Expression { place: Location::default(), source }.into()),
        }
    }
}

struct FormulaVisitor;

impl Visitor<'_> for FormulaVisitor {
    type Value = Formula;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer or an expression in quotes, such as \"rows / 2\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Formula, E> {
        Ok(Formula(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Formula, E> {
        match number::of_float(value) {
            Some(whole) => self.visit_i64(whole),
            None => Err(E::invalid_value(de::Unexpected::Float(value), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Formula, E> {
        Ok(Formula(Expression::new(value)))
    }
}

impl<'de> Deserialize<'de> for Formula {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FormulaVisitor)
    }
}

/// `true`, `false`, or an expression that is 1 or 0.
#[derive(Debug, Clone)]
pub(crate) enum WireCondition {
    Fixed(bool),
    When(Formula),
}

struct ConditionVisitor;

impl Visitor<'_> for ConditionVisitor {
    type Value = WireCondition;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false, or an expression in quotes, such as \"1 - skip_trx\"")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<WireCondition, E> {
        Ok(WireCondition::Fixed(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WireCondition, E> {
        FormulaVisitor.visit_str(value).map(WireCondition::When)
    }
}

impl<'de> Deserialize<'de> for WireCondition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConditionVisitor)
    }
}

/// One expression for an exact number, two for an inclusive interval.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    pub(crate) low: Formula,
    pub(crate) high: Formula,
}

struct IntervalVisitor;

impl<'de> Visitor<'de> for IntervalVisitor {
    type Value = Interval;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, an expression in quotes, or `[low, high]`")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Interval, E> {
        let exact = FormulaVisitor.visit_i64(value)?;
        Ok(Interval { low: exact.clone(), high: exact })
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Interval, E> {
        let exact = FormulaVisitor.visit_f64(value)?;
        Ok(Interval { low: exact.clone(), high: exact })
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Interval, E> {
        let exact = FormulaVisitor.visit_str(value)?;
        Ok(Interval { low: exact.clone(), high: exact })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Interval, A::Error> {
        let [low, high] = <[Formula; 2]>::deserialize(de::value::SeqAccessDeserializer::new(seq))?;
        Ok(Interval { low, high })
    }
}

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IntervalVisitor)
    }
}

/// A string, integer, float or truth value (`on`, `off`) as text: a level, a setting's value.
#[derive(Debug, Clone)]
pub(crate) struct Scalar(pub(crate) String);

/// Reads it; the words are those of the truth values.
pub(crate) struct ScalarVisitor([&'static str; 2]);

/// As servers have truth values.
pub(crate) const SETTING: ScalarVisitor = ScalarVisitor(["off", "on"]);
/// As they are written.
const VARIABLE: ScalarVisitor = ScalarVisitor(["false", "true"]);

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar(value.to_string()))
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(self.0[usize::from(value)].to_owned()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar(value.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SETTING)
    }
}

/// The value of an environment variable: as [`Scalar`], but that a truth value is no setting of a
/// server, and stays as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Variable(pub(crate) String);

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VARIABLE).map(|Scalar(text)| Variable(text))
    }
}

/// One text or number, or several: the levels of a factor.
#[derive(Debug, Clone)]
pub(crate) struct OneOrMany(pub(crate) Vec<String>);

struct OneOrManyVisitor;

impl<'de> Visitor<'de> for OneOrManyVisitor {
    type Value = OneOrMany;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number or a list of them, such as [1, 40]")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_string()]))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_string()]))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<OneOrMany, E> {
        Ok(OneOrMany(vec![value.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
        let mut levels = Vec::new();
        while let Some(Scalar(level)) = seq.next_element()? {
            levels.push(level);
        }
        Ok(OneOrMany(levels))
    }
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneOrManyVisitor)
    }
}

/// A table whose order means something.
#[derive(Debug, Clone)]
pub(crate) struct Ordered<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

struct OrderedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OrderedVisitor<T> {
    type Value = Ordered<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Ordered(entries))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OrderedVisitor(PhantomData))
    }
}

/// `"closed"`, or `{ per_second = 1000, spacing = "poisson" }`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WireArrival(Arrival);

impl WireArrival {
    /// The arrival, if its rate is one.
    pub(crate) fn check(self) -> Result<Arrival, Fault> {
        match self.0 {
            Arrival::Open { per_second, .. } if !(per_second > 0.0 && per_second.is_finite()) => {
                let reason = format!("`per_second` is {per_second}; it must be above 0");
                Err(Fault::invalid(reason))
            }
            arrival => Ok(arrival),
        }
    }
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireOpen {
    #[serde(deserialize_with = "number::amount")]
    #[schemars(with = "Scalar")]
    per_second: f64,
    #[serde(default = "even")]
    spacing: Spacing,
}

fn even() -> Spacing {
    Spacing::Even
}

impl<'de> Deserialize<'de> for WireArrival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = "{ per_second = 1000, spacing = \"even\" }";
        let visitor = WordOr { word: "closed", table, of: PhantomData::<WireOpen> };
        let open = deserializer.deserialize_any(visitor)?;
        Ok(Self(open.map_or(Arrival::Closed, |open| Arrival::Open {
            per_second: open.per_second,
            spacing: open.spacing,
        })))
    }
}

/// Reads a word, which stands for none, or a table.
pub(super) struct WordOr<T> {
    pub(super) word: &'static str,
    /// How such a table looks, for messages.
    pub(super) table: &'static str,
    pub(super) of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for WordOr<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" or a table such as {}", self.word, self.table)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Option<T>, E> {
        match value == self.word {
            true => Ok(None),
            false => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Option<T>, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map)).map(Some)
    }
}
