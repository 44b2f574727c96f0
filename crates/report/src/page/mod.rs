//! Pages: what is said. One file each.

mod comparison;
mod insert_benchmark;
mod records;
mod report;

use crate::{Report, document::Document};

pub(crate) use insert_benchmark::document as insert_benchmark;
pub(crate) use records::{better, is_asked};

/// One page.
pub struct Page {
    /// Name: the file's stem.
    pub name: &'static str,
    /// What it says about a report. Never fails: what cannot be said is said.
    pub document: fn(&Report) -> Document,
}

/// In the order in which a reader meets them.
pub const PAGES: &[Page] = &[comparison::PAGE, insert_benchmark::PAGE, report::PAGE, records::PAGE];

/// The tables for people.
pub(crate) const COMPARISON: &Page = &comparison::PAGE;
/// All sections, for people who read it in a browser.
pub(crate) const REPORT: &Page = &report::PAGE;
/// One row per cell, for programs.
pub(crate) const RECORDS: &Page = &records::PAGE;
