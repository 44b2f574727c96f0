//! The published summary of the Insert Benchmark: one row of 21 columns per phase and variant, and
//! the tables made of such rows.
//!
//! A row is text: everything after it is computed from what was printed, so that the rounding of
//! published tables is kept.

mod merge;
mod row;
mod sheet;

pub use merge::{
    PHASES_2021, PHASES_2024, SOME_PHASES, merged, phases, relative, some, without_size,
};
pub use row::{COLUMNS, PhaseTotals, Work, published_row};
pub use sheet::{Line, Sheet, SheetProblem};
