//! Whole numbers as TOML may write them: `1000`, `1_000`, `1e6`, `"10k"`, `"1M"`.

use crate::too_large::TOO_LARGE;
use model::{Parameters, number};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::{collections::BTreeMap, fmt, marker::PhantomData};

/// A whole number within the limits of `T`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Whole<T>(pub(crate) T);

struct WholeVisitor<T>(PhantomData<T>);

/// What is expected where a number is too large for `T`.
struct AtMost<T>(PhantomData<T>);

impl<T: TryFrom<i64>> de::Expected for AtMost<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits = [i64::MAX, u32::MAX.into(), i32::MAX.into(), u16::MAX.into()];
        let most = limits.into_iter().find(|most| T::try_from(*most).is_ok());
        write!(f, "{TOO_LARGE}{}", most.unwrap_or(u8::MAX.into()))
    }
}

/// Whether `text` is a number beyond 64 bits.
fn is_too_large(text: &str) -> bool {
    let text = text.trim().replace('_', "");
    let number = text.trim_end_matches(['k', 'K', 'M', 'G']);
    let is_written = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+');
    let parsed = number.chars().all(is_written).then(|| number.parse::<f64>().ok()).flatten();
    let scale = match text.get(number.len()..) {
        Some("") => Some(1.0),
        Some("k" | "K") => Some(1e3),
        Some("M") => Some(1e6),
        Some("G") => Some(1e9),
        _ => None,
    };
    parsed.zip(scale).is_some_and(|(number, scale)| number * scale >= i64::MAX as f64)
}

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
        let found = de::Unexpected::Signed(value);
        T::try_from(value).map(Whole).map_err(|_| match value {
            0.. => E::invalid_value(found, &AtMost::<T>(PhantomData)),
            _ => E::invalid_value(found, &self),
        })
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Whole<T>, E> {
        match i64::try_from(value) {
            Ok(value) => self.visit_i64(value),
            Err(_) => {
                let found = de::Unexpected::Unsigned(value);
                Err(E::invalid_value(found, &AtMost::<T>(PhantomData)))
            }
        }
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Whole<T>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Whole<T>, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Whole<T>, E> {
        match of_float(value) {
            Some(whole) => self.visit_i64(whole),
            None if value.is_finite() && value >= i64::MAX as f64 => {
                let found = de::Unexpected::Float(value);
                Err(E::invalid_value(found, &AtMost::<T>(PhantomData)))
            }
            None => Err(E::invalid_value(de::Unexpected::Float(value), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Whole<T>, E> {
        match number::whole(value) {
            Some(whole) => self.visit_i64(whole),
            None if is_too_large(value) => {
                let found = de::Unexpected::Str(value);
                Err(E::invalid_value(found, &AtMost::<T>(PhantomData)))
            }
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
