//! Phases on a subject under the emulator, with the calls of the task that serves its one
//! connection; and those that a run has to explain after its last block.

mod changes;
mod sides;
mod warm_up;

pub(crate) use changes::{emulator, explain_changes, is_measured};
pub(crate) use sides::{Asked, sides};

/// Operations that are counted, at most, where nobody says how many.
const OPERATIONS: u64 = 5_000;

/// How many operations are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// So many.
    Exactly(u64),
    /// [`OPERATIONS`], or fewer where they take long.
    Usual,
}
