//! MySQL and MariaDB: connecting, and the control session.
//!
//! The capabilities are those that sysbench 1.0.20 over MariaDB's connector asks for, because they
//! decide how a server answers each statement: end-of-result packets are kept (`DEPRECATE_EOF` is
//! not asked for), MariaDB may leave out the column definitions of a prepared statement that it
//! sent before, and changed rows are counted, not found ones.

mod handshake;
mod insert;
mod packet;
mod reply;
mod session;

pub use handshake::connect;
pub(super) use session::open;

use super::{SqlError, socket::Socket};
use packet::PacketStream;

/// A connected and authenticated MySQL connection.
pub struct MysqlConnection {
    stream: PacketStream,
    capabilities: u32,
    mariadb_capabilities: u32,
    connection_id: u32,
    server_version: String,
}

/// What a measured client takes over from a [`MysqlConnection`].
#[derive(Debug)]
pub struct MysqlParts {
    /// The socket; nothing is left unread on it.
    pub socket: Socket,
    /// Capability flags of the connection, as agreed.
    pub capabilities: u32,
    /// MariaDB's extended capability flags, as agreed; 0 on MySQL. Bit 4 (`0x10`) is the cache of
    /// column definitions: the first packet of a result set then carries a second byte, 0 if the
    /// definitions of a prepared statement's columns are left out.
    pub mariadb_capabilities: u32,
    /// The server's own number of the connection.
    pub connection_id: u32,
    /// Version that the server reports.
    pub server_version: String,
}

impl MysqlConnection {
    /// The parts; fails if the server sent bytes that nobody asked for.
    pub fn into_parts(self) -> Result<MysqlParts, SqlError> {
        Ok(MysqlParts {
            socket: self.stream.into_socket()?,
            capabilities: self.capabilities,
            mariadb_capabilities: self.mariadb_capabilities,
            connection_id: self.connection_id,
            server_version: self.server_version,
        })
    }
}
