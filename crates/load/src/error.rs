//! The one error type of this crate.

use crate::session::SqlError;
use model::expression::ExpressionError;

/// Why the load engine could not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server refused a statement or a connection, or the connection was lost.
    #[error("{context}: {source}")]
    Sql {
        /// What was being done, naming the table or statement.
        context: String,
        /// The server's answer.
        source: SqlError,
    },
    /// An expression of a schema or workload has no value.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
    /// A schema that cannot be loaded; the message names the table, the column and the remedy.
    #[error("{0}")]
    Schema(String),
    /// A workload that cannot be executed; the message names the operation and the statement.
    #[error("workload `{workload}`{place}: {reason}")]
    Workload {
        /// Name of the workload.
        workload: String,
        /// Operation and statement, or empty.
        place: String,
        /// What is wrong and what to change.
        reason: String,
    },
    /// The name of a wire protocol that does not exist.
    #[error("there is no protocol `{name}` (known: `{known}`)")]
    Protocol {
        /// The name.
        name: String,
        /// The protocols that exist.
        known: String,
    },
    /// A measured connection could not be opened, or refused what it was sent.
    #[error("{context}: {message} (code `{code}`)")]
    Client {
        /// What was being done.
        context: String,
        /// The server's own code, or a word.
        code: String,
        /// The server's message.
        message: String,
        /// Whether the connection was lost.
        lost: bool,
    },
    /// A thread could not be started.
    #[error("the thread of connection {index} cannot be started: {source}")]
    Thread {
        /// Index of the connection.
        index: u32,
        /// Why.
        source: std::io::Error,
    },
    /// A worker thread ended without an answer: a defect of dbdyno.
    #[error("the worker of connection {index} ended early; see the driver's messages")]
    Worker {
        /// Index of the connection.
        index: u32,
    },
    /// A stretch or a query was asked for before its conditions were met.
    #[error("no workload is compiled; send `compile` first")]
    NoWorkload,
    /// A stretch that ends with its roles, of a workload that has none.
    #[error(
        "workload `{workload}` has no roles that could end the stretch; end it after operations \
         or seconds"
    )]
    NoRoles {
        /// Name of the workload.
        workload: String,
    },
    /// A command needs open connections.
    #[error("no server is connected; send `connect` first")]
    NotConnected,
    /// The index of a connection that does not exist.
    #[error("there is no connection {index}; {count} are open, counted from 0")]
    NoConnection {
        /// The index.
        index: u32,
        /// Open connections.
        count: usize,
    },
    /// A histogram that cannot be turned into its exchange format: a defect of dbdyno.
    #[error("a histogram cannot be encoded: {0}")]
    Histogram(String),
    /// The talk with the runner broke.
    #[error("the driver cannot answer its runner: {0}")]
    Talk(std::io::Error),
}

impl Error {
    /// An [`Error::Sql`] with what was being done.
    pub fn sql(context: impl Into<String>) -> impl FnOnce(SqlError) -> Self {
        let context = context.into();
        move |source| Self::Sql { context, source }
    }

    /// Whether the connection to the server was lost.
    pub fn lost(&self) -> bool {
        match self {
            Self::Sql { source, .. } => source.lost,
            Self::Client { lost, .. } => *lost,
            _ => false,
        }
    }
}
