//! Why a statement or a connection failed.

/// The one error of connections. Boxed, so that a success stays small.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} (error `{}`)", .0.message, .0.code)]
pub struct Failure(Box<Details>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Details {
    kind: FailureKind,
    code: String,
    message: String,
}

/// What is left to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// Deadlock, lock wait timeout or serialization failure: the operation is restarted.
    Retry,
    /// The operation has failed; the connection goes on.
    Statement,
    /// The connection is lost or out of step.
    Lost,
}

impl Failure {
    /// A failure with the server's code and message.
    #[cold]
    pub fn new(kind: FailureKind, code: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Details { kind, code: code.into(), message: message.into() }))
    }

    /// A failure found on this side, after which the connection can go on: code `client`.
    #[cold]
    pub fn own(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Statement, "client", message)
    }

    /// A lost connection, or one whose answers make no sense: code `lost`.
    #[cold]
    pub fn lost(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Lost, "lost", message)
    }

    /// The same failure, after which the connection is of no use.
    #[cold]
    pub(crate) fn and_lost(mut self) -> Self {
        self.0.kind = FailureKind::Lost;
        self
    }

    /// The same failure with another message, made from the one that it has.
    #[cold]
    pub fn worded(mut self, word: impl FnOnce(&str) -> String) -> Self {
        self.0.message = word(&self.0.message);
        self
    }

    /// The same failure with the statement that it belongs to.
    #[cold]
    pub(crate) fn in_statement(self, sql: &str) -> Self {
        self.worded(|message| format!("{message}, in `{sql}`"))
    }

    /// What is left to do.
    pub fn kind(&self) -> FailureKind {
        self.0.kind
    }

    /// Whether the connection is lost.
    pub fn is_lost(&self) -> bool {
        self.kind() == FailureKind::Lost
    }

    /// The server's own code: an error number or an SQLSTATE; a word for what is not the server's.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The server's message, or one clear sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}
