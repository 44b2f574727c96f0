//! When a run that is judged on the way may end, and which changes it explains then.

use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeSet,
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// Says of the blocks that are complete what they decide.
pub trait Judge: fmt::Debug + Send + Sync {
    /// What is decided in a run, by its identifier, or why that is not known.
    fn look(&self, run: &str) -> Result<Look, String>;

    /// What changed in a run in the instructions of an operation, the largest change first.
    fn changes(&self, run: &str) -> Result<Vec<Change>, String>;
}

/// What a look found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Names of the phases in which nothing is open.
    pub decided: BTreeSet<String>,
    /// Names of the phases in which nothing is open that counts of instructions decide.
    pub counted: BTreeSet<String>,
    /// One sentence.
    pub sentence: String,
}

/// When a run may end before its last block.
#[derive(Debug, Clone, Default)]
pub struct Ending {
    /// Who judges at the looks of the plan; without one all blocks are measured.
    pub judge: Option<Arc<dyn Judge>>,
    /// Time for loading and measuring. No block is begun that would end later, once there are
    /// enough for a verdict.
    pub budget: Option<Duration>,
}

/// Which changes of a run are explained after its last block.
#[derive(Debug, Clone)]
pub struct ExplainChanges {
    /// Says what changed.
    pub judge: Arc<dyn Judge>,
    /// How many of them, at most.
    pub most: usize,
}

/// A phase in which a subject executes more or fewer instructions than its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Name of the phase.
    pub phase: String,
    /// Labels of the base and of the subject.
    pub subjects: [String; 2],
}

/// The time of a run's blocks.
#[derive(Debug)]
pub(crate) struct Pace {
    start: Instant,
    block: Instant,
    /// What each block took, in order.
    blocks: Vec<Duration>,
}

/// Blocks that tell how long the next one may take: earlier ones had phases that have left since.
const LATEST: usize = 3;

impl Pace {
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self { start: now, block: now, blocks: Vec::new() }
    }

    pub(crate) fn begin_block(&mut self) {
        self.block = Instant::now();
    }

    pub(crate) fn end_block(&mut self) {
        self.blocks.push(self.block.elapsed());
    }

    /// Whether a budget has time for another block, which may take as long as the longest of the
    /// latest; any time where none was measured yet.
    pub(crate) fn has_time(&self, budget: Duration) -> bool {
        let longest = self.blocks.iter().rev().take(LATEST).max().copied();
        let left = self.left(budget);
        !left.is_zero() && longest.unwrap_or_default() <= left
    }

    /// How many more blocks a budget permits if all are as short as the shortest one was.
    pub(crate) fn most(&self, budget: Duration) -> u32 {
        let shortest = self.blocks.iter().min().copied().unwrap_or_default().as_secs_f64();
        (self.left(budget).as_secs_f64() / shortest.max(0.001)) as u32
    }

    fn left(&self, budget: Duration) -> Duration {
        budget.saturating_sub(self.start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_loading_has_spent_has_no_time_for_a_first_block() {
        assert!(!Pace::begin().has_time(Duration::ZERO));
        assert!(Pace::begin().has_time(Duration::from_secs(3600)));
        let blocks = vec![Duration::from_secs(7200)];
        assert!(!Pace { blocks, ..Pace::begin() }.has_time(Duration::from_secs(3600)));
    }
}
