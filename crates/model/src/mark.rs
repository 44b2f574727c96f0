//! Marks: notes on a value that limit what it shows, and the one place that words them.

use crate::shared::Name;
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// Neither instructions nor cycles could be counted by the processor.
pub const NO_HARDWARE: &str = "no hardware counters: neither instructions nor cycles";

/// The same where user instructions were counted under emulation.
pub const NO_HARDWARE_BUT_EMULATED: &str =
    "no hardware counters: neither kernel instructions nor cycles";

/// User instructions are those of operations on a server under emulation, outside the slices.
pub const EMULATED: &str = "user instructions counted under emulation";

/// The same in a phase of several clients: what they cost by waiting for each other is not in it.
pub const EMULATED_ALONE: &str = "user instructions counted under emulation, on one connection";

/// The engine is embedded: it shares the driver's process, so its cost is that of the driver minus
/// that of the null client.
pub const EMBEDDED: &str = "client overhead subtracted";

/// [`EMBEDDED`] in records of earlier versions of dbdyno.
pub const EMBEDDED_EARLIER: &str = "driver less null client";

/// The counters ran on well after the work had ended, because the run was stopped or starved.
pub const STOPPED: &str = "the run was stopped or starved while its counters ran";

/// Rates and times are without wake-ups across processors.
pub const PAIRED: &str = "each client shared a processor with the task that served it";

/// Clients and the tasks that serve them do not work on the processors that the plan says.
pub const NOT_PLACED: &str = "client and server could not be put on one processor";

/// How the words of a missed rate begin.
pub const SLA_MISSED: &str = "SLA missed";

/// A note on a value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Mark {
    /// One of the texts above, or any other: a probe, the runner or an archive gave it.
    Note(Name),
    /// Set rates were missed: rates of this value compare with nothing.
    Missed(Arc<[Miss]>),
}

/// A set rate that was missed, as one rule says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Miss {
    /// Name of the rule.
    pub rule: Name,
    /// Why.
    pub why: Why,
}

/// Why a rule says what it says of a set rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Rows were inserted at this rate.
    Inserted(Rate),
    /// Operations were completed at this rate, of one role if it has a name.
    Completed {
        /// The rate.
        rate: Rate,
        /// Name of the role, or empty.
        role: Name,
    },
    /// The figures that were out of bounds, or all if none was.
    Figures(Vec<Figure>),
    /// No target rate or no insert rate is known.
    NoRate,
    /// No series of seconds was recorded.
    NoSeconds,
    /// No lag was recorded.
    NoLag,
}

/// A rate beside what was asked for [1/s].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// What was reached.
    pub reached: f64,
    /// What was set.
    pub target: f64,
    /// What is enough.
    pub needed: f64,
}

/// A quantity of a rule with its bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub quantity: Quantity,
    /// Value.
    pub value: f64,
    /// The bound that it has to keep, in the same unit; the bound itself is allowed.
    pub bound: f64,
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Rows inserted per second.
    Inserted,
    /// Rows deleted per second.
    Deleted,
    /// Operations completed per second.
    Completed,
    /// Share of the seconds on target.
    SecondsOnTarget,
    /// Largest lag of a statement behind its intended start [us], which has to be below its bound.
    Lag,
}

impl Figure {
    /// How many times better than its bound it is: below 1 it is out of bounds.
    pub fn margin(&self) -> f64 {
        match self.quantity {
            // Nothing late at all is as good as can be.
            Quantity::Lag => self.bound / self.value,
            _ => self.value / self.bound,
        }
    }
}

impl From<&str> for Mark {
    fn from(text: &str) -> Self {
        Self::Note(text.into())
    }
}

impl PartialEq<&str> for Mark {
    fn eq(&self, text: &&str) -> bool {
        matches!(self, Self::Note(note) if note == text)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let misses = match self {
            Self::Note(text) => return text.fmt(f),
            Self::Missed(misses) => misses,
        };
        write!(f, "{SLA_MISSED}: ")?;
        for (index, Miss { rule, why }) in misses.iter().enumerate() {
            let gap = if index == 0 { "" } else { "; " };
            write!(f, "{gap}{rule} rule: {why}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inserted(Rate { reached, target, needed }) => {
                write!(f, "{reached} of {target} rows/s inserted, {needed} sustain it")
            }
            Self::Completed { rate, role } => {
                let Rate { reached, target, needed } = rate;
                let (reached, target) = (digits(*reached), digits(*target));
                let whose =
                    if role.is_empty() { String::new() } else { format!(" of role `{role}`") };
                let needed = digits(*needed);
                write!(
                    f,
                    "{reached} of {target} operations/s{whose} completed, {needed} are needed"
                )
            }
            Self::Figures(figures) => {
                let texts: Vec<String> = figures.iter().map(Figure::to_string).collect();
                f.write_str(&texts.join(", "))
            }
            Self::NoRate => f.write_str("no target rate or no insert rate is known"),
            Self::NoSeconds => f.write_str("no series of seconds was recorded"),
            Self::NoLag => f.write_str("no lag was recorded"),
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quantity, value, bound } = self;
        let name = match quantity {
            Quantity::Inserted => "inserted rows per second",
            Quantity::Deleted => "deleted rows per second",
            Quantity::Completed => "operations per second",
            Quantity::SecondsOnTarget => "share of seconds on target",
            Quantity::Lag => {
                let (value, bound) = (value / 1e6, bound / 1e6);
                return write!(f, "largest lag {value:.2} s where {bound:.0} s is allowed");
            }
        };
        let decimals = if *quantity == Quantity::SecondsOnTarget { 3 } else { 1 };
        write!(f, "{name} {value:.decimals$} where {bound} is needed")
    }
}

/// As many digits as show a miss.
fn digits(value: f64) -> String {
    let decimals = match value {
        1000.0.. => return format!("{value:.0}"),
        10.0.. => 1,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_tells_what_each_rule_said() {
        let rate = |reached| Rate { reached, target: 4000.0, needed: 3800.0 };
        let lag = Figure { quantity: Quantity::Lag, value: 2e6, bound: 1e6 };
        let misses = [
            Miss { rule: "published".into(), why: Why::Inserted(rate(2940.0)) },
            Miss { rule: "strict".into(), why: Why::Figures(vec![lag]) },
        ];
        let mark = Mark::Missed(misses.into());
        let words = "SLA missed: published rule: 2940 of 4000 rows/s inserted, 3800 sustain it; \
                     strict rule: largest lag 2.00 s where 1 s is allowed";
        assert_eq!(mark.to_string(), words);
        let json = serde_json::to_string(&[mark.clone(), "not calm, strict rule: x".into()]);
        let read: Vec<Mark> = serde_json::from_str(&json.unwrap()).unwrap();
        assert_eq!(read, [mark, Mark::Note("not calm, strict rule: x".into())]);
    }

    #[test]
    fn marks_of_earlier_records_are_texts() {
        let read: Mark = serde_json::from_str("\"driver less null client\"").unwrap();
        assert_eq!(read, Mark::from(EMBEDDED_EARLIER));
        assert_eq!(serde_json::to_string(&read).unwrap(), "\"driver less null client\"");
    }
}
