//! What speaks for a reason of a change: the costs per operation that moved.

use crate::{Cell, PhaseResult};
use model::metric::Metric;

/// What is known of one subject in one phase.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    phase: &'a PhaseResult,
    subject: &'a str,
    effect: f64,
}

/// One cost with the base's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// The cost.
    pub metric: &'static Metric,
    /// The base's value in the metric's unit.
    pub base: f64,
    /// The subject's value.
    pub value: f64,
    /// Value relative to the base.
    pub ratio: f64,
}

/// One reason, with what speaks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Name of the rule.
    pub rule: &'static str,
    /// One sentence.
    pub sentence: String,
    /// The costs that moved, the largest move first.
    pub evidence: Vec<Moved>,
    /// How far the largest cost moved: the logarithm of its ratio.
    pub strength: f64,
}

impl<'a> Evidence<'a> {
    /// That of a cell which has the ratio that is to be explained.
    pub(crate) fn of(phase: &'a PhaseResult, cell: &'a Cell) -> Option<Self> {
        Some(Self { phase, subject: &cell.subject, effect: cell.ratio? })
    }

    /// A cost and its base's, where both are known and the base's is above zero.
    pub fn cost(&self, metric: &str) -> Option<Moved> {
        let cell = self.phase.cell(self.subject, metric)?;
        let (base, value, ratio) = (cell.base_value?, cell.value?, cell.ratio?);
        (base > 0.0).then_some(Moved { metric: cell.metric, base, value, ratio })
    }

    /// Those of `metrics` that moved by `margin` or more in the direction that explains the
    /// effect: up where throughput fell, down where it rose. The largest move first.
    pub fn moved_with_effect(&self, metrics: &[&str], margin: f64) -> Vec<Moved> {
        let explains = |cost: &Moved| match self.effect < 1.0 {
            true => cost.ratio >= margin,
            false => cost.ratio <= 1.0 / margin,
        };
        let costs = metrics.iter().filter_map(|metric| self.cost(metric));
        let mut found: Vec<Moved> = costs.filter(explains).collect();
        found.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
        found
    }

    /// `more` where costs rose and `less` where they fell.
    pub fn word<'w>(&self, more: &'w str, less: &'w str) -> &'w str {
        if self.effect < 1.0 { more } else { less }
    }
}

/// How far a cost moved: the logarithm of its ratio.
pub(crate) fn strength(cost: &Moved) -> f64 {
    // A cost that vanished moved further than any other.
    if cost.ratio > 0.0 { cost.ratio.ln().abs() } else { f64::INFINITY }
}
