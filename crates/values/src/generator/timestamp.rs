//! Moments between two.

use super::{Bytes, Generate, Key, Keys, Sampler, Shape, Texts};
use crate::{Random, civil::Civil};
use serde::{Deserialize, Serialize};
use std::{io::Write, sync::Arc};

/// Moments between two, both included, as `YYYY-MM-DD HH:MM:SS`, UTC.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timestamp {
    /// Earliest, seconds since 1970; the time at which drawing begins if absent.
    pub low: Option<u64>,
    /// Latest, in the same way.
    pub high: Option<u64>,
}

/// Bytes of a moment as text.
const LENGTH: usize = 19;
/// The last second of the year 9999: later ones are longer.
const LAST: u64 = 253_402_300_799;
/// Bytes of a moment as servers store it.
const STORED: f64 = 8.0;
/// Characters of a wrong date that a message shows.
const SHOWN: usize = 40;

impl Generate for Timestamp {
    const KEYS: &'static [Key] = &[Key::new("timestamp", Shape::Pair)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        let moment = |text: &str| match (text, Civil::parse(text)) {
            ("now", _) => Ok(None),
            (_, Some(moment)) => Ok(Some(moment.seconds())),
            (_, None) => {
                let shown: String = text.chars().take(SHOWN).collect();
                let reason = format!(
                    "`{}` is not a date such as 2026-01-31 or 2026-01-31 23:59:59, from 1970 to \
                     9999",
                    shown.escape_debug()
                );
                Err(keys.wrong("timestamp", reason))
            }
        };
        let [low, high] = keys.pair("timestamp").map(moment);
        let (low, high) = (low?, high?);
        if low.zip(high).is_some_and(|(low, high)| high < low) {
            let reason = "the first date must not be after the second".to_owned();
            return Err(keys.wrong("timestamp", reason));
        }
        Ok(Self { low, high })
    }

    fn bytes(&self) -> Bytes {
        Bytes { mean: STORED, most: LENGTH as u64 }
    }

    fn sampler(&self, now: u64) -> Sampler {
        let low = self.low.unwrap_or(now).min(LAST);
        // A time of the load before the earliest moment is that moment.
        let high = self.high.unwrap_or(now).clamp(low, LAST);
        Sampler::Texts(Arc::new(Moments { low, span: high - low + 1 }))
    }
}

/// Moments from `low` on.
#[derive(Debug)]
struct Moments {
    low: u64,
    /// Number of seconds.
    span: u64,
}

impl Texts for Moments {
    fn length_max(&self) -> usize {
        LENGTH
    }

    fn draw(&self, random: &mut Random, text: &mut Vec<u8>) {
        let moment = Civil::of(self.low + random.below(self.span));
        // Writing to memory cannot fail.
        let _ = write!(text, "{moment}");
    }
}
