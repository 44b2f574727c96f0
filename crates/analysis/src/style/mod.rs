//! Styles of the summary tables: which cells stand out, and which hold no number. One file each.

mod marked;
mod published;

use crate::shade::{PhaseColumn, Shown};

/// One style. Every function gives one entry per cell of the column.
pub struct Style {
    /// Name: the file's stem.
    pub name: &'static str,
    /// The legend under the table of rates, of ratios, and of insert rates: one sentence each.
    pub legends: [&'static str; 3],
    /// Rates as they are.
    pub absolute: fn(&PhaseColumn) -> Vec<Shown>,
    /// Whether ratios that several blocks repeat have their interval and verdict.
    pub has_verdicts: bool,
    /// Rates relative to those of the base.
    pub relative: fn(&PhaseColumn) -> Vec<Shown>,
    /// Rates of the inserts beside queries.
    pub inserts: fn(&PhaseColumn) -> Vec<Shown>,
}

/// The first one is used where none is asked for.
pub const STYLES: &[Style] = &[marked::STYLE, published::STYLE];

/// The style with this name.
pub fn find(name: &str) -> Option<&'static Style> {
    STYLES.iter().find(|style| style.name == name)
}
