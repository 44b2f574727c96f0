//! What a trial leaves behind.

use crate::{Levels, drive::StretchReport, provenance::Provenance, reading::Reading};
use serde::{Deserialize, Serialize};

/// Version of the record's format; FORMAT.md tells what changed.
pub const RECORD_FORMAT: u32 = 2;

/// The first version with checksums of all files.
pub const CHECKSUMMED_FORMAT: u32 = 2;

/// One stretch of work of one subject: a line of `slices.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// Block.
    pub block: u32,
    /// Label of the subject.
    pub subject: String,
    /// Phase of the plan.
    pub phase: String,
    /// Workload of the phase.
    pub workload: String,
    /// Report group of the phase.
    pub group: String,
    /// Index of the phase in the plan.
    pub position: u32,
    /// Published range, if any.
    pub range: Option<u64>,
    /// Connections.
    pub clients: u32,
    /// Every factor's level.
    pub levels: Levels,
    /// Round in the block.
    pub round: u32,
    /// The disturbed round of the block that this one repeats with other operations, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u32>,
    /// Place of this slice in its round, from 0.
    pub order: u32,
    /// Seed of the operations.
    pub seed: u64,
    /// Measured, discarded or failed.
    pub state: SliceState,
    /// Why it was discarded or failed; for a dead server, the last lines of its log.
    pub reason: Option<String>,
    /// Marks that tables must show, e.g. `user mode only` or `not calm`.
    pub marks: Vec<String>,
    /// Wall clock at the start of the measured stretch, microseconds since 1970; of one that never
    /// began, when it was to.
    pub wall_start_us: u64,
    /// What the load engine did; absent where it could not tell.
    pub work: Option<StretchReport>,
    /// Counters over the measured window, exactly.
    pub readings: Vec<Reading>,
    /// Whole-server and device counters over the window and the drain that follows a writing slice.
    pub drained: Vec<Reading>,
    /// Length of that drain, seconds.
    pub drain_seconds: f64,
    /// Files of the record that instruments left, by their paths in the trial's folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artefacts: Vec<String>,
}

/// Whether a slice counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SliceState {
    /// Counts.
    #[default]
    Measured,
    /// Ran, and does not count (warm-up, rejected).
    Discarded,
    /// Broke; no table shows a number of it.
    Failed,
}

/// The head of a trial: `trial.toml`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialHeader {
    /// Version of the format.
    pub format: u32,
    /// Identifier: the record's folder name.
    pub trial: String,
    /// Run this trial belongs to.
    pub run: String,
    /// Experiment name.
    pub experiment: String,
    /// Hash of the plan.
    pub plan: String,
    /// Block.
    pub block: u32,
    /// Label of the subject.
    pub subject: String,
    /// Version that the server itself reports.
    pub server_version: String,
    /// SHA-256 of the server's binary, hexadecimal.
    pub binary_sha256: String,
    /// Configuration as given to the server.
    pub configuration: String,
    /// Settings as the server reports them, by name.
    pub settings: Levels,
    /// Settings that this server does not know and ignored.
    pub ignored_settings: Vec<String>,
    /// Seed of the block.
    pub seed: u64,
    /// How the foreground was found, or why it is missing.
    pub foreground: String,
    /// Where the build comes from; empty in records from before it was kept.
    #[serde(default)]
    pub provenance: Provenance,
    /// Median time of a statement that does nothing, microseconds, for a server that dbdyno did not
    /// start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<f64>,
    /// What the agent on the host of such a server found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentRecord>,
}

/// What the agent on the host of an attached server found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// Process of the server; absent where the agent's user may not see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Name of its program.
    pub program: String,
    /// Median time of a command to the agent that does nothing, microseconds.
    pub round_trip_us: f64,
}

impl TrialHeader {
    /// As much of the binary's checksum as tells builds apart.
    pub fn short_sha256(&self) -> &str {
        self.binary_sha256.get(..12).unwrap_or(&self.binary_sha256)
    }
}

/// A line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Wall clock, microseconds since 1970.
    pub wall_us: u64,
    /// Kind: `started`, `loaded`, `warning`, `error`, `settled`, …
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// Seconds that it took, where that means something.
    pub seconds: Option<f64>,
}
