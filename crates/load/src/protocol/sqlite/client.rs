//! The measured connection: the library in the worker's own thread.
//!
//! The "server's" work is done by the caller, so the foreground of this protocol is the driver's
//! thread.

use super::{Database, Refused, Statement, Use};
use crate::wire::{
    Answer, Client, Draft, Failure, Parameter, Row, Session, Sql,
    pieces::{Pieces, TextBuffer},
    rows::{Each, TakeRows},
};
use model::{drive::Target, workload::Mode};
use std::str;

/// A measured SQLite connection.
pub(in crate::protocol) struct Sqlite {
    database: Database,
    statements: Vec<Encoded>,
    /// The statement of [`Client::trivial`].
    trivial: Option<Statement>,
    /// The text statement under construction.
    text: TextBuffer,
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

/// A statement ready to be executed.
enum Encoded {
    Prepared(Statement),
    Text(Pieces),
}

impl Client for Sqlite {
    fn connect(target: &Target) -> Result<Self, Failure> {
        let database = Database::open(target)?;
        Ok(Self {
            database,
            statements: Vec::new(),
            trivial: None,
            text: TextBuffer::default(),
            scratch: Vec::new(),
            current: 0,
            given: 0,
            buffers: 0,
            refused: false,
        })
    }

    fn session(target: &Target) -> Result<Box<dyn Session>, Failure> {
        super::session::open(target)
    }

    fn server_id(&self) -> u64 {
        0
    }

    fn forget(&mut self) -> Result<(), Failure> {
        self.statements.clear();
        Ok(())
    }

    fn prepare(&mut self, sql: &Sql) -> Result<(), Failure> {
        let encoded = match sql.mode {
            Mode::Prepared => Encoded::Prepared(self.prepared(sql)?),
            Mode::Text => {
                let pieces = Pieces::new(&[], sql);
                self.text.fit(&pieces);
                Encoded::Text(pieces)
            }
        };
        self.statements.push(encoded);
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
        let Encoded::Text(pieces) = &self.statements[self.current] else { return false };
        self.text.write(pieces, write);
        true
    }

    #[inline]
    fn integer(&mut self, value: i64) {
        self.given += 1;
        if let Encoded::Prepared(statement) = &mut self.statements[self.current] {
            self.refused |= statement.bind_integer(self.given as i32, value).is_err();
        }
    }

    #[inline]
    fn text(&mut self, _template: &[u8]) -> &mut [u8] {
        self.given += 1;
        match &mut self.statements[self.current] {
            Encoded::Prepared(statement) => {
                self.buffers += 1;
                statement.buffer(self.buffers - 1)
            }
            // Composed, and not given one by one.
            Encoded::Text(_) => &mut [],
        }
    }

    #[inline]
    fn varying(&mut self, head: &[u8], tail: &[u8]) {
        self.given += 1;
        if let Encoded::Prepared(statement) = &mut self.statements[self.current] {
            self.scratch.clear();
            self.scratch.extend_from_slice(head);
            self.scratch.extend_from_slice(tail);
            self.refused |= statement.bind_text(self.given as i32, &self.scratch).is_err();
        }
    }

    #[inline]
    fn execute(&mut self) -> Result<Answer, Failure> {
        self.run(None)
    }

    fn fetch(&mut self, take: &mut dyn FnMut(&mut dyn Row)) -> Result<Answer, Failure> {
        self.run(Some(&mut Each(take)))
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        // Some errors have ended the transaction already.
        if self.database.in_transaction() {
            self.database.execute("ROLLBACK")?;
        }
        Ok(())
    }

    fn trivial(&mut self) -> Result<(), Failure> {
        if self.trivial.is_none() {
            let prepared = self.database.prepare("SELECT 1", Use::Often)?;
            self.trivial = prepared.map(|(statement, _)| statement);
        }
        match &mut self.trivial {
            Some(statement) => self.database.run(statement, None).map(drop),
            None => Ok(()),
        }
    }
}

impl Sqlite {
    #[inline]
    fn run(&mut self, take: Option<&mut dyn TakeRows>) -> Result<Answer, Failure> {
        if self.refused {
            return Err(self.database.error());
        }
        match &mut self.statements[self.current] {
            Encoded::Prepared(statement) => self.database.run(statement, take),
            Encoded::Text(_) => {
                let sql = str::from_utf8(self.text.text())
                    .map_err(|_| Failure::own("a statement is not UTF-8"))?;
                match self.database.prepare(sql, Use::Once)? {
                    Some((mut statement, rest)) => {
                        self.database.refuse_more(rest)?;
                        self.database.run(&mut statement, take)
                    }
                    None => Ok(Answer::default()),
                }
            }
        }
    }

    fn prepared(&mut self, sql: &Sql) -> Result<Statement, Failure> {
        let text = sql.marked(|_| "?".to_owned());
        let prepared = self.database.prepare(&text, Use::Often);
        let prepared = prepared.map_err(|error| error.in_statement(&text))?;
        let Some((mut statement, rest)) = prepared else {
            return Err(Failure::own("a statement is empty").in_statement(&text));
        };
        self.database.refuse_more(rest).map_err(|error| error.in_statement(&text))?;
        for (place, parameter) in (1..).zip(&sql.parameters) {
            if !matches!(parameter, Parameter::Integer | Parameter::Varying(_)) {
                statement
                    .bind_buffer(place, parameter)
                    .map_err(|Refused| self.database.error().in_statement(&text))?;
            }
        }
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::FailureKind;
    use model::drive::Endpoint;
    use std::path::{Path, PathBuf};

    fn target(folder: &Path, library: Option<PathBuf>) -> Target {
        Target {
            library,
            initial_sql: vec![
                "PRAGMA journal_mode = WAL".to_owned(),
                "PRAGMA busy_timeout = 1".to_owned(),
                "CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, c TEXT)".to_owned(),
            ],
            ..Target::of("sqlite", Endpoint::File(folder.join("a.db")))
        }
    }

    fn sql(mode: Mode, pieces: &[&str], parameters: &[Parameter]) -> Sql {
        Sql::new(mode, &pieces.join("?"), parameters.to_vec())
    }

    fn connect(target: &Target, statements: &[Sql]) -> Sqlite {
        let mut client = Sqlite::connect(target).unwrap();
        statements.iter().for_each(|sql| client.prepare(sql).unwrap());
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
            let mut keys = Vec::new();
            let read = client.fetch(&mut |row| keys.extend(row.next().unwrap().integer()));
            assert_eq!((read.unwrap(), keys), (Answer { rows: 2, changed: 0 }, vec![2, 3]));
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
    fn a_prepared_statement_is_not_prepared_again_for_another_value() {
        let folder = tempfile::tempdir().unwrap();
        let target = target(folder.path(), None);
        let mut client = connect(&target, &[]);
        for sql in [
            "CREATE TABLE skewed (k INTEGER)",
            "CREATE INDEX by_k ON skewed (k)",
            "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
             INSERT INTO skewed SELECT max(i, 900) FROM n",
            "ANALYZE",
        ] {
            client.database.execute(sql).unwrap();
        }
        let count = ["SELECT count(*) FROM skewed WHERE k = ", ""];
        let mut client = connect(&target, &[sql(Mode::Prepared, &count, &[Parameter::Integer])]);
        for value in [900, 901, 900, 902] {
            client.begin(0);
            give(&mut client, &[value], None);
            client.execute().unwrap();
        }
        let Encoded::Prepared(statement) = &client.statements[0] else { panic!("prepared") };
        assert_eq!(statement.prepared_again(), 0);
    }

    #[test]
    fn only_a_statement_that_is_kept_is_parsed_in_memory_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let mut client = connect(&target(folder.path(), None), &[]);
        let mut taken = |usage: Use| {
            let before = client.database.taken_at_hand();
            let prepared = client.database.prepare("SELECT c FROM t WHERE id = 1", usage);
            prepared.unwrap().unwrap();
            client.database.taken_at_hand() - before
        };
        // The first one reads the schema.
        taken(Use::Once);
        assert!(taken(Use::Once) > 0);
        assert_eq!(taken(Use::Often), 0);
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
    fn a_second_statement_is_refused_and_not_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut client = connect(&target(folder.path(), None), &[]);
        let check = |refused: Failure| {
            let (kind, message) = (refused.kind(), refused.message());
            assert_eq!(kind, FailureKind::Statement, "{message}");
            assert!(message.starts_with("SQLite executes one statement at a time"), "{message}");
        };
        let both = ["INSERT INTO t (id) VALUES (1); DELETE FROM t"];
        check(client.prepare(&sql(Mode::Prepared, &both, &[])).unwrap_err());
        client.prepare(&sql(Mode::Text, &both, &[])).unwrap();
        let remark = ["INSERT INTO t (id) VALUES (1); -- and no more"];
        client.prepare(&sql(Mode::Text, &remark, &[])).unwrap();
        client.begin(0);
        give(&mut client, &[], None);
        check(client.execute().unwrap_err());
        client.begin(1);
        give(&mut client, &[], None);
        assert_eq!(client.execute().unwrap().changed, 1);
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
        let refused = client.prepare(&wrong).unwrap_err();
        assert!(refused.message().contains("nowhere, in `SELECT a"), "{refused:?}");
    }
}
