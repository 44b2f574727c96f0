//! From which change on a metric matters, and which changes a run has to decide.

use crate::metric::{Kind, Metric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a verdict is about.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Rates and latencies.
    Time,
    /// CPU time and cycles of the server.
    Cpu,
    /// Instructions of the server.
    Instructions,
}

impl Quantity {
    /// All of them, in the order of texts.
    pub const ALL: [Self; 3] = [Self::Time, Self::Cpu, Self::Instructions];

    /// What a metric is one of. None for metrics that explain others or are none of the server's:
    /// of those nothing is claimed. Nor of largest values, which single accidents make.
    pub fn of(metric: &Metric) -> Option<Self> {
        match metric.kind {
            Kind::Rate | Kind::Time => Some(Self::Time),
            kind if kind.is_instructions() && metric.part.is_server() => Some(Self::Instructions),
            Kind::Cycles | Kind::CpuTime if metric.part.is_server() => Some(Self::Cpu),
            _ => None,
        }
    }

    /// Its word in an experiment.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Cpu => "cpu",
            Self::Instructions => "instructions",
        }
    }

    /// The ratio from which on a change matters, and its reciprocal downwards, where nobody says
    /// another one.
    pub const fn margin(self) -> f64 {
        match self {
            Self::Time => 1.05,
            Self::Cpu => 1.02,
            Self::Instructions => 1.005,
        }
    }

    /// The ratio up to which a difference is none: what loading the data once more, or linking the
    /// same code in another order, may do.
    pub const fn floor(self) -> f64 {
        match self {
            Self::Time => 1.01,
            Self::Cpu => 1.005,
            Self::Instructions => 1.001,
        }
    }
}

/// Which quantities have to be decided, and the margins of them that are not the usual ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Margins {
    /// Ratios above 1; empty if all quantities have to be decided with their usual margins.
    pub asked: BTreeMap<Quantity, f64>,
}

/// A margin in percent, in hundredths, which are the finest that an experiment gives.
pub fn percent(margin: f64) -> f64 {
    ((margin - 1.0) * 1e4).round() / 100.0
}

impl Margins {
    /// The ratio from which on a change of a metric matters; none if nothing is claimed of it.
    pub fn of(&self, metric: &Metric) -> Option<f64> {
        Quantity::of(metric).map(|quantity| self.margin(quantity))
    }

    /// The same of a quantity.
    pub fn margin(&self, quantity: Quantity) -> f64 {
        self.asked.get(&quantity).copied().unwrap_or(quantity.margin())
    }

    /// Whether a run has to decide changes of a metric.
    pub fn awaits(&self, metric: &Metric) -> bool {
        let is_asked = |quantity| self.asked.is_empty() || self.asked.contains_key(&quantity);
        metric.family.is_some() && Quantity::of(metric).is_some_and(is_asked)
    }

    /// Whether instructions are all that a run has to decide: they are the same on a busy host.
    pub fn instructions_alone(&self) -> bool {
        self.asked.keys().eq([&Quantity::Instructions])
    }

    /// Quantities that were asked for, with their margins: `time 10 %, cpu 5 %`.
    pub fn words(&self) -> String {
        let word = |(quantity, margin): (&Quantity, &f64)| {
            format!("{} {} %", quantity.name(), percent(*margin))
        };
        self.asked.iter().map(word).collect::<Vec<_>>().join(", ")
    }

    /// Whether these are the usual ones of all quantities.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_alone_only_where_nothing_else_is_asked_for() {
        let alone = |quantities: &[Quantity]| {
            let asked = quantities.iter().map(|quantity| (*quantity, 1.02)).collect();
            Margins { asked }.instructions_alone()
        };
        assert!(alone(&[Quantity::Instructions]));
        assert!(!alone(&[]) && !alone(&[Quantity::Cpu]));
        assert!(!alone(&[Quantity::Instructions, Quantity::Time]));
    }
}
