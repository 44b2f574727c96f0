//! The words of workloads, as their files and the records have them; what is made of them is
//! [`crate::script`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod arrival;

pub use arrival::{Arrival, Spacing};

/// The denominator of every per-operation metric of a workload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Executions of an `[[op]]`: a transaction counts once.
    #[default]
    Operations,
    /// Statements, BEGIN and COMMIT included: the published definition of sysbench's QPS.
    Statements,
    /// Rows that the statements returned or examined by definition (scans).
    Rows,
}

/// The index of the primary key, whatever the server calls it.
pub const PRIMARY: &str = "primary";
/// No index: the whole table is read.
pub const NONE: &str = "none";

/// A known difference between what a workload expects and what one server does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deviation {
    /// Name of the server product.
    pub server: String,
    /// Storage engine; any if absent.
    pub engine: Option<String>,
    /// What differs.
    pub check: Check,
    /// Why, and why it is right to measure it all the same.
    pub reason: String,
}

/// A check of `dbdyno verify` on each statement of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Rows returned and changed are those that the workload expects.
    Rows,
    /// The server uses the index that the workload names.
    Plan,
    /// A statement asks for as many keys as the workload says, and gets their rows.
    Keys,
    /// Prepared statements and text do the same.
    Modes,
    /// The tables have as many rows afterwards as the changes told.
    Effect,
}

/// How a statement chooses among the copies of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TableChoice {
    /// Uniform, drawn for this statement (once for all its repeats).
    #[default]
    Fresh,
    /// The table of the statement before it.
    Same,
    /// Table number `connection mod tables + 1`.
    Connection,
}

/// Class of a statement in the published counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Returns a result set.
    Read,
    /// Changes rows; counted as other where it changed none, as sysbench does.
    Write,
    /// Everything else.
    #[default]
    Other,
}

/// How a statement travels.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Prepared once per connection and table.
    Prepared,
    /// Sent as text with literals.
    #[default]
    Text,
}
