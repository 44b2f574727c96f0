//! The control session of SQLite: the library in this process.

use super::{Destination, Loading, Manner, RowSink, RowSource, Rows, Session, Split, SqlError};
use crate::sqlite::{Database, Refused, Statement, Value};
use model::drive::Target;

struct SqliteSession {
    database: Database,
    version: String,
}

pub(super) fn open(target: &Target) -> Result<Box<dyn Session>, SqlError> {
    let database = Database::open(target)?;
    let version = database.version();
    Ok(Box::new(SqliteSession { database, version }))
}

impl Session for SqliteSession {
    fn query(&mut self, sql: &str) -> Result<Rows, SqlError> {
        let mut all = Rows::default();
        let mut rest = sql;
        while let Some((mut statement, tail)) = self.database.prepare(rest)? {
            let rows = self.rows(&mut statement)?;
            let changed = all.changed + rows.changed;
            if all.columns.is_empty() {
                all = rows;
            }
            all.changed = changed;
            rest = tail;
        }
        Ok(all)
    }

    fn server_version(&self) -> &str {
        &self.version
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn manner(&mut self, _: &str) -> Result<Manner, SqlError> {
        Ok(Manner { method: "INSERT", split: Split::Nothing })
    }

    fn begin_load(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn end_rows(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn end_load(&mut self, _: &Loading<'_>) -> Result<(), SqlError> {
        Ok(())
    }

    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, SqlError> {
        let places = vec!["?"; into.columns.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({places})", into.table, into.column_list());
        let Some((statement, _)) = self.database.prepare(&sql)? else {
            return Err(SqlError::own("a table without a name cannot be loaded"));
        };
        self.database.execute("BEGIN")?;
        let mut insert = Insert { statement, place: 0, stored: 0, outcome: Ok(()) };
        while insert.outcome.is_ok() && rows.next_row(&mut insert) {}
        if insert.outcome == Err(Refused) {
            let error = self.database.error();
            drop(insert);
            self.database.execute("ROLLBACK")?;
            return Err(error);
        }
        self.database.execute("COMMIT")?;
        Ok(insert.stored)
    }
}

impl SqliteSession {
    fn rows(&mut self, statement: &mut Statement) -> Result<Rows, SqlError> {
        let columns = (0..statement.columns()).map(|column| statement.column_name(column));
        let mut all = Rows { columns: columns.collect(), ..Rows::default() };
        let before = self.database.total_changes();
        while statement.step().map_err(|Refused| self.database.error())? {
            all.rows.push((0..statement.columns()).map(|c| text(&statement.value(c))).collect());
        }
        if self.database.total_changes() != before {
            all.changed = self.database.changes();
        }
        Ok(all)
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Integer(value) => Some(value.to_string()),
        Value::Real(value) => Some(value.to_string()),
        Value::Bytes(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// Inserts each row as soon as it is complete.
struct Insert {
    statement: Statement,
    place: i32,
    stored: u64,
    outcome: Result<(), Refused>,
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
