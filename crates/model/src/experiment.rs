//! The question: factors, suite, design, baseline.

use crate::{Levels, margins::Margins};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Fewest blocks that decide: two or three starts of a server say too little of how starts differ.
pub const FEWEST_BLOCKS: u32 = 4;

/// A checked experiment file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Name: the file's stem.
    pub name: String,
    /// The question in one sentence; the report's title.
    pub question: String,
    /// Name of the suite, or of the experiment where it lists workloads of its own.
    #[serde(default)]
    pub suite: String,
    /// The series that the run belongs to, for `dbdyno history`; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub series: String,
    /// What is new in this run, such as a commit: shown where its values are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Interleaved or classic.
    pub design: Design,
    /// Fresh starts of every compared server.
    pub blocks: u32,
    /// Numbers of blocks after which the run is judged, in ascending order, the last one `blocks`:
    /// a test that is decided then is measured no further. Empty if all blocks are measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// What has to be decided, and which changes matter.
    #[serde(default, skip_serializing_if = "Margins::is_empty")]
    pub decide: Margins,
    /// Whether changes in instructions are explained by function after the last block.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub explain: bool,
    /// Independent loads over which the blocks are spread.
    pub loads: u32,
    /// Slices of each workload, subject and block.
    pub rounds: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// The base of the comparison: levels of some factors.
    pub baseline: Levels,
    /// Factors in the order of the file.
    pub factors: Vec<Factor>,
    /// How levels that need a server of their own are combined.
    #[serde(default, skip_serializing_if = "Combine::is_all")]
    pub combine: Combine,
    /// Tables of the schema.
    pub tables: u64,
    /// Rows of each table.
    pub rows: u64,
    /// Operations per row of each writing test that keeps the number of rows, executed once after
    /// the load: after a bulk load pages are full, and the first changes split them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub age: f64,
    /// Length of a slice on the baseline, seconds; its work is then fixed for all.
    pub slice_seconds: f64,
    /// Length of a reading step of the classic design, seconds.
    pub read_seconds: f64,
    /// Length of a writing step of the classic design, seconds.
    pub write_seconds: f64,
    /// Discarded start of every slice, seconds.
    pub warmup_seconds: f64,
    /// Servers of the classic design that are up at the same time, one of them measured.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub at_once: u32,
    /// On which processors clients and the tasks that serve them work.
    #[serde(default)]
    pub placement: Placement,
    /// What must be permitted on this host, else the run is refused: `perf`.
    pub require: Vec<String>,
    /// [`CONDITIONS`] that may differ between subjects although nobody asks for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// The file as it was read, `extends` resolved; for the record.
    pub text: String,
}

/// What subjects should have alike: a difference that nobody asks for ends a run before the load,
/// unless [`Experiment::accept`] names it.
pub const CONDITIONS: &[&str] = &[
    "binary log",
    "character set",
    "doublewrite",
    "flushing",
    "memory",
    "statistics",
    "TLS",
    "transactions",
];

impl Experiment {
    /// How many of so many servers are up at the same time.
    pub fn up(&self, servers: usize) -> usize {
        match self.design {
            Design::Interleaved => servers,
            Design::Classic => servers.min(self.at_once as usize),
        }
    }
}

fn is_zero(age: &f64) -> bool {
    *age == 0.0
}

fn one() -> u32 {
    1
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// How the levels of factors that need a server of their own are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// Each level with each of the other factors.
    #[default]
    All,
    /// One base, and each other level alone on it.
    OneAtATime,
}

impl Combine {
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// How slices of the subjects follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Design {
    /// All servers up, idle ones frozen; slices of fixed work in balanced order, block after block.
    #[default]
    Interleaved,
    /// One server at a time, or a few, by duration.
    Classic,
}

/// On which processors clients and the tasks that serve them work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Each client shares one with the task that serves it, if there is one for each connection.
    Paired,
    /// Where the kernel puts them.
    #[default]
    Free,
}

impl Placement {
    /// Its word in an experiment.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paired => "paired",
            Self::Free => "free",
        }
    }
}

/// An axis of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Factor {
    /// `build`, `config`, `clients`, or a parameter of the workloads.
    pub name: String,
    /// Its levels in order.
    pub levels: Vec<String>,
}
