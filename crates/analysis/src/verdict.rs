//! What follows from a cell: decided for all phases of a metric together, because of many
//! comparisons some look changed by chance.

use crate::{
    compare::{Cell, PhaseResult},
    interval::{CONFIDENCE, Sample},
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
    /// Worse; whether by more than the margin is open.
    Worse,
    /// Better; whether by more than the margin is open.
    Better,
    /// Changed, and within the margin.
    SmallChange,
    /// Within the metric's margin.
    Equivalent,
    /// These blocks show neither a change nor equivalence.
    Inconclusive,
}

impl Verdict {
    /// Whether it is more than that nothing was repeated or assessed.
    pub fn is_assessed(self) -> bool {
        use Verdict::{Base, Invalid, Unassessed, Unreplicated};
        !matches!(self, Base | Invalid | Unreplicated | Unassessed)
    }

    /// Whether a change or equivalence is shown, so that no more blocks are needed for it.
    pub fn is_decided(self) -> bool {
        use Verdict::{CodeCost, Equivalent, Improvement, Regression, SmallChange};
        matches!(self, CodeCost | Equivalent | Improvement | Regression | SmallChange)
    }

    /// Whether a change is shown, of whatever size.
    pub fn is_change(self) -> bool {
        use Verdict::{Better, CodeCost, Improvement, Regression, SmallChange, Worse};
        matches!(self, Better | CodeCost | Improvement | Regression | SmallChange | Worse)
    }

    /// Whether something became worse by more than the margin.
    pub fn is_worse(self) -> bool {
        matches!(self, Self::Regression | Self::CodeCost)
    }

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
            Self::Worse => "worse",
            Self::Better => "better",
            Self::SmallChange => "small_change",
            Self::Equivalent => "equivalent",
            Self::Inconclusive => "inconclusive",
        }
    }
}

/// Chance that any phase of a variant is called changed in a metric though none changed by more
/// than the metric's floor; and chance that a phase is called equivalent though it is not.
pub const ERROR_RATE: f64 = 0.05;

/// Fewest blocks that decide: two or three starts of a server say too little of how starts differ.
pub const FEWEST_BLOCKS: u32 = 4;

/// Chance with which a change is found that is called detectable, and with which the blocks that
/// are asked for decide.
const POWER: f64 = 0.9;

/// Gives the cells of several blocks their verdicts.
///
/// - Changed: a paired t test over blocks against the metric's floor, two-sided, corrected by
///   Holm's method over the phases of the same variant and metric. Whether it is larger than the
///   margin, its interval of [`CONFIDENCE`] says.
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

/// Blocks that would decide an undecided cell nine times in ten, if further ones repeated its mean
/// and its spread, and it were the clearest of `phases` phases, whose share of the error rate is
/// the least. It is a guess, from few blocks a rough one. None for other cells, and where
/// [`MOST_BLOCKS`] would not do.
pub fn blocks_to_decide(cell: &Cell, phases: usize) -> Option<u32> {
    if !is_open(cell) {
        return None;
    }
    let claim = Claim::of(cell)?;
    let decides = |blocks: &u32| claim.with(*blocks).is_some_and(|claim| claim.decides(phases));
    (FEWEST_BLOCKS.max(cell.blocks + 1)..=MOST_BLOCKS).find(decides)
}

/// The least change, as a ratio above 1, that the blocks of an undecided cell would have shown nine
/// times in ten, as the clearest of `phases` phases. None for other cells.
pub fn detectable(cell: &Cell, phases: usize) -> Option<f64> {
    let claim = Claim::of(cell).filter(|_| is_open(cell))?;
    Some(claim.detectable(phases).exp()).filter(|_| cell.blocks >= FEWEST_BLOCKS)
}

fn is_open(cell: &Cell) -> bool {
    cell.verdict.is_assessed() && !cell.verdict.is_decided()
}

/// What a cell gained, beside what would matter. All are logarithms of ratios.
#[derive(Clone, Copy)]
struct Claim {
    /// Above zero is better.
    sample: Sample,
    /// Up to here a difference is none.
    floor: f64,
    /// From here on a change matters.
    margin: f64,
}

impl Claim {
    fn of(cell: &Cell) -> Option<Self> {
        Self::new(cell.metric, Sample::of(&cell.block_ratios)?)
    }

    /// None for a metric without a margin.
    fn new(metric: &Metric, sample: Sample) -> Option<Self> {
        let (margin, floor) = (metric.margin()?.ln(), metric.floor()?.ln());
        let sample = if metric.better == Better::Lower { sample.turned() } else { sample };
        Some(Self { sample: sample.with_least_deviation(floor / 2.0), floor, margin })
    }

    /// What follows where the test of a change was passed.
    fn changed(&self, metric: &Metric) -> Verdict {
        let is_better = self.sample.mean > 0.0;
        let is_large = self.chance_of_change(self.margin) <= 1.0 - CONFIDENCE;
        match self.unchanged() {
            Verdict::Equivalent => Verdict::SmallChange,
            _ if self.is_short() => Verdict::Inconclusive,
            _ if is_large && is_better => Verdict::Improvement,
            _ if is_large && metric.kind.is_instructions() => Verdict::CodeCost,
            _ if is_large => Verdict::Regression,
            _ if is_better => Verdict::Better,
            _ => Verdict::Worse,
        }
    }

    /// What follows where it was not.
    fn unchanged(&self) -> Verdict {
        match self.chance_of_none() <= ERROR_RATE && !self.is_short() {
            true => Verdict::Equivalent,
            false => Verdict::Inconclusive,
        }
    }

    /// Whether there are too few blocks.
    fn is_short(&self) -> bool {
        self.sample.blocks < FEWEST_BLOCKS
    }

    fn with(self, blocks: u32) -> Option<Self> {
        Some(Self { sample: self.sample.with(blocks)?, ..self })
    }

    /// p value of a change beyond `limit`, either way.
    fn chance_of_change(&self, limit: f64) -> f64 {
        let above = self.sample.chance_above(limit);
        (2.0 * above.min(self.sample.chance_below(-limit))).min(1.0)
    }

    /// p value of no change beyond the margin: that of the worse side.
    fn chance_of_none(&self) -> f64 {
        self.sample.chance_below(self.margin).max(self.sample.chance_above(-self.margin))
    }

    /// How far the mean has to lie behind a limit, so that a test at `error` passes with [`POWER`].
    fn clear(&self, error: f64) -> f64 {
        self.sample.reach(error) + self.sample.reach(1.0 - POWER)
    }

    /// The least change that is shown with [`POWER`] as one of `phases`.
    fn detectable(&self, phases: usize) -> f64 {
        self.floor + self.clear(ERROR_RATE / 2.0 / phases.max(1) as f64)
    }

    /// Whether as many blocks decide with [`POWER`], the true change being the mean found: by a
    /// change beyond the margin, or by none.
    fn decides(&self, phases: usize) -> bool {
        let change = self.sample.mean.abs();
        let large = self.margin + self.clear((1.0 - CONFIDENCE) / 2.0);
        change >= self.detectable(phases).max(large)
            || change <= self.margin - self.clear(ERROR_RATE)
    }
}

/// The p value of a change beyond the metric's floor, and the verdict, for one sample alone.
pub(crate) fn judge(metric: &Metric, sample: Sample) -> (Option<f64>, Verdict) {
    let Some(claim) = Claim::new(metric, sample) else { return (None, Verdict::Unassessed) };
    let chance = claim.chance_of_change(claim.floor);
    let changed = chance <= ERROR_RATE;
    (Some(chance), if changed { claim.changed(metric) } else { claim.unchanged() })
}

/// A cell that can be decided.
struct Case<'a> {
    cell: &'a mut Cell,
    claim: Claim,
    /// p value of a change beyond the floor.
    chance: f64,
}

impl<'a> Case<'a> {
    fn of(cell: &'a mut Cell) -> Option<Self> {
        if cell.verdict != Verdict::Unassessed || cell.block_ratios.len() != cell.blocks as usize {
            return None;
        }
        let claim = Claim::of(cell)?;
        Some(Self { cell, claim, chance: claim.chance_of_change(claim.floor) })
    }
}

/// From the smallest p value on, each against the error rate shared among those that are left.
fn holm(mut family: Vec<Case<'_>>) {
    family.sort_by(|one, other| one.chance.total_cmp(&other.chance));
    let mut rejecting = true;
    let count = family.len();
    for (index, case) in family.iter_mut().enumerate() {
        rejecting = rejecting && case.chance <= ERROR_RATE / (count - index) as f64;
        let claim = &case.claim;
        case.cell.verdict =
            if rejecting { claim.changed(case.cell.metric) } else { claim.unchanged() };
    }
}

#[cfg(test)]
mod tests;
