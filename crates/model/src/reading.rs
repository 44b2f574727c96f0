//! Raw values of counters, before any rate or ratio.

use serde::{Deserialize, Serialize};

/// Whose counter it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All tasks of the server.
    Server,
    /// The tasks that serve our connections.
    Foreground,
    /// The server's other tasks.
    Background,
    /// The load engine's tasks.
    Client,
    /// The whole host.
    Host,
    /// The block device of the data folder.
    Device,
}

/// One counter at the start and at the end of a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Whose.
    pub scope: Scope,
    /// Counter: a name of the probes' tables, e.g. `user_instructions`.
    pub counter: String,
    /// Value at the window's start.
    pub start: f64,
    /// Value at the window's end; a gauge's peak in the window.
    pub end: f64,
}

impl Reading {
    /// How far the counter moved.
    pub fn delta(&self) -> f64 {
        self.end - self.start
    }
}

/// One raw value at one time: a row of `series.csv`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// Wall clock, microseconds since 1970.
    pub time_us: u64,
    /// Whose.
    pub scope: Scope,
    /// Counter: a name of the probes' tables.
    pub counter: String,
    /// Value of the counter or gauge then.
    pub value: f64,
}

/// The latencies of one operation in one slice, as far as its histogram tells them apart: an entry
/// of `ops.hlog`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyCounts {
    /// Wall clock at the slice's start, milliseconds since 1970: the log keeps no more.
    pub wall_start_ms: u64,
    /// Name of the operation.
    pub operation: String,
    /// Which of the two times.
    pub time: LatencyTime,
    /// Latency in nanoseconds and how many operations had it, ascending.
    pub counts: Vec<(u64, u64)>,
}

/// The two times of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LatencyTime {
    /// From sending to the answer.
    Service,
    /// From the intended start to the answer.
    Response,
}
