//! Why nothing can be counted under emulation.

use std::path::PathBuf;

/// Why the emulator cannot be used, or its counters cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The plugin knows the instructions of one processor.
    #[error("counting under emulation is not supported on `{0}`, only on `x86_64`")]
    Architecture(&'static str),
    /// The emulator is not installed.
    #[error("there is no `qemu-x86_64` (Debian: package `qemu-user`)")]
    Missing,
    /// The emulator is too old.
    #[error("`{path}` is version {version}: counting needs 6 or later, with plugins")]
    TooOld {
        /// The program.
        path: PathBuf,
        /// Its version.
        version: String,
    },
    /// The emulator does not do what it is asked for.
    #[error("`{path}` cannot count: {reason}")]
    Unusable {
        /// The program.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The emulator cannot be given such a path.
    #[error("the emulator's plugin cannot lie in `{0}`: the path contains a comma")]
    Comma(PathBuf),
    /// A file of counters has another layout.
    #[error("`{0}` is not a file of counters")]
    Layout(PathBuf),
    /// A file of calls has another layout.
    #[error("`{0}` is not a file of calls")]
    Calls(PathBuf),
    /// A file cannot be written or read.
    #[error(transparent)]
    File(#[from] std::io::Error),
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;
