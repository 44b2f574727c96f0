//! The host, as far as it affects results.

use serde::{Deserialize, Serialize};

/// What the host was during a trial.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// dbdyno's own version and the revision it was built from, if known.
    pub dbdyno: String,
    /// Host name's SHA-256, first 12 digits: tells hosts apart without naming them.
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// CPUs that are online.
    pub cpus: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
    /// Hypervisor, or empty.
    pub virtualization: String,
    /// Frequency governor, or empty where there is none.
    pub governor: String,
    /// Vulnerabilities that are mitigated, `name: state`.
    pub mitigations: Vec<String>,
    /// Transparent huge pages setting.
    pub huge_pages: String,
    /// File system type of the data folders.
    pub filesystem: String,
    /// Block device of the data folders, or empty.
    pub device: String,
    /// What perf permits: `full`, `user`, `none`.
    pub perf: String,
    /// How idle servers are frozen: `cgroup2`, `sigstop`.
    pub freezer: String,
}

/// The number of CPUs by the text of `/proc/stat`, which has a line for each beside that of all.
pub fn cpus_of(stat: &str) -> usize {
    stat.lines().filter(|line| line.starts_with("cpu")).count().saturating_sub(1)
}

/// Types of file systems whose files are on other hosts.
const REMOTE: [&str; 13] = [
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "fuse.ceph",
    "fuse.glusterfs",
    "fuse.sshfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "panfs",
    "smb3",
];

/// Whether files of a file system of this type are on another host.
pub fn is_remote(filesystem: &str) -> bool {
    REMOTE.contains(&filesystem)
}
