//! What the runner tells while it works. It prints nothing itself.

use model::record::{SliceRecord, TrialHeader};

/// Something that happened.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A step began that takes a while: installing, loading, settling, starting. One sentence.
    Step(&'a str),
    /// What is being done now, for a display that is redrawn: slices, warm-ups, emulation.
    Now(&'a str),
    /// All subjects of a block are up: their effective settings can be compared.
    Ready {
        /// Block, from 0.
        block: u32,
        /// One header per subject.
        headers: &'a [TrialHeader],
    },
    /// A slice ended.
    Slice {
        /// Its record.
        record: &'a SliceRecord,
        /// Slices done in this run, kept ones included.
        done: u64,
        /// Slices of the whole plan.
        of: u64,
    },
    /// What a look at the complete blocks found. One sentence.
    Finding(&'a str),
    /// Something that a reader of the results must know. One sentence.
    Warning(&'a str),
}

/// Receives the progress of a run, from any of the runner's threads.
pub trait Observer: Sync {
    /// Called outside measured windows.
    fn tell(&self, progress: &Progress<'_>);
}

/// Tells nobody.
impl Observer for () {
    fn tell(&self, _progress: &Progress<'_>) {}
}
