//! Where the instructions of an operation are spent in two subjects: exact calls by function.

use serde::{Deserialize, Serialize};

/// Version of the file's format.
pub const EXPLANATION_FORMAT: u32 = 1;

/// One phase on two subjects, with the calls of the tasks that served its operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Version of this format.
    pub format: u32,
    /// Name of the phase.
    pub phase: String,
    /// The emulator and the processor that it emulated.
    pub emulator: String,
    /// The base, then the variant.
    pub sides: [Side; 2],
}

/// What one subject did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Label of the subject.
    pub subject: String,
    /// What the server says of its version.
    pub server_version: String,
    /// What came before.
    pub warm_up: WarmUp,
    /// Operations that were counted.
    pub operations: u64,
    /// User instructions of the task that served them, by the counter of the task.
    pub instructions: u64,
    /// Of these, instructions for which there was no room in the tree of calls.
    pub unplaced: u64,
    /// The tree of calls, callers before what they call.
    pub functions: Vec<Function>,
    /// The areas of the server's source, the first that knows a function first.
    pub areas: Vec<Area>,
}

/// Operations before the count, in batches of which each is twice as long as the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WarmUp {
    /// All operations.
    pub operations: u64,
    /// Instructions per operation of each batch.
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
    /// Instructions of its own.
    pub instructions: u64,
    /// How often it was called.
    pub calls: u64,
}

/// A part of a server's source, by the names of its functions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// What it is called.
    pub name: String,
    /// Patterns of names; `*` stands for any text.
    pub functions: Vec<String>,
}
