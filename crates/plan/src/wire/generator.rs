//! `{ uniform = [1, "rows"] }`: where a value comes from.

use super::{
    numbers::{Numbers, VALUES_MAX},
    value::Formula,
};
use crate::{
    source::{Fault, Under},
    suggest,
};
use model::{
    schema::ColumnValue,
    script::{Arg, Value},
};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::{collections::BTreeMap, fmt, ops::RangeInclusive, sync::LazyLock};
use values::generator::{Generator, Key, Keys, Shape, Timestamp};

/// The keys of an argument, a draw or a column; exactly one of them says the kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct WireGenerator(BTreeMap<&'static str, Given>);

/// What a key holds, by its shape.
#[derive(Debug, Clone)]
enum Given {
    Integer(Formula),
    Interval([Formula; 2]),
    Real(f64),
    Text(String),
    Pair([String; 2]),
    Texts(Vec<String>),
    Flag(bool),
}

/// Values that are not drawn from chance alone: the key of each, and those that say more about it.
const REFERENCES: &[&[Key]] = &[
    &[Key::new("consecutive", Shape::Integer)],
    &[Key::new("sequence", Shape::Integer)],
    &[Key::new("now", Shape::Flag)],
    &[Key::new("between", Shape::Pair)],
    &[Key::new("decimal", Shape::Texts), Key::new("digits", Shape::Integer)],
    &[Key::new("draw", Shape::Text), PLUS],
    &[Key::new("captured", Shape::Text), PLUS],
];

const PLUS: Key = Key::new("plus", Shape::Integer);

/// Digits of a decimal after the point, as of most money.
const DIGITS: i64 = 2;

/// Turns an argument into several; it belongs to any kind.
const LIST: Key = Key::new("list", Shape::Integer);

/// All kinds, each with its keys.
fn kinds() -> impl Iterator<Item = &'static [Key]> {
    Generator::KEYS.iter().chain(REFERENCES).copied()
}

/// All keys.
static KEYS: LazyLock<BTreeMap<&'static str, Shape>> =
    LazyLock::new(|| kinds().flatten().chain([&LIST]).map(|key| (key.name, key.shape)).collect());

/// Names of all keys, for messages.
static NAMES: LazyLock<Vec<&'static str>> = LazyLock::new(|| KEYS.keys().copied().collect());

impl WireGenerator {
    /// The keys that it may have, and what they hold.
    pub(super) fn keys() -> impl Iterator<Item = (&'static str, Shape)> {
        KEYS.iter().map(|(name, shape)| (*name, *shape))
    }

    /// The value as an argument, which may be a list.
    pub(crate) fn argument(mut self, numbers: Numbers<'_>) -> Result<Arg, Fault> {
        let list = match self.0.remove(LIST.name) {
            Some(Given::Integer(list)) => numbers.optional("list", Some(&list), 1..=VALUES_MAX)?,
            _ => None,
        };
        Ok(Arg { value: self.value(numbers)?, list })
    }

    /// The value of a loaded column.
    pub(crate) fn column(self, numbers: Numbers<'_>) -> Result<ColumnValue, Fault> {
        let kind = self.kind()?;
        match self.value(numbers)? {
            Value::Drawn(generator) => Ok(ColumnValue::Drawn(generator)),
            Value::Now => Ok(ColumnValue::Drawn(Timestamp::default().into())),
            Value::Consecutive { first } | Value::Sequence { first } => {
                Ok(ColumnValue::Counted { first })
            }
            Value::Draw { .. }
            | Value::Captured { .. }
            | Value::Between { .. }
            | Value::Decimal { .. } => {
                let reason = format!(
                    "`{kind}` works only in statements; give the column a generator of its own"
                );
                Err(Fault::invalid(reason)).under(kind)
            }
        }
    }

    /// The value where only a single one makes sense.
    pub(crate) fn value(self, numbers: Numbers<'_>) -> Result<Value, Fault> {
        let kind = self.kind()?;
        let keys = Read { given: &self.0, numbers };
        if let Some(generator) = Generator::read(kind, &keys) {
            return generator.map(Value::Drawn);
        }
        let any = i64::MIN..=i64::MAX;
        let integer = |key| keys.integer(key, any.clone()).map(Option::unwrap_or_default);
        let name = || keys.text(kind).to_owned();
        Ok(match kind {
            "consecutive" => Value::Consecutive { first: integer(kind)? },
            "sequence" => Value::Sequence { first: integer(kind)? },
            "between" => {
                let [low, high] = keys.pair(kind).map(str::to_owned);
                Value::Between { low, high }
            }
            "decimal" => Value::Decimal {
                sum: keys.texts(kind).to_vec(),
                digits: keys.integer("digits", 1..=9)?.unwrap_or(DIGITS) as u32,
            },
            "draw" => Value::Draw { name: name(), plus: integer("plus")? },
            "captured" => Value::Captured { name: name(), plus: integer("plus")? },
            _ if matches!(self.0.get("now"), Some(Given::Flag(true))) => Value::Now,
            _ => return Err(Fault::invalid("`now` can only be true")).under("now"),
        })
    }

    /// The one kind that its keys name; all other keys say more about it.
    fn kind(&self) -> Result<&'static str, Fault> {
        if self.0.contains_key(LIST.name) {
            return Err(Fault::invalid("`list` belongs to an argument of a statement only"));
        }
        let given: Vec<&[Key]> = kinds().filter(|keys| self.0.contains_key(keys[0].name)).collect();
        let keys = match given.as_slice() {
            [keys] => *keys,
            [] => {
                let all: Vec<&str> = kinds().map(|keys| keys[0].name).collect();
                return Err(Fault::invalid(format!(
                    "a value needs one of {}",
                    suggest::one_of(&all)
                )));
            }
            [first, second, ..] => {
                let (first, second) = (first[0].name, second[0].name);
                return Err(Fault::invalid(format!(
                    "a value has `{first}` or `{second}`, not both; remove one"
                )));
            }
        };
        match self.0.keys().find(|name| keys.iter().all(|key| key.name != **name)) {
            None => Ok(keys[0].name),
            Some(name) => {
                let has = |keys: &&[Key]| keys.iter().any(|key| key.name == *name);
                let owners: Vec<String> =
                    kinds().filter(has).map(|keys| format!("`{}`", keys[0].name)).collect();
                let owners = owners.join(" or ");
                Err(Fault::invalid(format!("`{name}` belongs to {owners} only"))).under(name)
            }
        }
    }
}

/// The keys of a value under the parameters of a phase.
struct Read<'a> {
    given: &'a BTreeMap<&'static str, Given>,
    numbers: Numbers<'a>,
}

impl Read<'_> {
    fn texts(&self, key: &str) -> &[String] {
        match self.given.get(key) {
            Some(Given::Texts(texts)) => texts,
            _ => &[],
        }
    }
}

impl Keys for Read<'_> {
    type Fault = Fault;

    fn integer(
        &self,
        key: &'static str,
        allowed: RangeInclusive<i64>,
    ) -> Result<Option<i64>, Fault> {
        let Some(Given::Integer(formula)) = self.given.get(key) else { return Ok(None) };
        self.numbers.within(&format!("`{key}`"), formula, allowed).map(Some).under(key)
    }

    fn interval(&self, key: &'static str, allowed: RangeInclusive<i64>) -> Result<[i64; 2], Fault> {
        let Some(Given::Interval(ends)) = self.given.get(key) else { return Ok([0; 2]) };
        for (place, end) in ends.iter().enumerate() {
            let within = self.numbers.within(&format!("`{key}`"), end, allowed.clone());
            within.under(place).under(key)?;
        }
        let (low, high) = self.numbers.interval(key, ends.each_ref()).under(key)?;
        Ok([low, high].map(|end| end.clamp(*allowed.start(), *allowed.end())))
    }

    fn real(&self, key: &'static str) -> Option<f64> {
        match self.given.get(key) {
            Some(Given::Real(real)) => Some(*real),
            _ => None,
        }
    }

    fn text(&self, key: &'static str) -> &str {
        match self.given.get(key) {
            Some(Given::Text(text)) => text,
            _ => "",
        }
    }

    fn pair(&self, key: &'static str) -> [&str; 2] {
        match self.given.get(key) {
            Some(Given::Pair(pair)) => pair.each_ref().map(String::as_str),
            _ => [""; 2],
        }
    }

    fn wrong(&self, key: &'static str, reason: String) -> Fault {
        Fault::invalid(reason).under(key)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = WireGenerator;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table such as { uniform = [1, \"rows\"] }")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireGenerator, A::Error> {
        let mut given = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let Some((name, shape)) = KEYS.get_key_value(name.as_str()) else {
                return Err(de::Error::unknown_field(&name, &NAMES));
            };
            let value = match shape {
                Shape::Integer => Given::Integer(map.next_value()?),
                Shape::Interval => Given::Interval(map.next_value()?),
                Shape::Real => Given::Real(map.next_value()?),
                Shape::Text => Given::Text(map.next_value()?),
                Shape::Pair => Given::Pair(map.next_value()?),
                Shape::Texts => Given::Texts(map.next_value()?),
                Shape::Flag => Given::Flag(map.next_value()?),
            };
            given.insert(*name, value);
        }
        Ok(WireGenerator(given))
    }
}

impl<'de> Deserialize<'de> for WireGenerator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}
