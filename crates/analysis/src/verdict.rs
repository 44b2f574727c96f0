//! What follows from a cell: decided for all phases of a metric together, because of many
//! comparisons some look changed by chance.

use crate::{
    compare::{Cell, PhaseResult},
    interval::Sample,
};
use model::{
    metric::{Better, Metric},
    shared::Name,
};
use std::collections::BTreeMap;

/// What follows from a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The subject is a base.
    Base,
    /// A slice failed or is missing: nothing can be said.
    Invalid,
    /// One block: nothing can be said about repetition.
    Unreplicated,
    /// Several blocks, and nothing is claimed: the metric only explains others, or a value is zero.
    Unassessed,
    /// Worse by more than the metric's margin.
    Regression,
    /// More instructions per operation by more than their margin, whether or not time changed.
    CodeCost,
    /// Better by more than the metric's margin.
    Improvement,
    /// Within the metric's margin.
    Equivalent,
    /// These blocks show neither a change nor equivalence.
    Inconclusive,
}

impl Verdict {
    /// The word that scripts rely on.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Invalid => "invalid",
            Self::Unreplicated => "unreplicated",
            Self::Unassessed => "unassessed",
            Self::Regression => "regression",
            Self::CodeCost => "code_cost",
            Self::Improvement => "improvement",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Chance that any phase of a variant is called changed in a metric though none changed by more
/// than the margin; and chance that a phase is called equivalent though it is not.
pub const ERROR_RATE: f64 = 0.05;

/// Parts of the server that costs belong to.
const SERVER: [&str; 4] = ["server_", "foreground_", "background_", "lead_"];

/// The ratio from which on a change of this metric matters, and its reciprocal downwards. None for
/// metrics that explain others or are none of the server's: of those nothing is claimed. Nor of
/// largest values, which single accidents make.
pub fn margin(metric: &Metric) -> Option<f64> {
    let name = &metric.name.replace("_per_effective_op", "_per_op");
    let costs = SERVER.iter().any(|part| name.starts_with(part));
    let times = ["latency_us_p", "response_us_p"].iter().any(|part| name.starts_with(part));
    match metric.better {
        Better::Neither => None,
        Better::Higher => name.contains("_per_second").then_some(1.03),
        Better::Lower if costs && name.ends_with("_instructions_per_op") => Some(1.005),
        Better::Lower if costs && name.ends_with("_cycles_per_op") => Some(1.02),
        Better::Lower if costs && name.ends_with("_cpu_us_per_op") => Some(1.02),
        Better::Lower => times.then_some(1.05),
    }
}

/// Gives the cells of several blocks their verdicts.
///
/// - Changed: a paired t test over blocks against the margin, two-sided, corrected by Holm's method
///   over the phases of the same variant and metric.
/// - Equivalent: two one-sided tests against the margins (Schuirmann), each at [`ERROR_RATE`].
///   Calling all phases equivalent needs all of them to pass, so no correction is due.
/// - Otherwise inconclusive; that nothing was found is never said to mean that nothing changed.
pub(crate) fn decide(phases: &mut [PhaseResult]) {
    let mut families: BTreeMap<(&'static str, Name), Vec<Case<'_>>> = BTreeMap::new();
    let cells = phases.iter_mut().flat_map(|phase| &mut phase.cells);
    for cell in cells.filter(|cell| cell.verdict == Verdict::Unassessed) {
        let key = (cell.metric.name, cell.subject.clone());
        families.entry(key).or_default().extend(Case::of(cell));
    }
    families.into_values().for_each(holm);
}

/// Most blocks that are asked of anybody.
pub const MOST_BLOCKS: u32 = 64;

/// Blocks that would decide an inconclusive cell, if further ones repeated its mean and its spread,
/// and it were the clearest of `phases` phases, whose share of the error rate is the least. It is a
/// guess, from two or three blocks a rough one. None for other cells, and where [`MOST_BLOCKS`]
/// would not do.
pub fn blocks_to_decide(cell: &Cell, phases: usize) -> Option<u32> {
    if cell.verdict != Verdict::Inconclusive {
        return None;
    }
    let gain = Gain::of(cell)?;
    let decides = |blocks: &u32| {
        gain.with(*blocks).is_some_and(|gain| {
            gain.chance_of_none() <= ERROR_RATE
                || gain.chance_of_change() <= ERROR_RATE / phases.max(1) as f64
        })
    };
    (cell.blocks + 1..=MOST_BLOCKS).find(decides)
}

/// What a cell gained, beside what would matter.
#[derive(Clone, Copy)]
struct Gain {
    /// Logarithms of ratios; above zero is better.
    sample: Sample,
    /// Logarithm of the margin.
    margin: f64,
}

impl Gain {
    fn of(cell: &Cell) -> Option<Self> {
        Self::new(cell.metric, Sample::of(&cell.block_ratios)?)
    }

    /// None for a metric without a margin.
    fn new(metric: &Metric, sample: Sample) -> Option<Self> {
        let margin = margin(metric)?.ln();
        let sample = if metric.better == Better::Lower { sample.turned() } else { sample };
        Some(Self { sample, margin })
    }

    fn changed(&self, metric: &Metric) -> Verdict {
        match self.sample.mean > 0.0 {
            true => Verdict::Improvement,
            false if metric.name.ends_with("instructions_per_op") => Verdict::CodeCost,
            false => Verdict::Regression,
        }
    }

    fn unchanged(&self) -> Verdict {
        match self.chance_of_none() <= ERROR_RATE {
            true => Verdict::Equivalent,
            false => Verdict::Inconclusive,
        }
    }

    fn with(self, blocks: u32) -> Option<Self> {
        Some(Self { sample: self.sample.with(blocks)?, ..self })
    }

    /// p value of a change beyond the margin, either way.
    fn chance_of_change(&self) -> f64 {
        let above = self.sample.chance_above(self.margin);
        (2.0 * above.min(self.sample.chance_below(-self.margin))).min(1.0)
    }

    /// p value of no change beyond the margin: that of the worse side.
    fn chance_of_none(&self) -> f64 {
        self.sample.chance_below(self.margin).max(self.sample.chance_above(-self.margin))
    }
}

/// The p value of a change beyond the metric's margin, and the verdict, for one sample alone.
pub(crate) fn judge(metric: &Metric, sample: Sample) -> (Option<f64>, Verdict) {
    let Some(gain) = Gain::new(metric, sample) else { return (None, Verdict::Unassessed) };
    let chance = gain.chance_of_change();
    let changed = chance <= ERROR_RATE;
    (Some(chance), if changed { gain.changed(metric) } else { gain.unchanged() })
}

/// A cell that can be decided.
struct Case<'a> {
    cell: &'a mut Cell,
    gain: Gain,
    /// p value of a change beyond the margin.
    chance: f64,
}

impl<'a> Case<'a> {
    fn of(cell: &'a mut Cell) -> Option<Self> {
        if cell.verdict != Verdict::Unassessed || cell.block_ratios.len() != cell.blocks as usize {
            return None;
        }
        let gain = Gain::of(cell)?;
        Some(Self { cell, gain, chance: gain.chance_of_change() })
    }
}

/// From the smallest p value on, each against the error rate shared among those that are left.
fn holm(mut family: Vec<Case<'_>>) {
    family.sort_by(|one, other| one.chance.total_cmp(&other.chance));
    let mut rejecting = true;
    let count = family.len();
    for (index, case) in family.iter_mut().enumerate() {
        rejecting = rejecting && case.chance <= ERROR_RATE / (count - index) as f64;
        case.cell.verdict =
            if rejecting { case.gain.changed(case.cell.metric) } else { case.gain.unchanged() };
    }
}

#[cfg(test)]
mod tests;
