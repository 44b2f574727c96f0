//! Pages: what is said. One file each.

mod comparison;
mod insert_benchmark;
mod records;
mod report;

use crate::{Report, document::Document};

pub(crate) use insert_benchmark::document as insert_benchmark;
pub(crate) use records::{better, is_asked};

/// One page.
pub trait Page: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;

    /// What it says about a report. Never fails: what cannot be said is said.
    fn document(&self, report: &Report) -> Document;
}

/// In the order in which a reader meets them.
pub const PAGES: &[&dyn Page] = &[
    &comparison::ComparisonPage,
    &insert_benchmark::InsertBenchmarkPage,
    &report::ReportPage,
    &records::RecordsPage,
];

/// The tables for people.
pub(crate) const COMPARISON: &dyn Page = &comparison::ComparisonPage;
/// All sections, for people who read it in a browser.
pub(crate) const REPORT: &dyn Page = &report::ReportPage;
/// One row per cell, for programs.
pub(crate) const RECORDS: &dyn Page = &records::RecordsPage;
