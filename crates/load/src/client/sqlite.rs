//! SQLite: the library in the worker's own thread, bundled or the user's.
//!
//! The "server's" work is done by the caller, so the foreground of this protocol is the driver's
//! thread. A row is taken over column by column, as an application does, because the engine fetches
//! a column only when it is asked for.

use super::{Answer, Client, Draft, Failure, FailureKind};
use crate::{
    pieces::{Pieces, Sheet},
    program::{Parameter, Program, Sql, TIME_TEXT},
    session::SqlError,
    sqlite::{Database, Refused, Statement, Value},
};
use libsqlite3_sys as ffi;
use model::{drive::Target, workload::Mode};
use std::{hint::black_box, str};

/// A measured SQLite connection.
pub struct Sqlite {
    database: Database,
    statements: Vec<Encoded>,
    /// The statement of [`Client::trivial`].
    trivial: Option<Statement>,
    /// The text statement under construction.
    sheet: Sheet,
    /// A varying argument under construction.
    scratch: Vec<u8>,
    /// The statement whose arguments are being given.
    current: usize,
    /// Arguments given so far.
    given: usize,
    /// Text buffers given so far.
    buffers: usize,
    /// Whether the library refused an argument.
    refused: bool,
}

/// An entry of [`Program::sql`].
enum Encoded {
    Prepared { statement: Statement, capture: Capture },
    Text { pieces: Pieces, capture: Capture },
}

impl Client for Sqlite {
    fn connect(target: &Target) -> Result<Self, Failure> {
        let database = Database::open(target).map_err(failure)?;
        Ok(Self {
            database,
            statements: Vec::new(),
            trivial: None,
            sheet: Sheet::default(),
            scratch: Vec::new(),
            current: 0,
            given: 0,
            buffers: 0,
            refused: false,
        })
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn prepare(&mut self, program: &Program) -> Result<(), Failure> {
        self.statements.clear();
        for sql in &program.sql {
            let encoded = match sql.mode {
                Mode::Prepared => {
                    self.prepare_one(sql).map_err(|failure| program.located(sql, failure))?
                }
                Mode::Text => {
                    Encoded::Text { pieces: Pieces::new(&[], sql), capture: Capture::of(sql) }
                }
            };
            self.statements.push(encoded);
        }
        self.sheet.fit(self.statements.iter().filter_map(|statement| match statement {
            Encoded::Prepared { .. } => None,
            Encoded::Text { pieces, .. } => Some(pieces),
        }));
        Ok(())
    }

    #[inline]
    fn begin(&mut self, index: usize) {
        self.current = index;
        self.given = 0;
        self.buffers = 0;
        self.refused = false;
    }

    #[inline(always)]
    fn compose(&mut self, write: impl FnOnce(&mut Draft<'_>)) -> bool {
        let Encoded::Text { pieces, .. } = &self.statements[self.current] else { return false };
        self.sheet.write(pieces, write);
        true
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        self.given += 1;
        if let Encoded::Prepared { statement, .. } = &mut self.statements[self.current] {
            self.refused |= statement.bind_integer(self.given as i32, value).is_err();
        }
    }

    #[inline]
    fn text(&mut self, _template: &[u8]) -> &mut [u8] {
        self.given += 1;
        match &mut self.statements[self.current] {
            Encoded::Prepared { statement, .. } => {
                self.buffers += 1;
                statement.buffer(self.buffers - 1)
            }
            // Composed, and not given one by one.
            Encoded::Text { .. } => &mut [],
        }
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.given += 1;
        if let Encoded::Prepared { statement, .. } = &mut self.statements[self.current] {
            self.scratch.clear();
            self.scratch.extend_from_slice(head);
            self.scratch.extend_from_slice(tail);
            self.refused |= statement.bind_text(self.given as i32, &self.scratch).is_err();
        }
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        if self.refused {
            return Err(failure(self.database.error()));
        }
        match &mut self.statements[self.current] {
            Encoded::Prepared { statement, capture } => {
                execute(&mut self.database, statement, *capture)
            }
            Encoded::Text { capture, .. } => {
                let sql = str::from_utf8(self.sheet.text())
                    .map_err(|_| failure(SqlError::own("a statement is not UTF-8")))?;
                let prepared = self.database.prepare(sql).map_err(failure)?;
                prepared.map_or(Ok(Answer::default()), |(mut statement, _)| {
                    execute(&mut self.database, &mut statement, *capture)
                })
            }
        }
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        // Some errors have ended the transaction already.
        if self.database.in_transaction() {
            self.database.execute("ROLLBACK").map_err(failure)?;
        }
        Ok(())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        if self.trivial.is_none() {
            let prepared = self.database.prepare("SELECT 1").map_err(failure)?;
            self.trivial = prepared.map(|(statement, _)| statement);
        }
        match &mut self.trivial {
            Some(statement) => execute(&mut self.database, statement, Capture::Nothing).map(drop),
            None => Ok(()),
        }
    }
}

impl Sqlite {
    fn prepare_one(&mut self, sql: &Sql) -> Result<Encoded, Failure> {
        let text = sql.marked(|_| "?".to_owned());
        let in_statement = |error: SqlError| {
            let message = format!("{}, in `{text}`", error.message);
            failure(SqlError { message, ..error })
        };
        let prepared = self.database.prepare(&text).map_err(in_statement)?;
        let Some((mut statement, _)) = prepared else {
            return Err(in_statement(SqlError::own("a statement is empty")));
        };
        for (place, parameter) in (1..).zip(&sql.parameters) {
            let template = match parameter {
                Parameter::Text(template) => template.as_slice(),
                Parameter::Time => TIME_TEXT.as_slice(),
                Parameter::Integer | Parameter::Varying(_) => continue,
            };
            statement
                .bind_buffer(place, template)
                .map_err(|Refused| in_statement(self.database.error()))?;
        }
        Ok(Encoded::Prepared { statement, capture: Capture::of(sql) })
    }
}

/// Which value of a result later statements need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Capture {
    /// The first column of the first row.
    First,
    Nothing,
}

impl Capture {
    fn of(sql: &Sql) -> Self {
        if sql.capture { Self::First } else { Self::Nothing }
    }
}

/// Executes a statement whose arguments are bound, and makes it ready for the next time.
#[inline]
fn execute(
    database: &mut Database,
    statement: &mut Statement,
    capture: Capture,
) -> Result<Answer, Failure> {
    let mut answer = Answer::default();
    let before = if statement.readonly() { 0 } else { database.total_changes() };
    loop {
        match statement.step() {
            Ok(true) => take_row(statement, capture, &mut answer),
            Ok(false) => break,
            Err(Refused) => {
                let error = database.error();
                statement.reset();
                return Err(failure(error));
            }
        }
    }
    if !statement.readonly() && database.total_changes() != before {
        answer.changed = database.changes();
    }
    statement.reset();
    Ok(answer)
}

/// Takes a row over as an application would, and forgets it.
#[inline]
fn take_row(statement: &mut Statement, capture: Capture, answer: &mut Answer) {
    for column in 0..statement.columns() {
        match statement.value(column) {
            Value::Integer(value) => {
                if capture == Capture::First && column == 0 && answer.rows == 0 {
                    answer.captured = Some(value);
                }
                black_box(value);
            }
            Value::Bytes(bytes) => {
                black_box(bytes);
            }
            Value::Real(value) => {
                black_box(value);
            }
            Value::Null => {
                if capture == Capture::First && column == 0 && answer.rows == 0 {
                    answer.captured = Some(0);
                }
            }
        }
    }
    answer.rows += 1;
}

#[cold]
fn failure(error: SqlError) -> Failure {
    // The low byte of an extended code is the primary code. A lock that another connection holds is
    // waited for inside the library first; what is still busy then, or cannot be waited for, as a
    // reader that wants to write to a newer state, is begun again.
    let primary = error.code.parse().map(|code: i32| code & 0xff);
    let kind = match primary {
        Ok(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => FailureKind::Retry,
        _ if error.lost => FailureKind::Lost,
        _ => FailureKind::Statement,
    };
    Failure::new(kind, error.code, error.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::drive::Endpoint;
    use std::path::{Path, PathBuf};

    fn target(folder: &Path, library: Option<PathBuf>) -> Target {
        Target {
            protocol: "sqlite".to_owned(),
            endpoint: Endpoint::File(folder.join("a.db")),
            user: String::new(),
            password: model::secret::Secret::default(),
            database: String::new(),
            library,
            initial_sql: vec![
                "PRAGMA journal_mode = WAL".to_owned(),
                "PRAGMA busy_timeout = 1".to_owned(),
                "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, c TEXT)".to_owned(),
            ],
        }
    }

    fn sql(mode: Mode, pieces: &[&str], parameters: &[Parameter]) -> Sql {
        Sql {
            mode,
            pieces: pieces.iter().map(|&piece| piece.to_owned()).collect(),
            parameters: parameters.to_vec(),
            origin: None,
            capture: true,
            expected: (0, 0),
        }
    }

    fn connect(target: &Target, statements: &[Sql]) -> Sqlite {
        let mut client = Sqlite::connect(target).unwrap();
        let program = Program { sql: statements.to_vec(), ..Program::empty("a") };
        client.prepare(&program).unwrap();
        client
    }

    /// Gives integers, and perhaps a text of which only the last byte is free, in either way.
    fn give(client: &mut Sqlite, integers: &[i64], last: Option<u8>) {
        let composed = client.compose(|draft| {
            integers.iter().for_each(|value| draft.integer(*value));
            last.iter().for_each(|last| draft.filled(b"a-#", |text| text[2] = *last));
        });
        if !composed {
            integers.iter().for_each(|value| client.integer(*value));
            last.iter().for_each(|last| client.text(b"a-#")[2] = *last);
        }
    }

    /// Writes and reads in both modes; the same for the bundled library and a foreign one.
    fn check_statements(library: Option<PathBuf>) {
        let folder = tempfile::tempdir().unwrap();
        let text = Parameter::Text(b"a-#".to_vec());
        let mut statements = Vec::new();
        for mode in [Mode::Prepared, Mode::Text] {
            let values = [Parameter::Integer, text.clone()];
            statements.push(sql(mode, &["INSERT INTO t VALUES (", ", ", ")"], &values));
            let bounds = [Parameter::Integer, Parameter::Integer];
            let range = ["SELECT id, c FROM t WHERE id BETWEEN ", " AND ", ""];
            statements.push(sql(mode, &range, &bounds));
            statements.push(sql(
                mode,
                &["DELETE FROM t WHERE c = ", ""],
                std::slice::from_ref(&text),
            ));
        }
        let mut client = connect(&target(folder.path(), library), &statements);
        for mode in [0, 3] {
            for id in 1..=3 {
                client.begin(mode);
                give(&mut client, &[id], Some(b'6' + id as u8));
                let inserted = client.execute().unwrap();
                assert_eq!(inserted, Answer { changed: 1, ..Answer::default() });
            }
            client.begin(mode + 1);
            give(&mut client, &[2, 9], None);
            let read = client.execute().unwrap();
            assert_eq!(read, Answer { rows: 2, changed: 0, captured: Some(2) });
            for (last, changed) in [(b'8', 1), (b'8', 0), (b'7', 1), (b'9', 1)] {
                client.begin(mode + 2);
                give(&mut client, &[], Some(last));
                assert_eq!(client.execute().unwrap().changed, changed);
            }
        }
        client.trivial().unwrap();
        client.rollback().unwrap();
    }

    #[test]
    fn statements_do_the_same_prepared_and_as_text() {
        check_statements(None);
    }

    #[test]
    fn a_library_by_path_does_the_same_as_the_bundled_one() {
        let name = "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0";
        if Path::new(name).exists() {
            check_statements(Some(name.into()));
        }
    }

    #[test]
    fn a_file_that_is_no_library_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("library.so");
        fs_err::write(&path, "no library").unwrap();
        let Err(refused) = Sqlite::connect(&target(folder.path(), Some(path))) else {
            panic!("must be refused")
        };
        assert!(refused.message().contains("library.so` is no SQLite library"), "{refused:?}");
    }

    #[test]
    fn a_lock_of_another_connection_asks_for_a_retry() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(folder.path(), None);
        let begin = sql(Mode::Prepared, &["BEGIN IMMEDIATE"], &[]);
        let mut first = connect(&target, std::slice::from_ref(&begin));
        let mut second = connect(&target, &[begin]);
        first.begin(0);
        first.execute().unwrap();
        second.begin(0);
        let refused = second.execute().unwrap_err();
        assert_eq!((refused.kind(), refused.code()), (FailureKind::Retry, "5"));
        first.rollback().unwrap();
        second.begin(0);
        second.execute().unwrap();
    }

    #[test]
    fn an_error_ends_the_statement_and_not_the_connection() {
        let folder = tempfile::tempdir().unwrap();
        let insert = sql(Mode::Prepared, &["INSERT INTO t (id) VALUES (1)"], &[]);
        let mut client = connect(&target(folder.path(), None), &[insert]);
        client.begin(0);
        client.execute().unwrap();
        for _ in 0..2 {
            client.begin(0);
            let refused = client.execute().unwrap_err();
            assert_eq!((refused.kind(), refused.code()), (FailureKind::Statement, "1555"));
        }
        let wrong = sql(Mode::Prepared, &["SELECT a FROM nowhere"], &[]);
        let program = Program { sql: vec![wrong], ..Program::empty("a") };
        let refused = client.prepare(&program).unwrap_err();
        assert!(refused.message().contains("nowhere, in `SELECT a"), "{refused:?}");
    }
}
