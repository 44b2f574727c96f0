//! The control session of SQLite: the library in this process.

use super::{Database, Refused, Statement, Use};
use crate::wire::{
    Destination, Failure, LoadMethod, RowSink, RowSource, Rows, Session, Split,
    rows::{Collected, TakeRows},
    vector,
};
use model::drive::Target;

struct SqliteSession {
    database: Database,
    version: String,
}

pub(super) fn open(target: &Target) -> Result<Box<dyn Session>, Failure> {
    let database = Database::open(target)?;
    let version = database.version();
    Ok(Box::new(SqliteSession { database, version }))
}

impl Session for SqliteSession {
    fn query(&mut self, sql: &str) -> Result<Rows, Failure> {
        let mut all = Collected::default();
        let mut changed = 0;
        let mut rest = sql;
        while let Some((mut statement, tail)) = self.database.prepare(rest, Use::Once)? {
            all.begin();
            for column in 0..statement.columns() {
                all.column(statement.column_name(column).as_bytes());
            }
            changed += self.database.run(&mut statement, Some(&mut all))?.changed;
            rest = tail;
        }
        Ok(Rows { changed, ..all.rows })
    }

    fn server_version(&self) -> &str {
        &self.version
    }

    fn load_method(&mut self, _: &str) -> Result<LoadMethod, Failure> {
        Ok(LoadMethod { name: "INSERT", split: Split::Nothing })
    }

    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, Failure> {
        let places = vec!["?"; into.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", into.table, into.column_list());
        let Some((statement, _)) = self.database.prepare(&sql, Use::Often)? else {
            return Err(Failure::own("a table without a name cannot be loaded"));
        };
        self.database.execute("BEGIN")?;
        let bytes = Vec::new();
        let mut insert = Insert { statement, place: 0, stored: 0, outcome: Ok(()), bytes };
        while insert.outcome.is_ok() && rows.next_row(&mut insert) {}
        if insert.outcome == Err(Refused) {
            let error = self.database.error();
            drop(insert);
            // Some errors, such as a full disk, have ended the transaction already.
            if self.database.in_transaction() {
                self.database.execute("ROLLBACK")?;
            }
            return Err(error);
        }
        self.database.execute("COMMIT")?;
        Ok(insert.stored)
    }
}

/// Inserts each row as soon as it is complete.
struct Insert {
    statement: Statement,
    place: i32,
    stored: u64,
    outcome: Result<(), Refused>,
    /// Room for a vector.
    bytes: Vec<u8>,
}

impl RowSink for Insert {
    fn integer(&mut self, value: i64) {
        self.place += 1;
        self.outcome = self.outcome.and(self.statement.bind_integer(self.place, value));
    }

    fn text(&mut self, value: &[u8]) {
        self.place += 1;
        self.outcome = self.outcome.and(self.statement.bind_text(self.place, value));
    }

    fn vector(&mut self, value: &[f32]) {
        self.place += 1;
        self.bytes.clear();
        vector::little_endian(value, &mut self.bytes);
        self.outcome = self.outcome.and(self.statement.bind_bytes(self.place, &self.bytes));
    }

    fn null(&mut self) {
        self.place += 1;
        self.outcome = self.outcome.and(self.statement.bind_null(self.place));
    }

    fn end_row(&mut self) {
        self.place = 0;
        if self.outcome.is_ok() {
            self.outcome = self.statement.step().map(drop);
            self.stored += u64::from(self.outcome.is_ok());
        }
        if self.outcome.is_ok() {
            self.statement.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::drive::Endpoint;

    /// Rows without end.
    struct Endless;

    impl RowSource for Endless {
        fn next_row(&mut self, sink: &mut dyn RowSink) -> bool {
            sink.text(&[b'x'; 500]);
            sink.end_row();
            true
        }
    }

    #[test]
    fn a_load_that_fills_the_disk_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target {
            initial_sql: vec![
                "CREATE TABLE t (c TEXT)".to_owned(),
                "PRAGMA max_page_count = 9".to_owned(),
            ],
            ..Target::of("sqlite", Endpoint::File(folder.path().join("a.db")))
        };
        let mut session = open(&target).unwrap();
        let into = Destination { table: "t", columns: &["c".to_owned()], ascii: true };
        let failure = session.load(&into, &mut Endless).unwrap_err();
        assert_eq!((failure.code(), failure.message()), ("13", "database or disk is full"));
        let left = session.query("SELECT count(*) FROM t").unwrap();
        assert_eq!(left.rows, [[Some("0".to_owned())]]);
    }
}
