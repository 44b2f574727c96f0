//! A fixed text.

use super::{Bytes, CompiledTemplate, Generate, Key, Keys, Sampler, Shape};
use serde::{Deserialize, Serialize};

/// A fixed text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    /// The value.
    pub value: String,
}

impl Generate for Text {
    const KEYS: &'static [Key] = &[Key::new("text", Shape::Text)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        Ok(Self { value: keys.text("text").to_owned() })
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_text(&self.value)
    }

    fn sampler(&self, _: u64) -> Sampler {
        Sampler::Template(CompiledTemplate::fixed(&self.value))
    }
}
