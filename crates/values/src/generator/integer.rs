//! A fixed integer.

use super::{Bytes, Generate, Key, Keys, Sampler, Shape};
use serde::{Deserialize, Serialize};

/// A fixed integer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Integer {
    /// The value.
    pub value: i64,
}

impl Generate for Integer {
    const KEYS: &'static [Key] = &[Key::new("integer", Shape::Integer)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        let value = keys.integer("integer", i64::MIN..=i64::MAX)?;
        Ok(Self { value: value.unwrap_or_default() })
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_integers(self.value, self.value)
    }

    fn sampler(&self, _: u64) -> Sampler {
        Sampler::Fixed(self.value)
    }
}
