//! The talk between dbdyno and its keeper: one JSON object per line, each order answered once, in
//! order.

use crate::ServerUser;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the keeper is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// First of all: whose servers these will be.
    Begin {
        /// Folder of the run.
        folder: PathBuf,
        /// Folder of the sockets, removed at the end.
        sockets: PathBuf,
    },
    /// Starts a process as the keeper's child.
    Spawn(Box<Spawn>),
    /// A process of dbdyno's own that must not outlive it.
    Adopt {
        /// Process.
        pid: u32,
    },
    /// Writes down the processes of a server and their shared memory.
    Note {
        /// Its first process.
        pid: u32,
    },
    /// Kills a server, whatever state it is in, and returns when it is dead.
    Kill {
        /// Its first process.
        pid: u32,
    },
    /// Asks how a spawned process ended; waits for it.
    Ending {
        /// Process.
        pid: u32,
    },
    /// A spawned process is not needed any more: its remains are removed.
    Forget {
        /// Process.
        pid: u32,
    },
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spawn {
    /// The program and its arguments.
    pub(crate) words: Vec<String>,
    /// The whole environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Whom it runs as; the keeper's own user if absent.
    pub(crate) user: Option<ServerUser>,
    /// Standard input; nothing if absent.
    pub(crate) input: Option<PathBuf>,
    /// Standard output and error, appended.
    pub(crate) log: PathBuf,
    /// Memory that it may have, with its share of the page cache, bytes; all if absent.
    pub(crate) memory: Option<u64>,
    /// Whether its settings name files in the host's `/dev/shm`.
    pub(crate) names_shared: bool,
}

/// What the keeper answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer {
    /// To [`Order::Begin`].
    Ready {
        /// Folder of the run's control groups; absent where servers are frozen by signals.
        group: Option<PathBuf>,
    },
    /// To [`Order::Spawn`].
    Spawned {
        /// Process.
        pid: u32,
        /// Its control group, where there are any.
        group: Option<PathBuf>,
        /// The one that limits its memory, if anything does.
        memory: Option<PathBuf>,
    },
    /// To [`Order::Ending`].
    Ended {
        /// Exit code, absent after a signal.
        code: Option<i32>,
        /// Signal that killed it.
        signal: Option<i32>,
    },
    /// To the others.
    Done,
    /// The order could not be obeyed.
    Failed {
        /// One sentence.
        reason: String,
    },
}
