//! MySQL and MariaDB.
//!
//! The capabilities are those that sysbench 1.0.20 over MariaDB's connector asks for, because they
//! decide how a server answers each statement: end-of-result packets are kept (`DEPRECATE_EOF` is
//! not asked for), MariaDB may leave out the column definitions of a prepared statement that it
//! sent before, and changed rows are counted, not found ones.

mod client;
mod dialog;
mod execution;
mod handshake;
mod insert;
mod packet;
mod reply;
mod row;
mod session;
mod whole;

pub(super) use client::Mysql;

use crate::wire::{Answer, Failure};
use model::drive::Target;
use packet::Packets;
use reply::{Definitions, Reply, RowFormat};

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;
/// The server does not prepare this kind of statement.
const UNSUPPORTED_PREPARE: &str = "1295";

/// A connected and authenticated connection, of a client or a session.
pub(super) struct Connection {
    packets: Packets,
    definitions: Definitions,
    /// Texts at the head of a column definition.
    definition_texts: usize,
    id: u32,
    server_version: String,
}

impl Connection {
    /// Connects to `target`, authenticates and executes its initial statements. On error the
    /// connection is closed.
    fn open(target: &Target) -> Result<Self, Failure> {
        let mut connection = handshake::enter(Packets::connect(target)?, target)?;
        connection.packets.channel.end_login()?;
        for sql in &target.initial_sql {
            connection.execute(sql).map_err(|failure| failure.in_statement(sql))?;
        }
        Ok(connection)
    }

    /// The same connection once more, for who uses it in turn with this one.
    fn twin(&self) -> Result<Self, Failure> {
        Ok(Self {
            packets: Packets::new(self.packets.channel.twin()?),
            server_version: self.server_version.clone(),
            ..*self
        })
    }

    /// Executes a text and forgets its rows.
    fn execute(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.packets.command(COM_QUERY, sql.as_bytes())?;
        self.answer()
    }

    /// Reads an answer whose rows nobody takes; some of it may have been received.
    #[inline(never)]
    fn answer(&mut self) -> Result<Answer, Failure> {
        self.read(&mut Reply::new(self.definitions, RowFormat::Text, None))
    }

    fn read(&mut self, reply: &mut Reply<'_>) -> Result<Answer, Failure> {
        let channel = &mut self.packets.channel;
        loop {
            match reply.read(channel.unread()) {
                Ok(used) => channel.consume(used),
                Err((used, failure)) => {
                    channel.consume(used);
                    return Err(failure);
                }
            }
            if reply.is_done() {
                return reply.answer();
            }
            channel.receive()?;
        }
    }

    /// Prepares a statement.
    fn prepare(&mut self, sql: &str) -> Result<Prepared, Failure> {
        self.packets.command(COM_STMT_PREPARE, sql.as_bytes())?;
        let head = self.packets.read()?;
        let &[0x00, a, b, c, d, columns_low, columns_high, low, high, ..] = head.as_slice() else {
            return Err(reply::nonsense("a short answer to a prepared statement"));
        };
        let parameters = u16::from_le_bytes([low, high]);
        let columns = u16::from_le_bytes([columns_low, columns_high]);
        // Definitions, then an end packet.
        for _ in 0..u32::from(parameters) + u32::from(parameters > 0) {
            self.packets.read()?;
        }
        let texts = self.definition_texts;
        let column = |packet: Vec<u8>| row::Column::of(&packet, texts);
        let columns = (0..columns).map(|_| self.packets.read().map(column));
        let columns: Vec<_> = columns.collect::<Result<_, _>>()?;
        if !columns.is_empty() {
            self.packets.read()?;
        }
        Ok(Prepared { id: u32::from_le_bytes([a, b, c, d]), parameters, columns })
    }

    /// Closes a prepared statement; the server does not answer this command.
    fn close(&mut self, id: u32) -> Result<(), Failure> {
        self.packets.command(COM_STMT_CLOSE, &id.to_le_bytes())
    }
}

/// A prepared statement, as the server describes it.
struct Prepared {
    id: u32,
    parameters: u16,
    /// Of its result, as far as they are known before it is executed.
    columns: Vec<row::Column>,
}
