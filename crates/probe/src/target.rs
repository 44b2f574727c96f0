//! Whose counters are wanted.

use std::path::{Path, PathBuf};

/// The processes, tasks and files that one meter looks at. It must be idle or frozen while a meter
/// opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Target {
    /// `/proc`; another folder in tests.
    pub proc_root: PathBuf,
    /// Processes of the server; their descendants belong to it as well. Empty for an embedded
    /// engine.
    pub server_pids: Vec<u32>,
    /// Tasks that serve our connections, empty where they are not known. They count as the server's
    /// even if `server_pids` does not name their process: for an embedded engine these are the
    /// driver's connection threads.
    pub foreground: Vec<u32>,
    /// Processes of the load engine; their tasks are the client's, except those in `foreground`.
    pub client_pids: Vec<u32>,
    /// Folder whose block device is the server's; empty where its files are not on this host.
    pub data_folder: PathBuf,
    /// Process that sees the data folder under this path; this one if none.
    pub data_folder_of: Option<u32>,
}

impl Target {
    /// A target on this host without any process yet: the host's and the device's counters alone.
    pub fn new(data_folder: &Path) -> Self {
        Self {
            proc_root: PathBuf::from("/proc"),
            data_folder: data_folder.to_path_buf(),
            ..Self::default()
        }
    }
}
