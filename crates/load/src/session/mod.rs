//! Control sessions: connected, authenticated, and able to execute any SQL.
//!
//! A session is for asking and loading, where clarity counts more than speed; the measured clients
//! take only its connect half (`mysql::connect`, `postgres::connect`) and speak for themselves from
//! there.

pub mod credentials;
pub mod mysql;
pub mod null;
pub mod postgres;
pub mod socket;
pub mod sqlite;
mod text;

use model::drive::Target;

/// A connected control session. It is closed when dropped.
pub trait Session: Send {
    /// Executes one statement and reads its whole answer. Of several results the first with columns
    /// is kept. After an error that is not `lost` the session can go on.
    fn query(&mut self, sql: &str) -> Result<Rows, SqlError>;

    /// Version that the server reports.
    fn server_version(&self) -> &str;

    /// The server's own number of the connection: backend process of PostgreSQL, connection id of
    /// MySQL; 0 if there is none.
    fn server_id(&self) -> u64;

    /// How this session loads rows into a table of the storage engine `engine` (empty: the
    /// default). May ask the server.
    fn manner(&mut self, engine: &str) -> Result<Manner, SqlError>;

    /// Settings of this session alone that make the loading of rows and indexes faster, and change
    /// nothing that is stored.
    fn begin_load(&mut self, load: &Loading<'_>) -> Result<(), SqlError>;

    /// Makes all loaded rows visible: indexes follow, or nothing.
    fn end_rows(&mut self, load: &Loading<'_>) -> Result<(), SqlError>;

    /// Takes the settings of [`Session::begin_load`] back.
    fn end_load(&mut self, load: &Loading<'_>) -> Result<(), SqlError>;

    /// Loads all rows of `rows` into a table in one transaction and returns how many the server
    /// stored.
    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, SqlError>;
}

/// How a session loads rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// How they travel: `COPY`, `LOAD DATA LOCAL`, prepared `INSERT`.
    pub method: &'static str,
    /// What may happen at the same time.
    pub split: Split,
}

/// What several sessions may load at the same time, so that the stored tables are as one session
/// would have made them, or nearly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// Long ranges of rows of one table: the rows are stored by key, not by arrival.
    Ranges,
    /// Different tables, each in the order of its rows.
    Tables,
    /// Nothing: there is one writer.
    Nothing,
}

/// What a session may know of a load when it sets itself up.
#[derive(Debug, Clone, Copy)]
pub struct Loading<'a> {
    /// Storage engine, or empty for the server's default.
    pub engine: &'a str,
    /// Sessions that load at the same time.
    pub threads: u32,
}

/// The table and columns that rows are loaded into.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// Name of the table.
    pub table: &'a str,
    /// Names of its loaded columns, in the order of the values.
    pub columns: &'a [String],
    /// Whether all texts are ASCII, which spares the server their conversion.
    pub ascii: bool,
}

impl Destination<'_> {
    /// The columns as SQL writes them: `id, k, c`.
    fn column_list(&self) -> String {
        self.columns.join(", ")
    }
}

/// Rows that wait to be loaded.
pub trait RowSource {
    /// Gives the next row to `sink`, or says that there is none.
    fn next_row(&mut self, sink: &mut dyn RowSink) -> bool;
}

/// Takes rows value by value, in the encoding of a protocol.
pub trait RowSink {
    /// The next value of the row, an integer.
    fn integer(&mut self, value: i64);

    /// The next value of the row, a text.
    fn text(&mut self, value: &[u8]);

    /// The row has all its values.
    fn end_row(&mut self);
}

/// A protocol of the table.
pub struct Protocol {
    /// Name, as [`Target::protocol`] gives it.
    pub name: &'static str,
    /// Opens a session.
    pub open: fn(&Target) -> Result<Box<dyn Session>, SqlError>,
}

/// Every protocol that has sessions: the seam of this folder.
pub static PROTOCOLS: &[Protocol] = &[
    Protocol { name: "mysql", open: mysql::open },
    Protocol { name: "null", open: null::open },
    Protocol { name: "postgres", open: postgres::open },
    Protocol { name: "sqlite", open: sqlite::open },
];

/// Connects to `target` and executes its initial statements. Fails if the protocol is unknown, the
/// server cannot be reached, the login is refused or a statement fails.
pub fn open(target: &Target) -> Result<Box<dyn Session>, SqlError> {
    let Some(protocol) = PROTOCOLS.iter().find(|protocol| protocol.name == target.protocol) else {
        let known: Vec<_> = PROTOCOLS.iter().map(|protocol| protocol.name).collect();
        return Err(SqlError::own(format!(
            "there is no protocol `{}` (known: {})",
            target.protocol,
            known.join(", ")
        )));
    };
    (protocol.open)(target)
}

/// The answer to one statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rows {
    /// Column names; empty if the statement returned no result set.
    pub columns: Vec<String>,
    /// Values as text; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Rows that the statement changed.
    pub changed: u64,
}

/// A statement or connection that failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (error `{code}`)")]
pub struct SqlError {
    /// The server's own code: an error number or an SQLSTATE; `client` for errors found on this
    /// side.
    pub code: String,
    /// One sentence.
    pub message: String,
    /// Whether the connection to the server was lost.
    pub lost: bool,
}

impl SqlError {
    /// An error found on this side, after which the connection can go on.
    pub(crate) fn own(message: impl Into<String>) -> Self {
        Self { code: "client".to_owned(), message: message.into(), lost: false }
    }

    /// An error after which the connection is of no use.
    pub(crate) fn lost(message: impl Into<String>) -> Self {
        Self { code: "client".to_owned(), message: message.into(), lost: true }
    }
}
