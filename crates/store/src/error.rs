//! What can go wrong with a results folder.

use std::path::PathBuf;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a results folder could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed; the message names the path.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// There is no such folder.
    #[error(
        "there is no folder `{dir}`; run an experiment first, or name its folder by `--results`"
    )]
    NoFolder {
        /// The path.
        dir: PathBuf,
    },
    /// There is something else where a folder should be.
    #[error("`{path}` is not a folder; name a folder, which is created if it is missing")]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A folder that is to take results holds something else.
    #[error(
        "`{dir}` is not empty and holds no results of dbdyno; name another folder by `--results`"
    )]
    NotEmpty {
        /// The path.
        dir: PathBuf,
    },
    /// The folder cannot be entered.
    #[error("`{dir}` cannot be read: {reason}; name another folder by `--results`")]
    Unreadable {
        /// The path.
        dir: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder is not a results folder.
    #[error("`{dir}` holds no results; name the folder that `dbdyno run --results` wrote")]
    NoResults {
        /// The folder.
        dir: PathBuf,
    },
    /// No run has this identifier.
    #[error("no run `{run}` in `{dir}`; the runs there are: {known}")]
    UnknownRun {
        /// The identifier.
        run: String,
        /// The results folder.
        dir: PathBuf,
        /// The identifiers that exist, comma separated.
        known: String,
    },
    /// Another process writes this run.
    #[error("run `{run}` is being written by another process; wait for it or stop it")]
    Busy {
        /// The identifier.
        run: String,
    },
    /// A file of the results folder is not what it should be.
    #[error("`{path}` is not readable: {reason}; restore it or remove its folder")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file does not hold what was recorded.
    #[error(
        "`{path}` was changed, cut or added after it was recorded: its SHA-256 is not the recorded \
         one; restore it or remove its folder"
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file was written by a newer dbdyno.
    #[error("`{path}` has format {found}, this dbdyno reads up to {known}; use a newer dbdyno")]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this code knows.
        known: u32,
    },
    /// A plan was written by an older dbdyno, whose plans kept workloads and not what was executed.
    #[error(
        "`{path}` has format {found}, in which a plan held expressions in place of numbers, and \
         this dbdyno reads {known}: read it with the dbdyno that recorded it, or remove its run \
         and run the experiment again"
    )]
    OldPlan {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format that this code knows.
        known: u32,
    },
    /// The folder cannot be written or locked, or is full.
    #[error("`{dir}` cannot take results: {reason}; choose another folder by `--results`")]
    Unwritable {
        /// The folder.
        dir: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file name that would leave the record.
    #[error("`{name}` is not a plain file name; use one without `/`")]
    Name {
        /// The name.
        name: String,
    },
}
