//! PostgreSQL.
//!
//! The startup names user and database and nothing else, as libpq does without environment.

mod client;
mod dialog;
mod message;
mod reply;
mod session;
mod startup;
mod whole;

pub(super) use client::Postgres;

use crate::wire::{Answer, Failure, channel::Channel};
use model::drive::Target;
use reply::Reply;

/// A connected and authenticated connection, of a client or a session.
pub(super) struct Connection {
    channel: Channel,
    /// Process of the backend that serves it.
    backend: u32,
    server_version: String,
}

impl Connection {
    /// The same connection once more, for who uses it in turn with this one.
    fn twin(&self) -> Result<Self, Failure> {
        let server_version = self.server_version.clone();
        Ok(Self { channel: self.channel.twin()?, backend: self.backend, server_version })
    }

    /// Connects to `target`, authenticates and executes its initial statements. On error the
    /// connection is closed.
    fn open(target: &Target) -> Result<Self, Failure> {
        let mut connection = startup::enter(Channel::connect(target)?, target)?;
        connection.channel.end_login()?;
        for sql in &target.initial_sql {
            connection.execute(sql).map_err(|failure| failure.in_statement(sql))?;
        }
        Ok(connection)
    }

    /// Sends one message.
    fn send(&mut self, kind: u8, body: &[u8]) -> Result<(), Failure> {
        let mut out = Vec::new();
        message::message(&mut out, kind, |out| out.extend_from_slice(body));
        self.channel.send(&out)
    }

    /// Executes a text and forgets its rows.
    fn execute(&mut self, sql: &str) -> Result<Answer, Failure> {
        self.channel.send(&message::query(sql))?;
        self.answer()
    }

    /// Reads an answer whose rows nobody takes; some of it may have been received.
    #[inline(never)]
    fn answer(&mut self) -> Result<Answer, Failure> {
        let mut reply = Reply::new(None);
        self.read(&mut reply)?;
        reply.into_answer()
    }

    fn read(&mut self, reply: &mut Reply<'_>) -> Result<(), Failure> {
        loop {
            let used = reply.read(self.channel.unread())?;
            self.channel.consume(used);
            if reply.is_done() {
                return Ok(());
            }
            if let Err(failure) = self.channel.receive() {
                // A server that gives a reason for its farewell is worth quoting.
                return Err(reply.farewell().unwrap_or(failure));
            }
        }
    }

    /// The reason that a server gave before it closed the connection, which sending alone cannot
    /// find; else `failure` itself.
    #[cold]
    fn farewell(&mut self, failure: Failure) -> Failure {
        match self.answer() {
            Err(told) if told.code() != failure.code() => told,
            _ => failure,
        }
    }
}
