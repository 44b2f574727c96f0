//! Why a counter cannot be had.

use std::path::PathBuf;

/// Why a probe could not be opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This host or this target does not have the counter; the sentence becomes a mark.
    #[error("{0}")]
    Absent(String),
    /// A file of `/proc` or `/sys` cannot be read or understood.
    #[error("cannot read counters from `{path}`: {reason}")]
    Source {
        /// The file.
        path: PathBuf,
        /// What the system or the parser said.
        reason: String,
    },
    /// A counter cannot be attached to a task.
    #[error("cannot attach `{counter}` to task `{task}`: {reason}")]
    Attach {
        /// Name of the counter.
        counter: &'static str,
        /// Kernel task.
        task: u32,
        /// What the system said.
        reason: std::io::Error,
    },
    /// Each task of the server needs several open files.
    #[error(
        "counting needs {needed} open files and this process may have `{limit}`: raise `ulimit -n`"
    )]
    Files {
        /// Files that the counters need.
        needed: u64,
        /// Files that this process may open.
        limit: u64,
    },
    /// A counter that was attached cannot be read any more.
    #[error("cannot read `{counter}`: {reason}")]
    Read {
        /// Name of the counter.
        counter: &'static str,
        /// What the system said.
        reason: std::io::Error,
    },
    /// The thread that records the series cannot be started.
    #[error("cannot start the thread that records the series: {0}")]
    Thread(std::io::Error),
    /// No server listens where one is looked for.
    #[error("no server is at {place} of the agent's host: {reason}")]
    NoServer {
        /// Port or socket.
        place: String,
        /// What is there.
        reason: String,
    },
    /// An observation was to begin or to end that is not open.
    #[error("the observation is not open: report this as a defect")]
    NotOpen,
}
