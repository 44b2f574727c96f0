//! MySQL and MariaDB: packets that are encoded once and patched in place.
//!
//! A prepared statement travels as sysbench over libmariadb sends it: the types of the arguments
//! with the first execution only, 64-bit integers and VAR_STRINGs, no cursor. Statements that a
//! server does not prepare (BEGIN, error 1295) are sent as text, as sysbench does too.

mod packet;
mod reply;
mod whole;

use super::{Answer, Client, Draft, Failure, FailureKind};
use crate::channel::Channel;
use crate::pieces::Sheet;
use crate::program::{Program, Sql};
use crate::session::{SqlError, mysql as session};
use model::drive::Target;
use model::workload::Mode;
use packet::{Encoded, Prepared};
use reply::{Capture, Definitions, Reply};

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_CLOSE: u8 = 0x19;
/// The server does not prepare this kind of statement.
const UNSUPPORTED_PREPARE: &str = "1295";
/// MariaDB's capability to leave out column definitions that it sent before.
const CACHED_DEFINITIONS: u32 = 0x10;
/// MariaDB's capability to tell more of a column's type than others do.
const EXTENDED_DEFINITIONS: u32 = 0x08;

/// A measured MySQL connection.
pub struct Mysql {
    channel: Channel,
    definitions: Definitions,
    /// Texts at the head of a column definition: catalog, schema, table twice, name twice, and of
    /// MariaDB the extended type.
    definition_texts: usize,
    connection_id: u32,
    statements: Vec<Encoded>,
    /// Numbers of the prepared statements, to be closed with them.
    prepared: Vec<u32>,
    /// All prepared packets, one behind the other.
    arena: Vec<u8>,
    /// The first execution of a prepared packet, or one that varies, under construction.
    scratch: Vec<u8>,
    /// The text packet under construction.
    sheet: Sheet,
    /// The statement whose arguments are being given.
    current: usize,
    /// Place of the next argument in the arena.
    cursor: usize,
    /// Whether arguments are appended to the scratch, and not put in their place in the arena.
    appends: bool,
}

impl Client for Mysql {
    fn connect(target: &Target) -> Result<Self, Failure> {
        let parts = session::connect(target)
            .and_then(session::MysqlConnection::into_parts)
            .map_err(|error| from_session(&error))?;
        let cached = parts.mariadb_capabilities & CACHED_DEFINITIONS != 0;
        let extended = parts.mariadb_capabilities & EXTENDED_DEFINITIONS != 0;
        Ok(Self {
            channel: Channel::new(parts.socket),
            definitions: if cached { Definitions::PerhapsCached } else { Definitions::Always },
            definition_texts: if extended { 7 } else { 6 },
            connection_id: parts.connection_id,
            statements: Vec::new(),
            prepared: Vec::new(),
            arena: Vec::new(),
            scratch: Vec::new(),
            sheet: Sheet::default(),
            current: 0,
            cursor: 0,
            appends: false,
        })
    }

    fn server_id(&self) -> u64 {
        u64::from(self.connection_id)
    }

    fn prepare(&mut self, program: &Program) -> Result<(), Failure> {
        self.statements.clear();
        self.arena.clear();
        for number in std::mem::take(&mut self.prepared) {
            let close = [&[5, 0, 0, 0, COM_STMT_CLOSE][..], &number.to_le_bytes()].concat();
            self.channel.send(&close)?;
        }
        for sql in &program.sql {
            let encoded = match sql.mode {
                Mode::Text => Encoded::text(sql),
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
            Encoded::Prepared(prepared) => {
                self.appends = false;
                self.cursor = prepared.arguments;
            }
            Encoded::Varying(prepared) => {
                self.appends = true;
                prepared.begin(&self.arena, &mut self.scratch);
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
            let end = self.cursor + 8;
            self.arena[self.cursor..end].copy_from_slice(&value.to_le_bytes());
            self.cursor = end;
        }
    }

    #[inline]
    fn text(&mut self, template: &[u8]) -> &mut [u8] {
        if self.appends {
            let start = self.append_text(template, &[]);
            return &mut self.scratch[start..start + template.len()];
        }
        let start = self.cursor + packet::prefix_length(template.len());
        self.cursor = start + template.len();
        &mut self.arena[start..self.cursor]
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.append_text(head, tail);
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        let capture = match &mut self.statements[self.current] {
            Encoded::Prepared(prepared) if prepared.bound => {
                self.channel.send(&self.arena[prepared.start..prepared.end])?;
                prepared.capture
            }
            Encoded::Prepared(prepared) => {
                prepared.first(&self.arena, &mut self.scratch);
                self.channel.send(&self.scratch)?;
                prepared.bound = true;
                prepared.capture
            }
            Encoded::Varying(prepared) => {
                packet::finish(&mut self.scratch)?;
                self.channel.send(&self.scratch)?;
                prepared.bound = true;
                prepared.capture
            }
            Encoded::Text { capture, .. } => {
                let packet = self.sheet.text();
                packet::finish(packet)?;
                self.channel.send(packet)?;
                *capture
            }
        };
        self.answer(capture)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.query(b"ROLLBACK").map(|_| ())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        self.query(b"DO 1").map(|_| ())
    }
}

impl Mysql {
    /// Appends an integer; apart, to keep the path of prepared statements short.
    #[inline(never)]
    fn append_integer(&mut self, value: i64) {
        self.scratch.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends a text in two parts and returns where it starts.
    #[inline(never)]
    fn append_text(&mut self, head: &[u8], tail: &[u8]) -> usize {
        packet::push_length(&mut self.scratch, head.len() + tail.len());
        let start = self.scratch.len();
        self.scratch.extend_from_slice(head);
        self.scratch.extend_from_slice(tail);
        start
    }

    #[inline]
    fn answer(&mut self, capture: Capture) -> Result<Answer, Failure> {
        self.channel.receive()?;
        if capture == Capture::No
            && let Some(answer) = whole::read(self.channel.unread(), self.definitions)
        {
            self.channel.clear();
            return Ok(answer);
        }
        self.any_answer(capture)
    }

    /// Reads an answer of which the first bytes have been received.
    #[inline(never)]
    fn any_answer(&mut self, capture: Capture) -> Result<Answer, Failure> {
        let mut reply = Reply::new(self.definitions, capture);
        loop {
            match reply.read(self.channel.unread()) {
                Ok(used) => self.channel.consume(used),
                Err((used, failure)) => {
                    self.channel.consume(used);
                    return Err(failure);
                }
            }
            if reply.is_done() {
                return Ok(reply.answer());
            }
            self.channel.receive()?;
        }
    }

    fn query(&mut self, sql: &[u8]) -> Result<Answer, Failure> {
        self.channel.send(&packet::command(COM_QUERY, sql)?)?;
        self.answer(Capture::No)
    }

    /// Prepares one statement, or keeps it as text where the server will not prepare it.
    fn prepare_one(&mut self, sql: &Sql) -> Result<Encoded, Failure> {
        let text = sql.marked(|_| "?".to_owned());
        self.channel.send(&packet::command(COM_STMT_PREPARE, text.as_bytes())?)?;
        let head = match self.packet() {
            Ok(head) => head,
            Err(failure) if failure.code() == UNSUPPORTED_PREPARE && sql.parameters.is_empty() => {
                return Ok(Encoded::text(sql));
            }
            Err(failure) => return Err(in_statement(failure, &text)),
        };
        let number = |at: usize| {
            let bytes = head.get(at..at + 2).unwrap_or_default();
            bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
        };
        let (statement, columns, parameters) = (head.get(1..5), number(5), number(7));
        let Some(&[a, b, c, d]) = statement else {
            return Err(reply::nonsense("a short answer to a prepared statement"));
        };
        if parameters > 0 {
            self.packets(parameters + 1)?;
        }
        let definitions = if columns > 0 { self.packets(columns + 1)? } else { Vec::new() };
        if parameters != sql.parameters.len() {
            let (code, given) = ("client", sql.parameters.len());
            let message = format!("`{text}` has {parameters} arguments, but gets {given}");
            return Err(Failure::new(FailureKind::Statement, code, message));
        }
        let id = u32::from_le_bytes([a, b, c, d]);
        self.prepared.push(id);
        let capture = match definitions.first() {
            Some(first) if sql.capture => packet::capture(columns, first, self.definition_texts),
            _ => Capture::No,
        };
        let prepared = Prepared::encode(&mut self.arena, id, (sql, capture))?;
        let encoded = if sql.varies() { Encoded::Varying } else { Encoded::Prepared };
        Ok(encoded(prepared))
    }

    fn packets(&mut self, count: usize) -> Result<Vec<Vec<u8>>, Failure> {
        (0..count).map(|_| self.packet()).collect()
    }

    /// Reads one whole packet; not for the path of a statement.
    fn packet(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            if let [a, b, c, _, body @ ..] = self.channel.unread() {
                let length = u32::from_le_bytes([*a, *b, *c, 0]) as usize;
                if let Some(body) = body.get(..length) {
                    let body = body.to_vec();
                    self.channel.consume(4 + length);
                    if body.first() == Some(&0xff) {
                        reply::server_error(&body)?;
                        continue;
                    }
                    return Ok(body);
                }
            }
            self.channel.receive()?;
        }
    }
}

fn from_session(error: &SqlError) -> Failure {
    let kind = if error.lost { FailureKind::Lost } else { FailureKind::Statement };
    Failure::new(kind, error.code.clone(), error.message.clone())
}

fn in_statement(failure: Failure, sql: &str) -> Failure {
    let message = format!("{}, in `{sql}`", failure.message());
    Failure::new(failure.kind(), failure.code(), message)
}
