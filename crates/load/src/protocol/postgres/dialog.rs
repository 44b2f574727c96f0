//! A connection of a program that decides while it goes.
//!
//! An answer stays where it was received until the next statement: its rows are counted at once and
//! understood when somebody asks for them. A statement is parsed when its arguments are known, as
//! sysbench does it: integers as `bigint`, texts as `varchar`.

use super::{
    Connection, message,
    reply::{self, DataRow},
};
use crate::wire::{Argument, Dialog, Failure, Kind, Numbered, Row, Told, Value};
use model::{drive::Target, number::counted, sql::pieces};

const OID_INT8: u32 = 20;
const OID_FLOAT8: u32 = 701;
const OID_VARCHAR: u32 = 1043;

pub(super) fn open(target: &Target) -> Result<Box<dyn Dialog>, Failure> {
    Ok(on(Connection::open(target)?))
}

/// A dialog on a connection that is open.
pub(super) fn on(connection: Connection) -> Box<dyn Dialog> {
    let (statements, answer) = (Numbered::new(), Scan::default());
    Box::new(PostgresDialog { connection, statements, answer })
}

struct PostgresDialog {
    connection: Connection,
    statements: Numbered<Statement>,
    /// The last answer, and up to where its rows were handed out.
    answer: Scan,
}

struct Statement {
    sql: String,
    /// Arguments that it was parsed with; `None` before.
    bound: Option<usize>,
    /// The messages of an execution: Bind's head, encoded once, and the rest.
    messages: Vec<u8>,
    /// Bytes up to the arguments.
    head: usize,
}

impl Dialog for PostgresDialog {
    fn query(&mut self, sql: &[u8]) -> Result<Told, Failure> {
        if sql.contains(&0) {
            return Err(Failure::own("a statement has a zero byte"));
        }
        self.begin();
        let mut out = Vec::with_capacity(sql.len() + 6);
        message::message(&mut out, b'Q', |out| {
            out.extend_from_slice(sql);
            out.push(0);
        });
        self.send(&out)?;
        self.read()
    }

    fn prepare(&mut self, sql: &str) -> Result<usize, Failure> {
        let sql = sql.to_owned();
        // Others are sent with the kinds of their parameters, known when these are bound.
        let is_known = pieces(&sql, "postgres").len() == 1;
        let statement = Statement { sql, bound: None, messages: Vec::new(), head: 0 };
        let number = self.statements.add(statement);
        if is_known && let Err(failure) = self.bind(number, &[]) {
            self.statements.close(number);
            return Err(failure);
        }
        Ok(number)
    }

    fn bind(&mut self, number: usize, kinds: &[Kind]) -> Result<(), Failure> {
        self.begin();
        let statement = self.statements.known(number)?;
        let text = numbered(&statement.sql, kinds.len())?;
        let mut out = Vec::new();
        if statement.bound.take().is_some() {
            out.extend_from_slice(&message::close(number));
            self.connection.channel.send(&out)?;
            self.connection.answer()?;
            out.clear();
        }
        parse(&mut out, number, &text, kinds);
        statement.prepare_messages(number, kinds.len());
        self.connection.channel.send(&out)?;
        self.connection.answer()?;
        statement.bound = Some(kinds.len());
        Ok(())
    }

    fn execute(&mut self, number: usize, arguments: &[Argument<'_>]) -> Result<Told, Failure> {
        self.begin();
        let statement = self.statements.known(number)?;
        statement.encode(arguments)?;
        let messages = std::mem::take(&mut statement.messages);
        let sent = self.send(&messages);
        self.statements.known(number)?.messages = messages;
        sent?;
        self.read()
    }

    fn close(&mut self, number: usize) -> Result<(), Failure> {
        self.begin();
        match self.statements.close(number) {
            Some(Statement { bound: Some(_), .. }) => {
                self.connection.channel.send(&message::close(number))?;
                self.connection.answer().map(drop)
            }
            _ => Ok(()),
        }
    }

    fn next_row(&mut self, take: &mut dyn FnMut(Value<'_>)) -> Result<bool, Failure> {
        let bytes = self.connection.channel.unread();
        let Some(body) = self.answer.next_row(bytes)? else { return Ok(false) };
        let (columns, values) = body.split_first_chunk().unwrap_or((&[0; 2], &[]));
        let mut row = DataRow { types: [].iter(), values, binary: false };
        for _ in 0..u16::from_be_bytes(*columns) {
            take(row.next().ok_or_else(|| reply::nonsense("a short row"))?);
        }
        Ok(true)
    }
}

/// The text with `$1` and so on.
fn numbered(sql: &str, given: usize) -> Result<String, Failure> {
    let pieces = pieces(sql, "postgres");
    let wanted = pieces.len() - 1;
    if wanted != given {
        return Err(Failure::own(format!(
            "the statement has {}, and {} were bound",
            counted(wanted, "placeholder"),
            counted(given, "parameter")
        )));
    }
    let mut text = String::new();
    for (at, piece) in pieces.iter().enumerate() {
        if at > 0 {
            text.push_str(&format!("${at}"));
        }
        text.push_str(piece);
    }
    Ok(text)
}

/// Parse of statement number `number`, and Sync.
fn parse(out: &mut Vec<u8>, number: usize, text: &str, kinds: &[Kind]) {
    message::message(out, b'P', |out| {
        message::name(out, number);
        out.extend_from_slice(text.as_bytes());
        out.push(0);
        out.extend_from_slice(&(kinds.len() as u16).to_be_bytes());
        for kind in kinds {
            let oid = match kind {
                Kind::Integer => OID_INT8,
                Kind::Real => OID_FLOAT8,
                Kind::Text => OID_VARCHAR,
            };
            out.extend_from_slice(&oid.to_be_bytes());
        }
    });
    message::message(out, b'S', |_| {});
}

impl Statement {
    /// Bind up to its arguments.
    fn prepare_messages(&mut self, number: usize, count: usize) {
        let out = &mut self.messages;
        out.clear();
        out.extend_from_slice(b"B\0\0\0\0\0");
        message::name(out, number);
        // All arguments in binary.
        out.extend_from_slice(if count > 0 { &[0, 1, 0, 1] } else { &[0, 0] });
        out.extend_from_slice(&(count as u16).to_be_bytes());
        self.head = out.len();
    }

    fn encode(&mut self, arguments: &[Argument<'_>]) -> Result<(), Failure> {
        if self.bound != Some(arguments.len()) {
            return Err(Failure::own("the statement is executed before its parameters are bound"));
        }
        let out = &mut self.messages;
        out.truncate(self.head);
        for argument in arguments {
            match argument {
                Argument::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
                Argument::Integer(value) => {
                    out.extend_from_slice(&[0, 0, 0, 8]);
                    out.extend_from_slice(&value.to_be_bytes());
                }
                Argument::Real(value) => {
                    out.extend_from_slice(&[0, 0, 0, 8]);
                    out.extend_from_slice(&value.to_be_bytes());
                }
                Argument::Text(text) => {
                    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    out.extend_from_slice(text);
                }
            }
        }
        // All results as texts, as sysbench asks for them.
        out.extend_from_slice(&[0, 0]);
        message::finish(out)?;
        out.extend_from_slice(b"D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04");
        Ok(())
    }
}

impl PostgresDialog {
    fn begin(&mut self) {
        self.connection.channel.clear();
        self.answer = Scan::default();
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let sent = self.connection.channel.send(bytes);
        sent.map_err(|failure| self.connection.farewell(failure))
    }

    /// Receives an answer up to the server's readiness.
    fn read(&mut self) -> Result<Told, Failure> {
        let channel = &mut self.connection.channel;
        let mut scan = Scan::default();
        loop {
            if let Err(lost) = channel.receive() {
                return Err(scan.failure.map_or(lost, Failure::and_lost));
            }
            if scan.scan(channel.unread())? {
                break;
            }
        }
        if let Some(failure) = scan.failure.take() {
            return Err(failure);
        }
        self.answer = scan;
        let Scan { columns, rows, changed, .. } = self.answer;
        Ok(Told { columns, rows, changed })
    }
}

/// How far an answer is understood.
#[derive(Default)]
struct Scan {
    /// Bytes that are understood.
    at: usize,
    /// Columns of the first result set.
    columns: Option<u64>,
    rows: u64,
    changed: u64,
    /// Where the next message that may be a row to be handed out begins, and the rows left.
    next: usize,
    left: u64,
    /// Result sets that have begun.
    sets: u32,
    failure: Option<Failure>,
}

impl Scan {
    /// Goes on in all bytes received so far; whether the answer is complete.
    fn scan(&mut self, bytes: &[u8]) -> Result<bool, Failure> {
        while let Some((kind, body)) = message::first(bytes.get(self.at..).unwrap_or_default())? {
            self.at += message::HEAD + body.len();
            match kind {
                b'D' if self.sets == 1 => {
                    self.rows += 1;
                    self.left += 1;
                }
                b'T' => {
                    self.sets += 1;
                    if self.sets == 1 {
                        let count = body.first_chunk().map_or(0, |two| u16::from_be_bytes(*two));
                        self.columns = Some(count.into());
                        self.next = self.at;
                    }
                }
                b'C' => self.changed = self.changed.saturating_add(reply::changed(body)),
                b'E' => {
                    self.failure.get_or_insert_with(|| reply::server_error(body));
                }
                b'Z' => return Ok(true),
                b'1' | b'2' | b'3' | b'n' | b'I' | b's' | b't' | b'N' | b'S' | b'A' | b'D' => {}
                _ => {
                    return Err(Failure::lost(
                        "the server began a COPY, which scripts cannot take part in",
                    ));
                }
            }
        }
        Ok(false)
    }

    /// The body of the next row.
    fn next_row<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<&'a [u8]>, Failure> {
        if self.left == 0 {
            return Ok(None);
        }
        while let Some((kind, body)) = message::first(bytes.get(self.next..).unwrap_or_default())? {
            self.next += message::HEAD + body.len();
            if kind == b'D' {
                self.left -= 1;
                return Ok(Some(body));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_understood_in_any_pieces_and_its_rows_wait() {
        let mut bytes = Vec::new();
        let about = [&b"\0\x01c\0"[..], &[0; 6], &25_u32.to_be_bytes(), &[0; 8]].concat();
        let parts: [(u8, &[u8]); 5] = [
            (b'T', &about),
            (b'D', b"\0\x01\0\0\0\x02ab"),
            (b'D', b"\0\x01\xff\xff\xff\xff"),
            (b'C', b"SELECT 2\0"),
            (b'Z', b"I"),
        ];
        for (kind, body) in parts {
            message::message(&mut bytes, kind, |out| out.extend_from_slice(body));
        }
        let mut scan = Scan::default();
        for end in 0..bytes.len() {
            assert!(!scan.scan(&bytes[..end]).unwrap());
        }
        assert!(scan.scan(&bytes).unwrap());
        assert_eq!((scan.columns, scan.rows, scan.changed), (Some(1), 2, 0));
        assert_eq!(scan.next_row(&bytes).unwrap().unwrap().len(), 8);
        assert!(scan.next_row(&bytes).unwrap().is_some());
        assert_eq!(scan.next_row(&bytes).unwrap(), None);
    }

    #[test]
    fn placeholders_are_numbered() {
        assert_eq!(numbered("a=? AND b='?' OR c=?", 2).unwrap(), "a=$1 AND b='?' OR c=$2");
        assert!(
            numbered("a=?", 2).unwrap_err().message().contains("1 placeholder, and 2 parameters")
        );
    }
}
