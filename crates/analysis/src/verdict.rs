//! What follows from a cell: decided for all phases of a metric together, because of many
//! comparisons some look changed by chance.

use crate::{
    claim::{Claim, Share, Test},
    compare::{Cell, PhaseResult},
};
use model::{
    metric::{Family, Metric},
    shared::Name,
};
use std::{collections::BTreeMap, sync::Arc};

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

/// Chance that anything of a family is called changed though nothing changed by more than its
/// metric's floor; and chance that a phase is called equivalent though it is not.
///
/// A family is throughput and CPU time of a variant in all phases; any other metric that explains
/// them is one of its own.
pub const ERROR_RATE: f64 = 0.05;

/// The same for counts of instructions, which are so exact that they can afford it.
pub const COUNT_ERROR_RATE: f64 = 0.01;

/// Fewest blocks that decide: two or three starts of a server say too little of how starts differ.
pub const FEWEST_BLOCKS: u32 = 4;

/// Most blocks that are asked of anybody.
pub const MOST_BLOCKS: u32 = 64;

/// Gives the cells of several blocks their verdicts. `looks` are the numbers of blocks after which
/// the run was judged and could end, in ascending order; empty where their number was fixed.
///
/// - Changed: a paired t test over blocks against the metric's floor, two-sided, corrected over
///   the family by Holm's method, or with looks by Bonferroni's and by what each look may spend
///   ([`nominal`](crate::looks::nominal)). Whether it is larger than the margin, its interval
///   says.
/// - Equivalent: two one-sided tests against the margins (Schuirmann), each at [`ERROR_RATE`].
///   Calling all phases equivalent needs all of them to pass, so no correction is due.
/// - Otherwise inconclusive; that nothing was found is never said to mean that nothing changed.
pub(crate) fn decide(phases: &mut [PhaseResult], looks: &[u32]) {
    let looks: Arc<[u32]> = looks.into();
    let mut families: BTreeMap<(&'static str, Name), Vec<Case<'_>>> = BTreeMap::new();
    let cells = phases.iter_mut().flat_map(|phase| &mut phase.cells);
    for cell in cells.filter(|cell| cell.verdict == Verdict::Unassessed) {
        let key = (family(cell.metric), cell.subject.clone());
        families.entry(key).or_default().extend(Case::of(cell));
    }
    for mut family in families.into_values() {
        let tests = family.len();
        for Case { cell, claim } in &mut family {
            let share = Share { error: error_rate(cell.metric), tests, looks: Arc::clone(&looks) };
            cell.test = Some(claim.test(cell.blocks, &share));
        }
        if looks.is_empty() { holm(family) } else { bonferroni(family) }
    }
}

/// What a metric shares its error rate with.
fn family(metric: &'static Metric) -> &'static str {
    match metric.family {
        Some(Family::Performance) => "performance",
        Some(Family::Instructions) => "instructions",
        None => metric.name,
    }
}

pub(crate) fn error_rate(metric: &Metric) -> f64 {
    if metric.family == Some(Family::Instructions) { COUNT_ERROR_RATE } else { ERROR_RATE }
}

/// A cell that can be decided.
struct Case<'a> {
    cell: &'a mut Cell,
    claim: Claim,
}

impl<'a> Case<'a> {
    fn of(cell: &'a mut Cell) -> Option<Self> {
        if cell.block_ratios.len() != cell.blocks as usize {
            return None;
        }
        let claim = Claim::of(cell)?;
        Some(Self { cell, claim })
    }

    /// p value of a change beyond the floor.
    fn chance(&self) -> f64 {
        self.cell.test.as_ref().map_or(1.0, |test| test.p_change)
    }

    fn judge(&mut self, changed: Changed) {
        let Some(test) = &self.cell.test else { return };
        self.cell.verdict = match changed {
            Changed::Yes => self.claim.changed(self.cell.metric, test),
            Changed::Open => self.claim.unchanged(test),
        };
    }
}

/// Whether the test of a change was passed.
enum Changed {
    Yes,
    Open,
}

/// From the smallest p value on, each against the error rate shared among those that are left.
fn holm(mut family: Vec<Case<'_>>) {
    family.sort_by(|one, other| one.chance().total_cmp(&other.chance()));
    let mut rejecting = true;
    let count = family.len();
    for (index, case) in family.iter_mut().enumerate() {
        let error = error_rate(case.cell.metric);
        rejecting = rejecting && case.chance() <= error / (count - index) as f64;
        case.judge(if rejecting { Changed::Yes } else { Changed::Open });
    }
}

/// Each against its own share: Holm's steps at several looks would spend more than there is.
fn bonferroni(family: Vec<Case<'_>>) {
    for mut case in family {
        let passed = case.cell.test.as_ref().is_some_and(Test::finds_change);
        case.judge(if passed { Changed::Yes } else { Changed::Open });
    }
}

#[cfg(test)]
mod tests;
