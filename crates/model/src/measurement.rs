//! One value of one metric in one slice, with its keys: what everything after the record reads.

use crate::{Levels, mark::SLA_MISSED, record::SliceState};
use serde::{Deserialize, Serialize};

/// One value with everything that identifies it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Experiment name.
    pub experiment: String,
    /// Run, by its identifier.
    pub run: String,
    /// Label of the subject: the variant of the tables.
    pub subject: String,
    /// Phase: the row of the tables.
    pub phase: String,
    /// Workload of the phase.
    pub workload: String,
    /// Report group of the phase.
    pub group: String,
    /// Position of the phase in the suite.
    pub position: u32,
    /// Published range, if any.
    pub range: Option<u64>,
    /// Connections.
    pub clients: u32,
    /// Every factor's level.
    pub levels: Levels,
    /// Block.
    pub block: u32,
    /// Round in the block.
    pub round: u32,
    /// Metric name.
    pub metric: String,
    /// Value in the metric's unit.
    pub value: f64,
    /// Only measured slices have values that tables may show.
    pub state: SliceState,
    /// How far the value may be trusted: marks such as `user mode only`, empty if fully.
    pub marks: Vec<String>,
}

impl Measurement {
    /// Whether its slice did not keep a set rate: its rates are what they are, and compare with
    /// nothing.
    pub fn has_missed(&self) -> bool {
        self.marks.iter().any(|mark| mark.starts_with(SLA_MISSED))
    }
}
