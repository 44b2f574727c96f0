//! Tables, their deterministic rows and their indexes.

use crate::{Parameters, lua::Lua};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use values::{VectorFile, generator::Generator};

/// A set of tables that workloads share: the domain form of one file of `catalog/schemas`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Schema {
    /// Unique name: the file's stem.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// The tables.
    pub tables: Vec<Table>,
    /// What servers must load before there can be such tables, by dialect: an extension of theirs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extension: BTreeMap<String, String>,
    /// Statements after those of all tables, such as foreign keys between them: by storage engine
    /// in lower case, else by dialect, else `any`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constraints: BTreeMap<String, Vec<String>>,
    /// What must hold in the tables after every phase that writes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// The user's own sysbench script whose `prepare` makes its tables. Nothing else is
    /// known of them: there are none here then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lua: Option<Lua>,
}

/// A condition that the tables must meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must hold, for messages.
    pub name: String,
    /// A query for one number: how often it does not hold.
    pub sql: String,
}

/// One table, or equal numbered copies of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Name with `{n}` for the copy's number, from 1.
    pub name: String,
    /// Number of copies.
    pub copies: u64,
    /// Rows of each copy.
    pub rows: u64,
    /// CREATE TABLE by dialect (`mysql`, `postgres`, `sqlite`); `{table}` and `{engine}` are
    /// replaced.
    pub create: BTreeMap<String, String>,
    /// The loaded columns in order, with how row `row` (from 1) gets its value.
    pub columns: Vec<Column>,
    /// What makes its rows, where it is written in Rust: `columns` is empty then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coded: Option<CodedRows>,
    /// Statements after the rows: secondary indexes. By storage engine in lower case (`rocksdb`),
    /// else by dialect, else `any`. `{table}`, `{n}`, `{rows}`.
    pub indexes: BTreeMap<String, Vec<String>>,
    /// Statements after the indexes, by dialect or `any`: sequences, statistics.
    pub finish: BTreeMap<String, Vec<String>>,
    /// Statements that read the whole of a table and of its indexes into the cache, by dialect or
    /// `any`; executed on every table after a fresh start, before the first slice. `{table}`,
    /// `{n}`.
    #[serde(default)]
    pub warm: BTreeMap<String, Vec<String>>,
}

impl Schema {
    /// Tables, copies and all.
    pub fn copies(&self) -> u64 {
        self.tables.iter().map(|table| table.copies).sum()
    }

    /// Rows of all tables as they are loaded.
    pub fn all_rows(&self) -> f64 {
        self.tables.iter().map(Table::all_rows).sum()
    }
}

impl Table {
    /// Rows of all copies.
    pub fn all_rows(&self) -> f64 {
        self.copies as f64 * self.rows as f64
    }

    /// Names of its copies.
    pub fn copy_names(&self) -> impl Iterator<Item = String> {
        (1..=self.copies).map(|n| self.name.replace("{n}", &n.to_string()))
    }
}

/// Rows that are made in Rust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodedRows {
    /// Name in the load engine's table of coded rows.
    pub name: String,
    /// Bytes of a row, about; for estimates.
    pub bytes: u64,
    /// Numbers of the schema that say how they are made.
    #[serde(default, skip_serializing_if = "Parameters::is_empty")]
    pub parameters: Parameters,
    /// Where vectors come from; made from the parameters, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<VectorFile>,
}

/// A loaded column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Its values.
    pub value: ColumnValue,
}

/// How a loaded value is made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnValue {
    /// The row's number, from 1.
    RowNumber,
    /// The row's number, from another one on.
    Counted {
        /// Value of the first row.
        first: i64,
    },
    /// Drawn from a stream that depends on seed, table and row alone, so any number of threads
    /// loads the same.
    Drawn(Generator),
}
