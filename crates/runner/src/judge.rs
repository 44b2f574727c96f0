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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
    longest: Duration,
}

impl Pace {
    pub(crate) fn begin() -> Self {
        let now = Instant::now();
        Self { start: now, block: now, longest: Duration::ZERO }
    }

    pub(crate) fn begin_block(&mut self) {
        self.block = Instant::now();
    }

    pub(crate) fn end_block(&mut self) {
        self.longest = self.longest.max(self.block.elapsed());
    }

    /// How many more blocks a budget permits if none takes longer than the longest one.
    pub(crate) fn more(&self, budget: Duration) -> u32 {
        let left = budget.saturating_sub(self.start.elapsed()).as_secs_f64();
        (left / self.longest.as_secs_f64().max(0.001)) as u32
    }
}
