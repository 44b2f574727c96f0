//! What can go wrong, each in one sentence.

/// The one error of this crate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The command line or an option is wrong, or not supported.
    #[error("{0}")]
    Usage(String),
    /// The script failed: file, line and reason, as far as they are known.
    #[error("{0}")]
    Script(String),
    /// The user stopped it while the script went on without an end.
    #[error("the script had not come back 2 seconds after it was stopped, and was left")]
    Left,
}
