//! What can follow from a cell, and how often it may be wrong.

use model::metric::{Family, Metric};

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

pub use model::experiment::FEWEST_BLOCKS;

/// Most blocks that are asked of anybody.
pub const MOST_BLOCKS: u32 = 64;

/// The error rate that a metric's family may spend.
pub(crate) fn error_rate(metric: &Metric) -> f64 {
    if metric.family == Some(Family::Instructions) { COUNT_ERROR_RATE } else { ERROR_RATE }
}
