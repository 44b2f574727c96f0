//! Set rates that were missed: which values they spoil, and how a cell says so.

use crate::{Cell, Comparison};
use model::{mark::SLA_MISSED, metric::Metric};

/// Metrics that say how a set rate was kept. They stay what they are where it was missed; all
/// others are of less work than was asked for.
const OF_THE_RATE: [&str; 5] = [
    "insert_rows_per_second",
    "delete_rows_per_second",
    "insert_rows_per_second_target",
    "seconds_on_target_share",
    "lag_us_max",
];

/// Whether values of this metric are of less work than was asked for where a set rate was missed.
pub(crate) fn is_spoilt(metric: &Metric) -> bool {
    !OF_THE_RATE.contains(&metric.name)
}

/// Whether a mark says that a set rate was missed.
pub(crate) fn is_miss(mark: &str) -> bool {
    mark.starts_with(SLA_MISSED)
}

impl Cell {
    /// Why the value compares with nothing although there is one: the subject itself missed its set
    /// rate. `None` for metrics that say how the rate was kept.
    pub fn missed(&self) -> Option<&str> {
        if !is_spoilt(self.metric) || self.value.is_none() {
            return None;
        }
        self.marks.iter().map(String::as_str).find(|mark| is_miss(mark))
    }

    /// Whether anything broke in the subject's own cell.
    pub fn failed(&self) -> Option<&str> {
        let reason = self.reason.as_deref().filter(|_| self.value.is_none());
        reason.filter(|reason| reason.starts_with("failed"))
    }
}

impl Comparison {
    /// Whether any subject missed a set rate.
    pub fn has_missed(&self) -> bool {
        let mut cells = self.phases.iter().flat_map(|phase| &phase.cells);
        cells.any(|cell| cell.missed().is_some())
    }
}
