//! What a caller can ask for that is not there.

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A question that cannot be answered. Strange data is never an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The base is not among the compared subjects.
    #[error("`{base}` is not among the compared variants; choose one of {known}")]
    UnknownBase {
        /// What was asked for.
        base: String,
        /// The labels that exist.
        known: String,
    },
    /// No metric has this name.
    #[error("unknown metric `{name}`; {hint}`dbdyno list metrics` shows all")]
    UnknownMetric {
        /// What was asked for.
        name: String,
        /// The most similar name as a question, or nothing.
        hint: String,
    },
}
