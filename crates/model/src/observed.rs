//! What is observed of a server and of its host, whichever host that is.

use crate::reading::{Reading, SeriesRow};
use serde::{Deserialize, Serialize};

/// A kind of observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// The cheap counters once a second.
    Series,
    /// What the serving tasks wait for.
    Waits,
    /// All counters at the two ends of a window.
    Window,
}

/// What an observation found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Counters over the window.
    pub readings: Vec<Reading>,
    /// Counters of single tasks of the foreground.
    pub tasks: Vec<(u32, Reading)>,
    /// Counters along the window.
    pub series: Vec<SeriesRow>,
    /// What a reader of the values must know, one phrase each.
    pub marks: Vec<String>,
    /// Who used the CPUs of the host; absent where the parts are not all known.
    pub load: Option<HostLoad>,
}

/// Who used the CPUs of a host over a window, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HostLoad {
    /// CPU time of all tasks.
    pub host_ns: f64,
    /// CPU time of the server and of dbdyno.
    pub own_ns: f64,
    /// CPU time of the kernel's threads, which write back what servers wrote.
    pub kernel_ns: f64,
    /// Length of the window.
    pub window_ns: f64,
}

impl HostLoad {
    /// CPU time of other processes.
    pub fn others_ns(&self) -> f64 {
        (self.host_ns - self.own_ns - self.kernel_ns).max(0.0)
    }
}

/// CPU time of one kernel task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskCpu {
    /// Process that the task belongs to.
    pub pid: u32,
    /// Kernel task.
    pub tid: u32,
    /// Name of the task, at most 15 bytes.
    pub comm: String,
    /// CPU time since the task began, nanoseconds.
    pub cpu_ns: u64,
    /// How often it has got a CPU: a task that waits for a request gets one for each.
    #[serde(default)]
    pub turns: u64,
}
