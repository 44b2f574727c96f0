//! The seam of generators: what draws a value from chance alone, for an argument, a named draw or a
//! loaded column.

mod filler;
mod integer;
mod keys;
mod template;
mod text;
mod timestamp;
mod uniform;
mod zipf;

use crate::Random;
pub use filler::{BRIEF, CompiledFiller, Filler, Letters};
pub use integer::Integer;
pub use keys::{Key, Keys, Shape};
use serde::{Deserialize, Serialize};
use std::{fmt::Debug, sync::Arc};
pub use template::{CompiledTemplate, Template};
pub use text::Text;
pub use timestamp::Timestamp;
pub use uniform::Uniform;
pub use zipf::{Ranks, Zipf};

/// Everything that is known of a generator.
pub trait Generate: Sized {
    /// The key that names it in a file, and then those that say more about it, all of which may be
    /// left out.
    const KEYS: &'static [Key];

    /// Reads and checks its numbers: what is returned can draw.
    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault>;

    /// Bytes of its values.
    fn bytes(&self) -> Bytes;

    /// The same, ready to draw. `now` is the time, seconds since 1970. Never panics, whatever its
    /// numbers are.
    fn sampler(&self, now: u64) -> Sampler;
}

/// Length of values, bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bytes {
    /// As engines store them, on average.
    pub mean: f64,
    /// As text, at most; 8 of integers.
    pub most: u64,
}

impl Bytes {
    /// Of integers from `low` to `high`: 4 where all fit in 32 bits.
    pub fn of_integers(low: i64, high: i64) -> Self {
        let fit = [low, high].into_iter().all(|value| i32::try_from(value).is_ok());
        Self { mean: if fit { 4.0 } else { 8.0 }, most: 8 }
    }

    /// Of texts that all have the same length.
    pub fn of_text(text: &str) -> Self {
        Self { mean: text.len() as f64, most: text.len() as u64 }
    }
}

/// A generator that is ready to draw. The load engine has a way of its own for each of the first
/// four, which the published workloads are made of; any other draws through a trait.
#[derive(Debug, Clone)]
pub enum Sampler {
    /// Always the same integer.
    Fixed(i64),
    /// Uniform in `[low, low + span)`; `span` 0 stands for 2^64.
    Uniform {
        /// Least value.
        low: i64,
        /// Number of values.
        span: u64,
    },
    /// Texts of one length with random characters at some places.
    Template(CompiledTemplate),
    /// Texts of random length that a compressor can shorten by a chosen share only.
    Filler(CompiledFiller),
    /// Any other integers.
    Integers(Arc<dyn Integers>),
    /// Any other texts.
    Texts(Arc<dyn Texts>),
}

/// Draws integers.
pub trait Integers: Debug + Send + Sync {
    /// The next one.
    fn draw(&self, random: &mut Random) -> i64;
}

/// Draws texts of ASCII without quote and backslash.
pub trait Texts: Debug + Send + Sync {
    /// Length of the longest, bytes.
    fn length_max(&self) -> usize;

    /// Appends the next one to `text`.
    fn draw(&self, random: &mut Random, text: &mut Vec<u8>);
}

/// Makes the enum of all generators from their table.
macro_rules! generators {
    ($($name:ident),* $(,)?) => {
        /// Where a value comes from that depends on chance alone.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Generator {
            $(#[doc = concat!("See [`", stringify!($name), "`].")] $name($name),)*
        }

        $(impl From<$name> for Generator {
            fn from(one: $name) -> Self {
                Self::$name(one)
            }
        })*

        impl Generator {
            /// Keys of all generators.
            pub const KEYS: &'static [&'static [Key]] = &[$($name::KEYS),*];

            /// Reads the generator that is named `kind`; none if there is none.
            pub fn read<K: Keys>(kind: &str, keys: &K) -> Option<Result<Self, K::Fault>> {
                $(if kind == $name::KEYS[0].name {
                    return Some($name::read(keys).map(Self::$name));
                })*
                None
            }

            /// Bytes of its values.
            pub fn bytes(&self) -> Bytes {
                match self {
                    $(Self::$name(one) => one.bytes(),)*
                }
            }

            /// The same, ready to draw; see [`Generate::sampler`].
            pub fn sampler(&self, now: u64) -> Sampler {
                match self {
                    $(Self::$name(one) => one.sampler(now),)*
                }
            }
        }
    };
}

// In the order in which messages list them.
generators!(Uniform, Zipf, Template, Integer, Text, Timestamp, Filler);

#[cfg(test)]
mod tests;
