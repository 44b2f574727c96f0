//! Uniform integers.

use super::{Bytes, Generate, Key, Keys, Sampler, Shape};
use serde::{Deserialize, Serialize};

/// Uniform integers in `[low, high]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uniform {
    /// Least value.
    pub low: i64,
    /// Greatest value, inclusive.
    pub high: i64,
}

impl Generate for Uniform {
    const KEYS: &'static [Key] = &[Key::new("uniform", Shape::Interval)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        let [low, high] = keys.interval("uniform", i64::MIN..=i64::MAX)?;
        Ok(Self { low, high })
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_integers(self.low, self.high)
    }

    fn sampler(&self, _: u64) -> Sampler {
        let span = (self.high.wrapping_sub(self.low) as u64).wrapping_add(1);
        Sampler::Uniform { low: self.low, span }
    }
}
