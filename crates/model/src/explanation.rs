//! Where the instructions of an operation are spent in two subjects, or its CPU time, by function.

use serde::{Deserialize, Serialize};

/// Version of the file's format.
pub const EXPLANATION_FORMAT: u32 = 2;

/// What is attributed to functions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// User instructions, counted exactly under emulation with the tree of calls. Format 1 has
    /// nothing else.
    #[default]
    Instructions,
    /// CPU time in user mode and in the kernel [ns], by samples at full speed. Only the calls
    /// within the kernel are known.
    CpuTime,
}

/// One phase on two subjects, with the calls of the tasks that served its operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Version of this format.
    pub format: u32,
    /// Name of the phase.
    pub phase: String,
    /// What is attributed.
    #[serde(default)]
    pub by: Quantity,
    /// What found it: the emulator and the processor that it emulated, or the clock.
    #[serde(alias = "emulator")]
    pub means: String,
    /// The base, then the variant.
    pub sides: [Side; 2],
}

impl Explanation {
    /// What is explained: a run has one explanation of each.
    pub fn what(&self) -> (Quantity, &str, [&str; 2]) {
        (self.by, &self.phase, self.sides.each_ref().map(|side| side.subject.as_str()))
    }
}

/// What one subject did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Label of the subject.
    pub subject: String,
    /// What the server says of its version.
    pub server_version: String,
    /// What came before.
    pub warm_up: WarmUp,
    /// Operations that were counted.
    pub operations: u64,
    /// What they cost the task that served them, by the counter of the task.
    #[serde(alias = "instructions")]
    pub cost: u64,
    /// Samples by which it is attributed; none where every instruction is counted.
    #[serde(default)]
    pub samples: u64,
    /// Instructions for which there was no room in the tree of calls.
    pub unplaced: u64,
    /// The tree of calls, callers before what they call.
    pub functions: Vec<Function>,
    /// The areas of the server's source, the first that knows a function first.
    pub areas: Vec<Area>,
}

/// Operations before the count, in batches of which each is twice as long as the one before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// All operations.
    pub operations: u64,
    /// Cost per operation of each batch.
    pub batches: Vec<f64>,
    /// Whether the last two batches differ by less than the threshold.
    pub steady: bool,
}

/// A function under its callers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    /// Place of the caller in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<usize>,
    /// Name without arguments; `[file+address]` for a function without one.
    pub name: String,
    /// Cost of its own.
    #[serde(alias = "instructions")]
    pub cost: u64,
    /// How often it was called; 0 where that is not known.
    pub calls: u64,
}

/// What is known of the functions of a server's source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceParts {
    /// The areas, the first that knows a function first.
    pub areas: Vec<Area>,
    /// Events that are rare among operations and cost much, such as page splits: the names of their
    /// counters, each with functions of which the first that a build has is called once for each
    /// event.
    pub rare: Vec<Area>,
}

/// A part of a server's source, by the names of its functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// What it is called.
    pub name: String,
    /// Patterns of names; `*` stands for any text.
    pub functions: Vec<String>,
}
