//! Rates of phases side by side and what a style shows of them: the types that all styles share.

use crate::{
    reason::Reason,
    service_level::{Outcome, ServiceLevel},
    verdict::Verdict,
};

/// One phase of all variants: a column of the summary tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseColumn {
    /// Name of the phase.
    pub phase: String,
    /// Rows to insert per second beside the queries [1/s]; absent in phases that only load.
    pub target_per_second: Option<f64>,
    /// One cell per variant.
    pub cells: Vec<PhaseCell>,
}

/// One phase of one variant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseCell {
    /// What the phase is about [1/s]: rows inserted or indexed while loading, else queries.
    pub rate: Option<f64>,
    /// Rows inserted beside the queries [1/s].
    pub inserted_per_second: Option<f64>,
    /// How the rate compares with the base's. Absent for a base, where one of the two has no rate
    /// or missed its target, and where only rates are known.
    pub effect: Option<Effect>,
    /// What the rules say of them; empty in phases that only load.
    pub levels: Vec<ServiceLevel>,
    /// Why there are no rates: something broke.
    pub failure: Option<Reason>,
    /// Which cell of the column is its base: its own place for a base.
    pub base: usize,
}

/// How a rate compares with that of the base, from the blocks that both have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effect {
    /// Rate relative to the base's.
    pub ratio: f64,
    /// Ends of the interval of [`CONFIDENCE`](crate::CONFIDENCE) for it; absent with fewer than two
    /// blocks.
    pub interval: Option<(f64, f64)>,
    /// What follows from it.
    pub verdict: Verdict,
}

/// What a style shows in a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// The number, or why there is none.
    pub content: Content,
    /// Its background.
    pub shade: Shade,
}

/// The content of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Content {
    /// A rate [1/s].
    Rate(f64),
    /// A rate relative to the base's.
    Ratio(f64),
    /// The same where several blocks repeat it: with its interval and what follows.
    Judged(Effect),
    /// The target was missed: whatever the rate [1/s] was, it compares with nothing.
    Missed(Option<f64>),
    /// Something broke.
    Failed,
    /// Nothing was measured.
    Missing,
}

/// The background of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Shade {
    /// None.
    #[default]
    Plain,
    /// Near the bottom of its column, or below a target: red.
    Bottom,
    /// Near the top of its column: green.
    Top,
    /// To be ignored, or a target: gray.
    Ignored,
    /// Slower than the base: yellow.
    Slower,
    /// Faster than the base: blue.
    Faster,
}

impl Effect {
    /// Whether several blocks stand behind it, so that something may be said about repetition.
    pub fn is_repeated(&self) -> bool {
        !matches!(self.verdict, Verdict::Base | Verdict::Unreplicated)
    }
}

impl PhaseColumn {
    /// The base of a cell of this column.
    pub fn base(&self, cell: &PhaseCell) -> Option<&PhaseCell> {
        self.cells.get(cell.base)
    }
}

impl PhaseCell {
    /// The outcome of the rule with this name, if it was asked.
    pub fn outcome(&self, rule: &str) -> Option<Outcome> {
        self.levels.iter().find(|level| level.rule == rule).map(|level| level.outcome)
    }

    /// The first rule that was missed.
    pub fn missed(&self) -> Option<&ServiceLevel> {
        self.levels.iter().find(|level| level.outcome == Outcome::Missed)
    }
}

impl Shown {
    /// The content of a cell without a number.
    pub(crate) fn nothing(cell: &PhaseCell) -> Self {
        Self::plain(if cell.failure.is_some() { Content::Failed } else { Content::Missing })
    }

    /// A content without background.
    pub fn plain(content: Content) -> Self {
        Self { content, shade: Shade::Plain }
    }
}

impl Shade {
    /// The name of its class in published reports.
    pub fn class(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bottom => Some("cmin"),
            Self::Top => Some("cmax"),
            Self::Ignored => Some("cgray"),
            Self::Slower => Some("clo"),
            Self::Faster => Some("chi"),
        }
    }

    /// A sign that says the same where there is no color; empty for none.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bottom => "▼",
            Self::Top => "▲",
            Self::Ignored => "○",
            Self::Slower => "−",
            Self::Faster => "+",
        }
    }
}
