//! PostgreSQL: connecting, and the control session.
//!
//! The startup names user and database and nothing else, as libpq does without environment.

mod message;
mod session;
mod startup;

pub(super) use session::open;
pub use startup::connect;

use super::{SqlError, socket::Socket};
use message::MessageStream;

/// A connected and authenticated PostgreSQL connection.
pub struct PostgresConnection {
    stream: MessageStream,
    backend_pid: u32,
    /// What the server reported about itself, by name.
    parameters: Vec<(String, String)>,
}

/// What a measured client takes over from a [`PostgresConnection`].
#[derive(Debug)]
pub struct PostgresParts {
    /// The socket; nothing is left unread on it.
    pub socket: Socket,
    /// Process of the backend that serves the connection.
    pub backend_pid: u32,
    /// What the server reported about itself, by name.
    pub parameters: Vec<(String, String)>,
}

impl PostgresConnection {
    /// The parts; fails if the server sent bytes that nobody asked for.
    pub fn into_parts(self) -> Result<PostgresParts, SqlError> {
        Ok(PostgresParts {
            socket: self.stream.into_socket()?,
            backend_pid: self.backend_pid,
            parameters: self.parameters,
        })
    }
}
