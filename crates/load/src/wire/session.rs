//! A control connection, and how it loads rows.

use super::{Failure, Rows};
use model::drive::Encryption;

/// A connected control session. It is closed when dropped.
pub trait Session: Send {
    /// Executes one statement and reads its whole answer. Of several results the first with columns
    /// is kept. After an error that is not `lost` the session can go on.
    fn query(&mut self, sql: &str) -> Result<Rows, Failure>;

    /// Version that the server reports.
    fn server_version(&self) -> &str;

    /// How the connection is encrypted, as are all others to the same target; none where it is not.
    fn encryption(&self) -> Option<Encryption> {
        None
    }

    /// How this session loads rows into a table of the storage engine `engine` (empty: the
    /// default). May ask the server.
    fn load_method(&mut self, engine: &str) -> Result<LoadMethod, Failure>;

    /// Settings of this session alone that make the loading of rows and indexes faster, or refuse
    /// what a column does not hold, and change nothing that is stored.
    fn begin_load(&mut self, _: &Loading<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Makes all loaded rows visible: indexes follow, or nothing.
    fn end_rows(&mut self, _: &Loading<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes the settings of [`Session::begin_load`] back.
    fn end_load(&mut self, _: &Loading<'_>) -> Result<(), Failure> {
        Ok(())
    }

    /// Loads all rows of `rows` into a table in one transaction and returns how many the server
    /// stored.
    fn load(&mut self, into: &Destination<'_>, rows: &mut dyn RowSource) -> Result<u64, Failure>;
}

/// How a session loads rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadMethod {
    /// How they travel: `COPY`, `LOAD DATA LOCAL`, prepared `INSERT`.
    pub name: &'static str,
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
    pub(crate) fn column_list(&self) -> String {
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

    /// The next value of the row, a vector.
    fn vector(&mut self, value: &[f32]);

    /// The next value of the row, NULL.
    fn null(&mut self);

    /// The row has all its values.
    fn end_row(&mut self);
}
