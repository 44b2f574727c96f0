//! Styles of the summary tables: which cells stand out, and which hold no number. One file each.

mod marked;
mod published;

use crate::shade::{PhaseColumn, Shown};

/// One style. Every function gives one entry per cell of the column.
pub trait Style: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;

    /// The legend under the table of rates, of ratios, and of insert rates: one sentence each.
    fn legends(&self) -> [&'static str; 3];

    /// Rates as they are.
    fn absolute(&self, column: &PhaseColumn) -> Vec<Shown>;

    /// Whether ratios that several blocks repeat have their interval and verdict.
    fn has_verdicts(&self) -> bool {
        false
    }

    /// Rates relative to those of the base.
    fn relative(&self, column: &PhaseColumn) -> Vec<Shown>;

    /// Rates of the inserts beside queries.
    fn inserts(&self, column: &PhaseColumn) -> Vec<Shown>;
}

/// The first one is used where none is asked for.
pub const STYLES: &[&dyn Style] = &[&marked::Marked, &published::Published];

/// The style with this name.
pub fn find(name: &str) -> Option<&'static dyn Style> {
    STYLES.iter().copied().find(|style| style.name() == name)
}
