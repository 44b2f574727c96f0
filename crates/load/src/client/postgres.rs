//! PostgreSQL: messages that are encoded once and patched in place.
//!
//! A prepared statement travels as libpq sends it for sysbench: Bind, Describe of the portal,
//! Execute and Sync in one write, results in binary. The arguments are binary as well, which libpq
//! leaves to its caller: only so have they a fixed place, and reading them costs the server less
//! than parsing text.

mod message;
mod reply;
mod whole;

use super::{Answer, Client, Draft, Failure, FailureKind};
use crate::channel::Channel;
use crate::pieces::Sheet;
use crate::program::{Program, Sql};
use crate::session::{SqlError, postgres as session};
use message::{Encoded, Place};
use model::drive::Target;
use model::workload::Mode;
use reply::{Capture, Reply};

/// A measured PostgreSQL connection.
pub struct Postgres {
    channel: Channel,
    backend: u32,
    statements: Vec<Encoded>,
    /// How many statements are prepared, and so what they are called.
    prepared: usize,
    /// All prepared messages, one behind the other.
    arena: Vec<u8>,
    /// Messages that vary, under construction.
    scratch: Vec<u8>,
    /// The text message under construction.
    sheet: Sheet,
    /// The statement whose arguments are being given.
    current: usize,
    /// Place of the next argument in the arena.
    cursor: usize,
    /// Whether arguments are appended to the scratch, and not put in their place in the arena.
    appends: bool,
}

impl Client for Postgres {
    fn connect(target: &Target) -> Result<Self, Failure> {
        let parts = session::connect(target)
            .and_then(session::PostgresConnection::into_parts)
            .map_err(|error| from_session(&error))?;
        Ok(Self {
            channel: Channel::new(parts.socket),
            backend: parts.backend_pid,
            statements: Vec::new(),
            prepared: 0,
            arena: Vec::new(),
            scratch: Vec::new(),
            sheet: Sheet::default(),
            current: 0,
            cursor: 0,
            appends: false,
        })
    }

    fn server_id(&self) -> u64 {
        u64::from(self.backend)
    }

    fn prepare(&mut self, program: &Program) -> Result<(), Failure> {
        self.statements.clear();
        self.arena.clear();
        for number in 0..std::mem::take(&mut self.prepared) {
            self.channel.send(&message::close(number))?;
            self.answer(Capture::No)?;
        }
        for sql in &program.sql {
            let encoded = match sql.mode {
                Mode::Text => message::text(sql),
                Mode::Prepared => {
                    self.prepare_one(sql).map_err(|failure| program.located(sql, failure))?
                }
            };
            self.statements.push(encoded);
        }
        let longest = self.statements.iter().map(Encoded::length_max);
        self.scratch = Vec::with_capacity(longest.max().unwrap_or_default());
        self.sheet.fit(self.statements.iter().filter_map(Encoded::pieces));
        Ok(())
    }

    #[inline]
    fn begin(&mut self, index: usize) {
        self.current = index;
        match &self.statements[index] {
            Encoded::Prepared(place) => {
                self.appends = false;
                self.cursor = place.arguments;
            }
            Encoded::Varying(place) => {
                self.appends = true;
                self.scratch.clear();
                self.scratch.extend_from_slice(&self.arena[place.start..place.arguments]);
            }
            Encoded::Text { .. } => {}
        }
    }

    #[inline(always)]
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        let Encoded::Text { pieces, .. } = &self.statements[self.current] else { return false };
        self.sheet.write(pieces, write);
        true
    }

    #[inline(always)]
    fn integer(&mut self, value: i64) {
        if self.appends {
            self.append_integer(value);
        } else {
            let (start, end) = (self.cursor + 4, self.cursor + 12);
            self.arena[start..end].copy_from_slice(&value.to_be_bytes());
            self.cursor = end;
        }
    }

    #[inline]
    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        if self.appends {
            let start = self.append_text(template, &[]);
            return &mut self.scratch[start..start + template.len()];
        }
        let start = self.cursor + 4;
        self.cursor = start + template.len();
        &mut self.arena[start..self.cursor]
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.append_text(head, tail);
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        let (sent, capture) = match &self.statements[self.current] {
            Encoded::Prepared(Place { start, end, capture, .. }) => {
                let sent = self.channel.send(&self.arena[*start..*end]);
                (sent, *capture)
            }
            Encoded::Varying(Place { arguments, end, capture, .. }) => {
                message::complete(&mut self.scratch, &self.arena[*arguments..*end]);
                (self.channel.send(&self.scratch), *capture)
            }
            Encoded::Text { capture, .. } => {
                let message = self.sheet.text();
                message::finish(message)?;
                (self.channel.send(message), *capture)
            }
        };
        match sent {
            Ok(()) => self.answer(capture),
            Err(failure) => Err(self.farewell(failure)),
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.query(b"ROLLBACK").map(|_| ())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        self.query(b"SELECT 1").map(|_| ())
    }
}

impl Postgres {
    /// Appends an integer; apart, to keep the path of prepared statements short.
    #[inline(never)]
    fn append_integer(&mut self, value: i64) {
        self.scratch.extend_from_slice(&8_u32.to_be_bytes());
        self.scratch.extend_from_slice(&value.to_be_bytes());
    }

    /// Appends a text in two parts and returns where it starts.
    #[inline(never)]
    fn append_text(&mut self, head: &[u8], tail: &[u8]) -> usize {
        let length = (head.len() + tail.len()) as u32;
        self.scratch.extend_from_slice(&length.to_be_bytes());
        let start = self.scratch.len();
        self.scratch.extend_from_slice(head);
        self.scratch.extend_from_slice(tail);
        start
    }

    #[inline]
    fn answer(&mut self, capture: Capture) -> Result<Answer, Failure> {
        self.channel.receive()?;
        if capture == Capture::No
            && let Some(answer) = whole::read(self.channel.unread())
        {
            self.channel.clear();
            return Ok(answer);
        }
        self.any_answer(capture)
    }

    /// Reads an answer of which the first bytes have been received.
    #[inline(never)]
    fn any_answer(&mut self, capture: Capture) -> Result<Answer, Failure> {
        let mut reply = Reply::new(capture);
        loop {
            let used = reply.read(self.channel.unread())?;
            self.channel.consume(used);
            if reply.is_done() {
                return reply.into_answer();
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
        let told = self.channel.receive().and_then(|()| self.any_answer(Capture::No));
        match told {
            Err(told) if told.code() != failure.code() => told,
            _ => failure,
        }
    }

    fn query(&mut self, sql: &[u8]) -> Result<Answer, Failure> {
        self.channel.send(&message::query(sql))?;
        self.answer(Capture::No)
    }

    fn prepare_one(&mut self, sql: &Sql) -> Result<Encoded, Failure> {
        let text = sql.marked(|position| format!("${}", position + 1));
        let number = self.prepared;
        self.channel.send(&message::parse(number, &text, sql))?;
        self.answer(Capture::No).map_err(|failure| {
            let message = format!("{}, in `{text}`", failure.message());
            Failure::new(failure.kind(), failure.code(), message)
        })?;
        self.prepared += 1;
        let encoded = if sql.varies() { Encoded::Varying } else { Encoded::Prepared };
        message::execution(&mut self.arena, number, sql).map(encoded)
    }
}

fn from_session(error: &SqlError) -> Failure {
    let kind = if error.lost { FailureKind::Lost } else { FailureKind::Statement };
    Failure::new(kind, error.code.clone(), error.message.clone())
}
