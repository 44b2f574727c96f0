//! Set rates that were missed: which values they spoil, and how a cell says so.

use crate::{Cell, Comparison, Reason, ServiceLevel};
use model::{
    mark::{Mark, Miss},
    metric::{Metric, Part},
};

/// Whether values of this metric are of less work than was asked for where a set rate was missed.
pub(crate) fn is_spoilt(metric: &Metric) -> bool {
    metric.part != Part::Pace
}

/// The set rates that a mark says to be missed.
pub(crate) fn misses(mark: &Mark) -> Option<&[Miss]> {
    match mark {
        Mark::Missed(misses) => Some(misses),
        Mark::Note(_) => None,
    }
}

/// The mark of a slice that missed these rules; none if there are none.
pub(crate) fn mark_of(missed: &[ServiceLevel]) -> Option<Mark> {
    let miss = |level: &ServiceLevel| Miss { rule: level.rule.into(), why: level.why.clone() };
    (!missed.is_empty()).then(|| Mark::Missed(missed.iter().map(miss).collect()))
}

impl Cell {
    /// Why the value compares with nothing although there is one: the mark of a set rate that the
    /// subject itself missed. `None` for metrics that say how the rate was kept.
    pub fn missed(&self) -> Option<&Mark> {
        if !is_spoilt(self.metric) || self.value.is_none() {
            return None;
        }
        self.marks.iter().find(|mark| misses(mark).is_some())
    }

    /// Target and reached rate of a missed one, as the first rule that was missed says it.
    pub fn missed_rate(&self) -> Option<&Miss> {
        misses(self.missed()?)?.first()
    }

    /// Whether anything broke in the subject's own cell, and what.
    pub fn failed(&self) -> Option<&Reason> {
        self.reason.as_ref().filter(|reason| matches!(reason, Reason::Failed(_)))
    }
}

impl Comparison {
    /// Whether any subject missed a set rate.
    pub fn has_missed(&self) -> bool {
        let mut cells = self.phases.iter().flat_map(|phase| &phase.cells);
        cells.any(|cell| cell.missed().is_some())
    }
}
