//! What can be wrong with an experiment or a catalog, said so that the remedy is plain.

use model::expression::ExpressionError;
use std::{fmt, path::Path};

/// Where in the user's text something is wrong. Prints as `file:line: `, or less if less is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// Path of the file, `catalog/…` for a shipped file, `--set …` for the command line.
    pub file: String,
    /// Line from 1, if it is known.
    pub line: Option<usize>,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file.as_str(), self.line) {
            ("", _) => Ok(()),
            (file, Some(line)) => write!(f, "`{file}:{line}`: "),
            (file, None) => write!(f, "`{file}`: "),
        }
    }
}

/// Why there is no plan. Every message is one sentence that names the place, the thing and the
/// remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read. Remedy: the path in the message.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// A file that another one refers to, or the command line, cannot be read.
    #[error("{place}cannot read `{path}`: {reason}{}", folder_hint(.place, .path))]
    Unreadable {
        /// Where it is referred to.
        place: Location,
        /// Path as it was opened.
        path: String,
        /// Why not.
        reason: String,
    },
    /// The text is not TOML, or a value has a wrong type.
    #[error("{place}{reason}")]
    Toml {
        /// Where.
        place: Location,
        /// What was found or expected.
        reason: String,
    },
    /// A key that the format does not have.
    #[error("{place}unknown key `{key}`{hint}")]
    UnknownKey {
        /// Where.
        place: Location,
        /// The key as written.
        key: String,
        /// The nearest known key, or all of them.
        hint: String,
    },
    /// A name that nothing has: a workload, a suite, a server, a version, …
    #[error("{place}unknown {what} `{name}`{hint}")]
    UnknownName {
        /// Where it is asked for.
        place: Location,
        /// What kind of thing.
        what: &'static str,
        /// The name as written.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// A value that the format permits and that makes no sense.
    #[error("{place}{reason}")]
    Invalid {
        /// Where.
        place: Location,
        /// What is wrong and what would be right.
        reason: String,
    },
    /// Files that extend each other in a circle.
    #[error("{place}`extends` goes in a circle: {chain}; remove one of them")]
    Circle {
        /// The file that closes the circle.
        place: Location,
        /// The names in order, `a -> b -> a`.
        chain: String,
    },
    /// An expression without a value under the parameters of a phase.
    #[error("{place}{source}")]
    Expression {
        /// Where.
        place: Location,
        /// Which part.
        source: ExpressionError,
    },
}

/// Where a relative path of a file begins, for who wonders why it was looked for there.
fn folder_hint(place: &Location, path: &str) -> String {
    let Some(folder) = Path::new(&place.file).parent().filter(|_| place.line.is_some()) else {
        return String::new();
    };
    let here = folder.as_os_str().is_empty();
    let absolute = std::path::absolute(if here { Path::new(".") } else { folder });
    let folder_shown = absolute.unwrap_or_else(|_| folder.to_owned());
    let path = Path::new(path);
    match if here { path.is_relative() } else { path.starts_with(folder) } {
        true => {
            let folder = folder_shown.display();
            format!("; relative paths start at the folder of the file, `{folder}`")
        }
        false => String::new(),
    }
}
