//! Whole numbers as TOML may write them: `1000`, `1_000`, `1e6`, `"10k"`, `"1M"`.

use model::{Parameters, number};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::{collections::BTreeMap, fmt, marker::PhantomData};

/// A whole number within the limits of `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole<T>(pub(crate) T);

struct WholeVisitor<T>(PhantomData<T>);

/// The whole number that a float is, if it is one that floats hold exactly.
pub(crate) fn of_float(value: f64) -> Option<i64> {
    let exact = value.fract() == 0.0 && value.abs() <= (1_i64 << 53) as f64;
    // Checked on the line above: the conversion neither truncates nor saturates.
    exact.then_some(value as i64).or_else(|| number::whole(&value.to_string()))
}

impl<T: TryFrom<i64>> Visitor<'_> for WholeVisitor<T> {
    type Value = Whole<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signed = T::try_from(-1).is_ok();
        let least = if signed { "" } else { " that is not negative" };
        write!(f, "a whole number{least}, such as 1000, \"10k\" or \"1M\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Whole<T>, E> {
        let wrong = |_| E::invalid_value(de::Unexpected::Signed(value), &self);
        T::try_from(value).map(Whole).map_err(wrong)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Whole<T>, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => Err(E::invalid_value(de::Unexpected::Unsigned(value), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Whole<T>, E> {
        match of_float(value) {
            Some(whole) => self.visit_i64(whole),
            None => Err(E::invalid_value(de::Unexpected::Float(value), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Whole<T>, E> {
        match number::whole(value) {
            Some(whole) => self.visit_i64(whole),
            None => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
        }
    }
}

impl<'de, T: TryFrom<i64>> Deserialize<'de> for Whole<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WholeVisitor(PhantomData))
    }
}

/// `[parameters]`: names with whole numbers.
pub(crate) fn parameters<'de, D: Deserializer<'de>>(from: D) -> Result<Parameters, D::Error> {
    let parameters = BTreeMap::<String, Whole<i64>>::deserialize(from)?;
    Ok(parameters.into_iter().map(|(name, value)| (name, value.0)).collect())
}

struct AmountVisitor;

impl Visitor<'_> for AmountVisitor {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, such as 0.5, 1000 or \"10k\"")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<f64, E> {
        let whole = number::whole(value).map(|whole| whole as f64);
        whole.ok_or_else(|| E::invalid_value(de::Unexpected::Str(value), &self))
    }
}

/// A number that need not be whole.
pub(crate) fn amount<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    from.deserialize_any(AmountVisitor)
}
