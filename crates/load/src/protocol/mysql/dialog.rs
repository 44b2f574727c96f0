//! A connection of a program that decides while it goes.
//!
//! An answer stays where it was received until the next statement: its rows are counted at once and
//! understood when somebody asks for them.

use super::{
    COM_QUERY, Connection, Prepared, UNSUPPORTED_PREPARE,
    execution::{self, Binary, NULLS, TYPE_LONGLONG, TYPE_VAR_STRING},
    packet::{CONTINUED, HEAD},
    reply::{self, Definitions, EOF_BELOW, LOCAL_FILE, MORE_RESULTS},
    row::{BinaryRow, Described, TextRow},
};
use crate::wire::{Argument, Dialog, Failure, Kind, Numbered, Row, Told, Value, encoder::Format};
use model::drive::Target;

const TYPE_DOUBLE: [u8; 2] = [5, 0];

pub(super) fn open(target: &Target) -> Result<Box<dyn Dialog>, Failure> {
    Ok(on(Connection::open(target)?))
}

/// A dialog on a connection that is open.
pub(super) fn on(connection: Connection) -> Box<dyn Dialog> {
    let (statements, answer) = (Numbered::new(), Scan::new(0));
    Box::new(MysqlDialog { connection, statements, answer, from: None })
}

struct MysqlDialog {
    connection: Connection,
    statements: Numbered<Statement>,
    /// The last answer, and up to where its rows were handed out.
    answer: Scan,
    /// The prepared statement that the last answer belongs to.
    from: Option<usize>,
}

struct Statement {
    /// `None` where the server does not prepare it and it is sent as text.
    prepared: Option<Prepared>,
    sql: String,
    kinds: Vec<Kind>,
    /// The packet of an execution: its head, encoded once, and the arguments.
    packet: Vec<u8>,
    /// Bytes of the head with the bitmap of NULLs.
    head: usize,
    /// Whether the server knows the types.
    told_types: bool,
}

impl Dialog for MysqlDialog {
    fn query(&mut self, sql: &[u8]) -> Result<Told, Failure> {
        self.begin(None);
        self.connection.packets.command(COM_QUERY, sql)?;
        self.read()
    }

    fn prepare(&mut self, sql: &str) -> Result<usize, Failure> {
        self.begin(None);
        let prepared = match self.connection.prepare(sql) {
            Ok(prepared) => Some(prepared),
            Err(failure) if failure.code() == UNSUPPORTED_PREPARE => None,
            Err(failure) => return Err(failure),
        };
        let mut packet = Vec::new();
        if let Some(Prepared { id, parameters, .. }) = &prepared {
            execution::head(&mut packet, *id, usize::from(*parameters), 1);
        }
        Ok(self.statements.add(Statement {
            prepared,
            sql: sql.to_owned(),
            kinds: Vec::new(),
            head: packet.len(),
            packet,
            told_types: false,
        }))
    }

    fn bind(&mut self, statement: usize, kinds: &[Kind]) -> Result<(), Failure> {
        let statement = self.statements.known(statement)?;
        let wanted = statement.prepared.as_ref().map_or(0, |one| usize::from(one.parameters));
        if wanted != kinds.len() {
            return Err(Failure::own(format!(
                "the statement has {wanted} placeholders and {} parameters were bound",
                kinds.len()
            )));
        }
        statement.kinds = kinds.to_vec();
        statement.told_types = false;
        Ok(())
    }

    fn execute(&mut self, number: usize, arguments: &[Argument<'_>]) -> Result<Told, Failure> {
        self.begin(Some(number));
        let statement = self.statements.known(number)?;
        if statement.prepared.is_none() {
            self.from = None;
            self.connection.packets.command(COM_QUERY, statement.sql.as_bytes())?;
            return self.read();
        }
        statement.encode(arguments)?;
        self.connection.packets.channel.send(&statement.packet)?;
        self.read()
    }

    fn close(&mut self, number: usize) -> Result<(), Failure> {
        self.begin(None);
        let prepared = self.statements.close(number).and_then(|statement| statement.prepared);
        prepared.map_or(Ok(()), |one| self.connection.close(one.id))
    }

    fn next_row(&mut self, take: &mut dyn FnMut(Value<'_>)) -> Result<bool, Failure> {
        let statements = &self.statements;
        let prepared = self.from.and_then(|number| statements.get(number));
        let prepared = prepared.and_then(|statement| statement.prepared.as_ref());
        let bytes = self.connection.packets.channel.unread();
        let Some(body) = self.answer.next_row(bytes) else { return Ok(false) };
        let columns = self.answer.columns.unwrap_or_default();
        let mut hand = |row: &mut dyn Row| {
            for _ in 0..columns {
                take(row.next().ok_or_else(|| reply::nonsense("a short row"))?);
            }
            Ok(true)
        };
        match prepared {
            Some(prepared) => hand(&mut BinaryRow::new(&prepared.columns, body)),
            None => hand(&mut TextRow(body)),
        }
    }
}

impl Statement {
    /// Puts the arguments into the packet.
    fn encode(&mut self, arguments: &[Argument<'_>]) -> Result<(), Failure> {
        let wanted = self.prepared.as_ref().map_or(0, |one| usize::from(one.parameters));
        if wanted != arguments.len() || wanted != self.kinds.len() {
            return Err(Failure::own(format!(
                "the statement has {wanted} placeholders and {} parameters were bound",
                self.kinds.len()
            )));
        }
        let packet = &mut self.packet;
        packet.truncate(self.head);
        if wanted > 0 {
            packet[NULLS..self.head - 1].fill(0);
            packet[self.head - 1] = u8::from(!self.told_types);
        }
        if !self.told_types {
            for kind in &self.kinds {
                packet.extend_from_slice(match kind {
                    Kind::Integer => &TYPE_LONGLONG,
                    Kind::Real => &TYPE_DOUBLE,
                    Kind::Text => &TYPE_VAR_STRING,
                });
            }
        }
        for (at, argument) in arguments.iter().enumerate() {
            match argument {
                Argument::Null => packet[NULLS + at / 8] |= 1 << (at % 8),
                Argument::Integer(value) => packet.extend_from_slice(&value.to_le_bytes()),
                Argument::Real(value) => packet.extend_from_slice(&value.to_le_bytes()),
                Argument::Text(text) => {
                    Binary::push_length(packet, text.len());
                    packet.extend_from_slice(text);
                }
            }
        }
        execution::finish(packet)?;
        self.told_types = true;
        Ok(())
    }
}

impl MysqlDialog {
    fn begin(&mut self, from: Option<usize>) {
        self.connection.packets.channel.clear();
        self.answer = Scan::new(0);
        self.from = from;
    }

    /// Receives an answer to its end.
    fn read(&mut self) -> Result<Told, Failure> {
        let Connection { definitions, definition_texts: texts, .. } = self.connection;
        let channel = &mut self.connection.packets.channel;
        let statement = self.from.and_then(|number| self.statements.get_mut(number));
        let prepared = statement.and_then(|statement| statement.prepared.as_mut());
        let columns = prepared.map(|prepared| &mut prepared.columns);
        let mut told = columns.map(|columns| Described { columns, texts });
        let mut scan = Scan::new(0);
        loop {
            channel.receive()?;
            if scan.scan(channel.unread(), definitions, &mut told)? {
                self.answer = scan;
                return Ok(Told {
                    columns: self.answer.columns,
                    rows: self.answer.rows,
                    changed: self.answer.changed,
                });
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// OK, an error, or the number of columns.
    First,
    /// So many packets up to the rows.
    Definitions(u64),
    /// Rows until an end packet or an error.
    Rows,
}

/// How far an answer is understood: where its packets are and what they are.
struct Scan {
    phase: Phase,
    /// Bytes that are understood.
    at: usize,
    /// Columns of the first result set.
    columns: Option<u64>,
    /// Rows of it.
    rows: u64,
    changed: u64,
    /// Where the next row to be handed out begins, and how many there are from there on.
    next: usize,
    left: u64,
    /// Result sets that have begun.
    sets: u32,
}

impl Scan {
    fn new(at: usize) -> Self {
        let phase = Phase::First;
        Self { phase, at, columns: None, rows: 0, changed: 0, next: 0, left: 0, sets: 0 }
    }

    /// Goes on in all bytes received so far; whether the answer is complete. `told` gets the
    /// columns of the first result set.
    fn scan(
        &mut self,
        bytes: &[u8],
        definitions: Definitions,
        told: &mut Option<Described<'_>>,
    ) -> Result<bool, Failure> {
        while let Some((length, body)) = packet(bytes, self.at) {
            if length == CONTINUED {
                return Err(reply::long_row());
            }
            let Some(body) = body.get(..length) else { return Ok(false) };
            self.at += HEAD + length;
            let Some(first) = body.first() else { return Err(reply::nonsense("an empty packet")) };
            if *first == 0xff {
                reply::server_error(body)?;
                continue;
            }
            if self.packet(body, definitions, told)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn packet(
        &mut self,
        body: &[u8],
        definitions: Definitions,
        told: &mut Option<Described<'_>>,
    ) -> Result<bool, Failure> {
        match self.phase {
            Phase::First if body[0] == 0 => self.ok(body),
            Phase::First if body[0] == LOCAL_FILE => Err(Failure::lost(
                "the server asked for a local file, which no script may have sent",
            )),
            Phase::First => {
                let (count, rest) =
                    reply::integer(body).ok_or_else(|| reply::nonsense("no number of columns"))?;
                let cached = definitions == Definitions::PerhapsCached && rest.first() == Some(&0);
                self.phase = Phase::Definitions(if cached { 0 } else { count });
                self.sets += 1;
                self.columns.get_or_insert(count);
                if let (Some(told), 1, false) = (told, self.sets, cached) {
                    told.begin();
                }
                Ok(false)
            }
            Phase::Definitions(0) => {
                self.phase = Phase::Rows;
                if self.sets == 1 {
                    self.next = self.at;
                }
                Ok(false)
            }
            Phase::Definitions(left) => {
                self.phase = Phase::Definitions(left - 1);
                if let (Some(told), 1) = (told, self.sets) {
                    told.add(body);
                }
                Ok(false)
            }
            Phase::Rows if body[0] == 0xfe && body.len() < EOF_BELOW => {
                let status = body.get(3..5).map_or(0, |two| u16::from_le_bytes([two[0], two[1]]));
                Ok(self.end(status))
            }
            Phase::Rows => {
                let first = u64::from(self.sets == 1);
                self.rows += first;
                self.left += first;
                Ok(false)
            }
        }
    }

    fn ok(&mut self, body: &[u8]) -> Result<bool, Failure> {
        let (changed, status) = reply::ok(body).ok_or_else(|| reply::nonsense("a short OK"))?;
        self.changed = self.changed.saturating_add(changed);
        Ok(self.end(status))
    }

    fn end(&mut self, status: u16) -> bool {
        self.phase = Phase::First;
        status & MORE_RESULTS == 0
    }

    /// The body of the next row.
    fn next_row<'a>(&mut self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        self.left = self.left.checked_sub(1)?;
        let (length, body) = packet(bytes, self.next)?;
        self.next += HEAD + length;
        body.get(..length)
    }
}

/// Length of the packet at this place, and what follows its head.
fn packet(bytes: &[u8], at: usize) -> Option<(usize, &[u8])> {
    let (head, body) = bytes.get(at..)?.split_first_chunk::<HEAD>()?;
    Some(((u32::from_le_bytes(*head) & 0xff_ffff) as usize, body))
}

#[cfg(test)]
mod tests {
    use super::{super::row::Column, *};

    fn framed(bodies: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, body) in bodies.iter().enumerate() {
            bytes.extend_from_slice(&[body.len() as u8, 0, 0, number as u8 + 1]);
            bytes.extend_from_slice(body);
        }
        bytes
    }

    #[test]
    fn an_answer_is_understood_in_any_pieces_and_its_rows_wait() {
        let bytes = framed(&[
            b"\x01",
            b"definition",
            b"\xfe\0\0\x02\0",
            b"\x02ab",
            b"\xfb",
            b"\xfe\0\0\x02\0",
        ]);
        let mut scan = Scan::new(0);
        for end in 0..bytes.len() {
            assert!(!scan.scan(&bytes[..end], Definitions::Always, &mut None).unwrap());
        }
        assert!(scan.scan(&bytes, Definitions::Always, &mut None).unwrap());
        assert_eq!((scan.columns, scan.rows, scan.changed), (Some(1), 2, 0));
        assert_eq!(scan.next_row(&bytes), Some(&b"\x02ab"[..]));
        assert_eq!(scan.next_row(&bytes), Some(&b"\xfb"[..]));
        assert_eq!(scan.next_row(&bytes), None);
    }

    #[test]
    fn columns_are_those_that_the_execution_tells() {
        let head = b"\x03def\0\0\0\x01c\0\x0c\x3f\0\x15\0\0\0";
        let definition = [&head[..], &[8, 0, 0, 0, 0, 0]].concat();
        let eof = b"\xfe\0\0\x02\0";
        let bytes = framed(&[b"\x01", &definition, eof, eof]);
        let mut columns = vec![Column::Bytes, Column::Unknown];
        let mut told = Some(Described { columns: &mut columns, texts: 6 });
        assert!(Scan::new(0).scan(&bytes, Definitions::Always, &mut told).unwrap());
        assert_eq!(columns, [Column::Integer { width: 8, unsigned: false }]);
        // MariaDB leaves them out where they are as before.
        let cached = framed(&[b"\x01\0", eof, eof]);
        let mut told = Some(Described { columns: &mut columns, texts: 6 });
        assert!(Scan::new(0).scan(&cached, Definitions::PerhapsCached, &mut told).unwrap());
        assert_eq!(columns, [Column::Integer { width: 8, unsigned: false }]);
    }

    #[test]
    fn changed_rows_and_errors_are_told() {
        let mut scan = Scan::new(0);
        assert!(
            scan.scan(&framed(&[b"\0\x03\0\x02\0\0\0"]), Definitions::Always, &mut None).unwrap()
        );
        assert_eq!((scan.columns, scan.changed), (None, 3));
        let error = framed(&[b"\xff\xbd\x04#40001Deadlock found"]);
        let failure = Scan::new(0).scan(&error, Definitions::Always, &mut None).unwrap_err();
        assert_eq!(failure.code(), "1213");
    }
}
