//! Rates of phases side by side and what a style shows of them: the types that all styles share.

use crate::service_level::{Outcome, ServiceLevel};

/// One phase of all variants: a column of the summary tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseColumn {
    /// Name of the phase.
    pub phase: String,
    /// Rows to insert per second beside the queries [1/s]; absent in phases that only load.
    pub target_per_second: Option<f64>,
    /// One cell per variant; the first one is the base.
    pub cells: Vec<PhaseCell>,
}

/// One phase of one variant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseCell {
    /// What the phase is about [1/s]: rows inserted or indexed while loading, else queries.
    pub rate: Option<f64>,
    /// Rows inserted beside the queries [1/s].
    pub inserted_per_second: Option<f64>,
    /// What the rules say of them; empty in phases that only load.
    pub levels: Vec<ServiceLevel>,
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
    /// The target was missed: whatever the rate [1/s] was, it compares with nothing.
    Missed(Option<f64>),
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
    /// A content without background.
    pub fn plain(content: Content) -> Self {
        Self { content, shade: Shade::Plain }
    }
}

impl Shade {
    /// The name of its class in published reports.
    pub fn class(self) -> Option<&'static str> {
        self.published().map(|(class, _)| class)
    }

    /// Its colour in published reports.
    pub fn colour(self) -> Option<&'static str> {
        self.published().map(|(_, colour)| colour)
    }

    fn published(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Plain => None,
            Self::Bottom => Some(("cmin", "#FF9A9A")),
            Self::Top => Some(("cmax", "#81FFA6")),
            Self::Ignored => Some(("cgray", "#D7D7D7")),
            Self::Slower => Some(("clo", "#FFDD81")),
            Self::Faster => Some(("chi", "#81FFF9")),
        }
    }

    /// A sign that says the same where there is no colour; empty for none.
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
