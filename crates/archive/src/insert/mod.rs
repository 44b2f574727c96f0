//! The published files of the Insert Benchmark: names of phases, tables, and what they say.
//!
//! Everything that is derived from a table is derived from what was printed in it, so that the
//! rounding of published tables is kept.

pub(crate) mod columns;
pub(crate) mod histogram;
pub(crate) mod kind_file;
mod merge;
pub(crate) mod progress;
mod row;
mod sheet;
pub(crate) mod table;
pub(crate) mod tables;

pub use merge::{merged, relative, some};
pub use row::{COLUMNS, PhaseRates, Work, published_row};
pub use sheet::{Line, Row, Sheet};
pub use tables::insert_tables;
