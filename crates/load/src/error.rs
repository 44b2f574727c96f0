//! The one error type of this crate.

use crate::wire::Failure;

/// Why the load engine could not do what it was told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server refused a statement or a connection, or the connection was lost.
    #[error("{context}: {failure}")]
    Server {
        /// What was being done, naming the table or statement.
        context: String,
        /// The server's answer.
        failure: Failure,
    },
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
    #[error("{}", .0.message())]
    Protocol(Failure),
    /// A thread could not be started.
    #[error(
        "the thread of connection {index} cannot be started: {source}; raise `ulimit -u` and \
         `pids.max` of the control group (`TasksMax` of systemd), or use fewer clients"
    )]
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
    /// An [`Error::Server`] with what was being done.
    pub fn server(context: impl Into<String>) -> impl FnOnce(Failure) -> Self {
        let context = context.into();
        move |failure| Self::Server { context, failure }
    }

    /// Whether the connection to the server was lost.
    pub fn lost(&self) -> bool {
        matches!(self, Self::Server { failure, .. } if failure.is_lost())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_room_for_threads_is_told_what_to_raise() {
        let source = std::io::Error::other("no room");
        let message = Error::Thread { index: 7, source }.to_string();
        assert!(message.contains("connection 7 cannot be started: no room; raise `ulimit -u`"));
    }
}
