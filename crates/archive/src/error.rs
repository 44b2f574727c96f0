//! What can go wrong between archives and values.

use model::number::counted;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why nothing was imported or exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed; the message names the path.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// What the user named cannot be read.
    #[error("cannot read `{path}`: {reason}; name a file or folder of results")]
    Unreadable {
        /// As the user wrote it.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Nothing was imported, and a file is broken.
    #[error("{place}: {reason}")]
    Broken {
        /// File and line.
        place: String,
        /// What is wrong, and where it stands.
        reason: String,
    },
    /// There was nothing to look at.
    #[error("nothing was imported: `{path}` is no file, and no folder with files")]
    NoFiles {
        /// What was named.
        path: String,
    },
    /// No file was of a known format.
    #[error(
        "nothing was imported: {} under `{path}`, none of a known format \
         (see `dbdyno list importers`)",
        counted(*files, "file")
    )]
    NothingKnown {
        /// What was walked.
        path: String,
        /// Files that were looked at.
        files: u64,
    },
    /// No correction has this name.
    #[error("unknown correction `{name}`; choose one of {known}")]
    UnknownCorrection {
        /// The name.
        name: String,
        /// Those that exist, comma separated.
        known: String,
    },
    /// No exporter has this name.
    #[error("unknown export format `{name}`; choose one of {known}")]
    UnknownFormat {
        /// The name.
        name: String,
        /// Those that exist, comma separated.
        known: String,
    },
    /// No subject has this label.
    #[error("`{experiment}` has no variant `{name}`; choose one of {known}")]
    UnknownVariant {
        /// The label.
        name: String,
        /// Where it was looked for.
        experiment: String,
        /// Those that exist, comma separated.
        known: String,
    },
    /// There is nothing that the format could say.
    #[error("nothing can be exported as `{format}`: {reason}")]
    NothingToExport {
        /// Name of the exporter.
        format: String,
        /// What is missing.
        reason: String,
    },
}
