//! What can go wrong with servers that are there already, in one sentence.

/// A server that is there already cannot be entered.
#[derive(Debug, thiserror::Error)]
#[error("`{server}`: {reason}")]
pub struct NoWayIn {
    /// Where it listens.
    pub server: String,
    /// Why, and what to do.
    pub reason: String,
}
