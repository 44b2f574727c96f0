//! The noise bank: how blocks of a build measured against itself differed, by class of host.

use crate::environment::Environment;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of a line of a bank; FORMAT.md tells what it has.
pub const BANK_FORMAT: u32 = 1;

/// What hosts have in common whose noise is taken for the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClass {
    /// CPU model.
    pub cpu: String,
    /// CPUs that are online.
    pub cpus: u32,
    /// Kernel release.
    pub kernel: String,
    /// Hypervisor, or empty.
    pub virtualization: String,
    /// Hardware counters that perf permits: `full`, `user`, `none`.
    pub counters: String,
}

impl HostClass {
    /// The class of a host.
    pub fn of(environment: &Environment) -> Self {
        Self {
            cpu: environment.cpu.clone(),
            cpus: environment.cpus,
            kernel: environment.kernel.clone(),
            virtualization: environment.virtualization.clone(),
            counters: environment.perf.clone(),
        }
    }
}

/// One build measured against itself in one run: a line of a bank.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BankedRun {
    /// Version of the format.
    pub format: u32,
    /// Identifier of the run.
    pub run: String,
    /// Wall clock at the start of the run, microseconds since 1970.
    pub started_us: u64,
    /// The host during the run.
    pub host: HostClass,
    /// Version of dbdyno.
    pub dbdyno: String,
    /// Experiment whose base was measured against itself.
    pub experiment: String,
    /// Server product.
    pub server: String,
    /// Label of the build and its configuration.
    pub subject: String,
    /// What else ran on the host, and anything that a reader must know; may be empty.
    pub note: String,
    /// Seconds that a block of all phases took, starts included and loading not.
    pub block_seconds: f64,
    /// What the phases found.
    pub phases: Vec<BankedPhase>,
}

/// The blocks of one phase.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BankedPhase {
    /// Unique name in the run.
    pub phase: String,
    /// Report group of the workload: noise of one group is taken for the same.
    pub group: String,
    /// Logarithm of the ratio in each block, by metric. The true one is 0.
    pub log_ratios: BTreeMap<String, Vec<f64>>,
    /// Value of the build, by metric: what differs between these is what runs differ by. Empty in
    /// banks from before it was kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, f64>,
}
