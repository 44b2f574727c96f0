//! Loading rows by prepared INSERT statements of many rows.

use super::{
    Connection,
    execution::{self, Binary, TYPE_BLOB, TYPE_LONGLONG, TYPE_VAR_STRING},
};
use crate::wire::{Destination, Failure, RowSink, RowSource, encoder::Format, vector};

/// Rows of one statement.
const ROWS: usize = 1000;

/// Bytes of values after which a statement takes no more rows: servers refuse packets that are
/// longer than `max_allowed_packet`, which is 1 MiB in MySQL 5.5, 4 MiB up to 5.7 and 16 MiB in
/// MariaDB.
const BYTES: usize = 768 << 10;

/// Placeholders that one statement can have.
const PLACEHOLDERS_MAX: usize = 65_535;

/// Inserts all rows in one transaction; the number of rows stored.
pub(super) fn load(
    connection: &mut Connection,
    into: &Destination<'_>,
    rows: &mut dyn RowSource,
) -> Result<u64, Failure> {
    let limit = ROWS.min(PLACEHOLDERS_MAX / into.columns.len().max(1)).max(1);
    connection.execute("BEGIN")?;
    let mut stored = 0;
    let mut statement: Option<Prepared> = None;
    let mut waiting = false;
    // Plain bytes are stored as they are; a text may be converted character by character.
    let text_type = if into.ascii { TYPE_BLOB } else { TYPE_VAR_STRING };
    let mut batch = Batch::new(text_type);
    loop {
        // These rows are made while the server works on those before.
        batch.fill(rows, limit);
        if std::mem::take(&mut waiting) {
            stored += connection.answer()?.changed;
        }
        let reusable = statement.take_if(|statement| statement.rows == batch.rows);
        if let Some(old) = statement.take() {
            connection.close(old.id)?;
        }
        if batch.rows == 0 {
            break;
        }
        let ready = match reusable {
            Some(ready) => ready,
            None => Prepared::new(connection, into, batch.rows)?,
        };
        connection.packets.command_in_place(&mut batch.execution(ready.id))?;
        statement = Some(ready);
        waiting = true;
    }
    connection.execute("COMMIT")?;
    Ok(stored)
}

/// A prepared INSERT of a certain number of rows.
struct Prepared {
    rows: usize,
    id: u32,
}

impl Prepared {
    fn new(
        connection: &mut Connection,
        into: &Destination<'_>,
        rows: usize,
    ) -> Result<Self, Failure> {
        let row = format!("({})", vec!["?"; into.columns.len()].join(","));
        let values = vec![row.as_str(); rows].join(",");
        let sql = format!("INSERT INTO {} ({}) VALUES {values}", into.table, into.column_list());
        Ok(Self { rows, id: connection.prepare(&sql)?.id })
    }
}

/// Rows in the encoding of parameters.
struct Batch {
    text_type: [u8; 2],
    types: Vec<u8>,
    values: Vec<u8>,
    /// Places of the NULLs among the values, which have no bytes.
    nulls: Vec<usize>,
    rows: usize,
}

impl Batch {
    fn new(text_type: [u8; 2]) -> Self {
        Self { text_type, types: Vec::new(), values: Vec::new(), nulls: Vec::new(), rows: 0 }
    }

    /// Takes the rows of the next statement, so many at most; none if there are no more.
    fn fill(&mut self, rows: &mut dyn RowSource, limit: usize) {
        self.types.clear();
        self.values.clear();
        self.nulls.clear();
        self.rows = 0;
        while self.rows < limit && self.values.len() < BYTES && rows.next_row(self) {}
    }

    /// The command that executes statement `id` with these rows, behind room for its head.
    fn execution(&self, id: u32) -> Vec<u8> {
        let mut command = Vec::with_capacity(self.values.len() + self.types.len() * 2 + 32);
        execution::head(&mut command, id, self.types.len() / 2, 1);
        for place in &self.nulls {
            if let Some(byte) = command.get_mut(execution::NULLS + place / 8) {
                *byte |= 1 << (place % 8);
            }
        }
        command.extend_from_slice(&self.types);
        command.extend_from_slice(&self.values);
        command
    }
}

impl RowSink for Batch {
    fn integer(&mut self, value: i64) {
        self.types.extend_from_slice(&TYPE_LONGLONG);
        self.values.extend_from_slice(&value.to_le_bytes());
    }

    fn text(&mut self, value: &[u8]) {
        self.types.extend_from_slice(&self.text_type);
        Binary::push_length(&mut self.values, value.len());
        self.values.extend_from_slice(value);
    }

    fn vector(&mut self, value: &[f32]) {
        self.types.extend_from_slice(&TYPE_BLOB);
        Binary::push_length(&mut self.values, 4 * value.len());
        vector::little_endian(value, &mut self.values);
    }

    fn null(&mut self) {
        self.nulls.push(self.types.len() / 2);
        self.types.extend_from_slice(&self.text_type);
    }

    fn end_row(&mut self) {
        self.rows += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many rows of a text of so many bytes.
    struct Texts(usize, usize);

    impl RowSource for Texts {
        fn next_row(&mut self, sink: &mut dyn RowSink) -> bool {
            let Some(left) = self.0.checked_sub(1) else { return false };
            self.0 = left;
            sink.text(&vec![b'x'; self.1]);
            sink.end_row();
            true
        }
    }

    #[test]
    fn long_rows_make_a_statement_of_fewer() {
        let check = |(rows, bytes): (usize, usize), expected: &[usize]| {
            let (mut source, mut batch) = (Texts(rows, bytes), Batch::new(TYPE_BLOB));
            let batches = std::iter::from_fn(|| {
                batch.fill(&mut source, ROWS);
                assert!(batch.execution(1).len() < 1 << 20, "{rows} {bytes}");
                Some(batch.rows).filter(|rows| *rows > 0)
            });
            assert_eq!(batches.collect::<Vec<_>>(), expected);
        };
        check((0, 10), &[]);
        check((2500, 10), &[1000, 1000, 500]);
        check((30, 65_535), &[12, 12, 6]);
    }
}
