//! Loading rows by prepared INSERT statements of many rows.

use super::{packet::PacketStream, reply};
use crate::session::{Destination, RowSink, RowSource, SqlError};

/// Rows of one statement.
const ROWS: usize = 1000;

/// Placeholders that one statement can have.
const PLACEHOLDERS_MAX: usize = 65_535;

const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// Type codes of parameters: a 64-bit integer, a text in the connection's character set, plain
/// bytes.
const TYPE_INTEGER: u8 = 0x08;
const TYPE_TEXT: u8 = 0xfd;
const TYPE_BYTES: u8 = 0xfc;

/// Inserts all rows in one transaction; the number of rows stored.
pub(super) fn load(
    stream: &mut PacketStream,
    into: &Destination<'_>,
    rows: &mut dyn RowSource,
) -> Result<u64, SqlError> {
    let limit = ROWS.min(PLACEHOLDERS_MAX / into.columns.len().max(1)).max(1);
    query(stream, "BEGIN")?;
    let mut stored = 0;
    let mut statement: Option<Prepared> = None;
    let mut waiting = false;
    // Plain bytes are stored as they are; a text may be converted character by character.
    let text_type = if into.ascii { TYPE_BYTES } else { TYPE_TEXT };
    let mut batch = Batch::new(text_type);
    loop {
        // These rows are made while the server works on those before.
        batch.clear();
        while batch.rows < limit && rows.next_row(&mut batch) {}
        if std::mem::take(&mut waiting) {
            stored += reply::read_changed(stream)?;
        }
        let reusable = statement.take_if(|statement| statement.rows == batch.rows);
        if let Some(old) = statement.take() {
            old.close(stream)?;
        }
        if batch.rows == 0 {
            break;
        }
        let ready = match reusable {
            Some(ready) => ready,
            None => Prepared::new(stream, into, batch.rows)?,
        };
        stream.command(&batch.execute(ready.id))?;
        statement = Some(ready);
        waiting = true;
    }
    query(stream, "COMMIT")?;
    Ok(stored)
}

/// A prepared INSERT of a certain number of rows.
struct Prepared {
    rows: usize,
    id: u32,
}

impl Prepared {
    fn new(
        stream: &mut PacketStream,
        into: &Destination<'_>,
        rows: usize,
    ) -> Result<Self, SqlError> {
        let row = format!("({})", vec!["?"; into.columns.len()].join(","));
        let values = vec![row.as_str(); rows].join(",");
        let sql = format!("INSERT INTO {} ({}) VALUES {values}", into.table, into.column_list());
        stream.command(&[&[COM_STMT_PREPARE], sql.as_bytes()].concat())?;
        Ok(Self { rows, id: reply::read_prepared(stream)? })
    }

    fn close(self, stream: &mut PacketStream) -> Result<(), SqlError> {
        // The server does not answer this command.
        stream.command(&[&[COM_STMT_CLOSE][..], &self.id.to_le_bytes()].concat())
    }
}

fn query(stream: &mut PacketStream, sql: &str) -> Result<(), SqlError> {
    stream.command(&[&[COM_QUERY], sql.as_bytes()].concat())?;
    reply::read_changed(stream).map(drop)
}

/// Rows in the encoding of parameters.
struct Batch {
    text_type: u8,
    types: Vec<u8>,
    values: Vec<u8>,
    rows: usize,
}

impl Batch {
    fn new(text_type: u8) -> Self {
        Self { text_type, types: Vec::new(), values: Vec::new(), rows: 0 }
    }

    fn clear(&mut self) {
        self.types.clear();
        self.values.clear();
        self.rows = 0;
    }

    /// The command that executes statement `id` with these rows.
    fn execute(&self, id: u32) -> Vec<u8> {
        let parameters = self.types.len() / 2;
        let mut command = Vec::with_capacity(self.values.len() + self.types.len() * 2 + 32);
        command.push(COM_STMT_EXECUTE);
        command.extend_from_slice(&id.to_le_bytes());
        // No cursor, executed once, no NULLs, types follow.
        command.extend_from_slice(&[0, 1, 0, 0, 0]);
        command.resize(command.len() + parameters.div_ceil(8), 0);
        command.push(1);
        command.extend_from_slice(&self.types);
        command.extend_from_slice(&self.values);
        command
    }
}

impl RowSink for Batch {
    fn integer(&mut self, value: i64) {
        self.types.extend_from_slice(&[TYPE_INTEGER, 0]);
        self.values.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, value: &[u8]) {
        self.types.extend_from_slice(&[self.text_type, 0]);
        match value.len() {
            short @ 0..=0xfa => self.values.push(u8::try_from(short).unwrap_or_default()),
            long => {
                self.values.push(0xfe);
                self.values.extend_from_slice(&(long as u64).to_le_bytes());
            }
        }
        self.values.extend_from_slice(value);
    }

    fn end_row(&mut self) {
        self.rows += 1;
    }
}
