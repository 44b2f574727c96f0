//! What can end a run.

use std::path::PathBuf;

/// Why a run, or a part of it, could not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server could not be installed, configured, started or stopped.
    #[error(transparent)]
    Dbms(#[from] dbms::Error),
    /// A record could not be written or read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// A counter could not be opened or read.
    #[error(transparent)]
    Probe(#[from] probe::Error),
    /// The emulator cannot count, or its counters cannot be read.
    #[error(transparent)]
    Emulator(#[from] emulator::Error),
    /// The driver process, or the agent on the host of an attached server, is not there any more,
    /// or does not understand.
    #[error("{0}")]
    Driver(String),
    /// A command to the driver failed; with `lost`, because the server is gone.
    #[error("{message}")]
    Sql {
        /// One clear sentence, with the server's own words.
        message: String,
        /// Whether the connection was lost.
        lost: bool,
    },
    /// The server of one subject, or its driver, failed.
    #[error("{source}")]
    OfSubject {
        /// Label of the subject.
        label: String,
        /// One of the errors above.
        source: Box<Self>,
    },
    /// The host does not permit what the plan demands.
    #[error("{0}")]
    Preflight(String),
    /// The complete blocks could not be judged.
    #[error("cannot judge the complete blocks: {0}; continue without it by `--resume`")]
    Judge(String),
    /// A file or folder could not be used; the message names it.
    #[error(transparent)]
    Files(#[from] std::io::Error),
    /// There is nothing to continue.
    #[error(
        "no unfinished run of `{experiment}` with this plan is in `{dir}`: run without `--resume`",
        dir = .dir.display()
    )]
    NothingToResume {
        /// Name of the experiment.
        experiment: String,
        /// The results folder.
        dir: PathBuf,
    },
    /// A build was replaced between two executions of one run.
    #[error(
        "`{path}` is another program than in the complete blocks of `{label}`: run without \
         `--resume`",
        path = .path.display()
    )]
    OtherProgram {
        /// Label of the subject.
        label: String,
        /// The program or library.
        path: PathBuf,
    },
    /// The user asked to stop; what was measured is kept.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Whether it is an error of a server or of its statements, which another build or
    /// configuration may not have.
    pub fn is_of_server(&self) -> bool {
        let is_plain = matches!(self, Self::Dbms(_) | Self::Driver(_) | Self::Sql { .. });
        is_plain || matches!(self, Self::OfSubject { .. })
    }

    /// Label of the subject whose server failed, where that is known.
    pub fn subject(&self) -> Option<&str> {
        match self {
            Self::OfSubject { label, .. } => Some(label),
            _ => None,
        }
    }

    /// An error of a server with whose it is; any other error as it is.
    pub(crate) fn of_subject(self, label: &str) -> Self {
        match self {
            Self::Dbms(_) | Self::Driver(_) | Self::Sql { .. } => {
                Self::OfSubject { label: label.to_owned(), source: Box::new(self) }
            }
            other => other,
        }
    }

    /// Whether the server, and not the run, is at fault: other subjects can go on.
    pub(crate) fn is_of_one_subject(&self) -> bool {
        matches!(self, Self::Sql { .. } | Self::Driver(_))
    }

    /// A server's refusal, with who or what it refused.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Sql { message, lost } => {
                Self::Sql { message: format!("{place}: {message}"), lost }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_server_has_a_subject_and_says_the_same() {
        let lost = || Error::Sql { message: "no table".to_owned(), lost: false };
        let named = lost().of_subject("mine").of_subject("other");
        assert_eq!((named.subject(), named.to_string()), (Some("mine"), "no table".to_owned()));
        assert!(named.is_of_server() && lost().is_of_server() && lost().subject().is_none());
        let space = Error::Preflight("no space".to_owned()).of_subject("mine");
        assert!(space.subject().is_none() && !space.is_of_server());
    }
}
