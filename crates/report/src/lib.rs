//! From comparisons to bytes: what a page says, and how a format writes it.
//!
//! A page turns a [`Report`] into a [`document::Document`] and knows no format; a format writes a
//! document and knows no statistics. Both are tables ([`page::PAGES`], [`format::FORMATS`]); one
//! more is one file and one line. Nothing here reads a file or prints.
//!
//! Read [`render`] first, then [`document`].

#![forbid(unsafe_code)]

pub mod document;
pub mod format;
pub mod page;
pub mod sysbench;

mod escape;
mod layout;
mod number;

use analysis::Comparison;
use model::metric::Metric;

/// What is to be said: one comparison per experiment.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The comparisons, one per experiment.
    pub comparisons: Vec<Comparison>,
    /// The metrics that were asked for, in this order; if there are none, tables show their usual
    /// ones and data formats show all.
    pub metrics: Vec<&'static Metric>,
}

/// What a caller can ask for that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No format has this name.
    #[error("no format is named `{name}`; choose one of {known}")]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
}

/// The report in the format with this name. Fails for an unknown name.
pub fn render(report: &Report, format: &str) -> Result<String, Error> {
    let Some(format) = format::find(format) else {
        let known: Vec<_> = format::FORMATS.iter().map(|f| format!("`{}`", f.name())).collect();
        return Err(Error::UnknownFormat { name: format.to_owned(), known: known.join(", ") });
    };
    let document = format.page().document(report);
    Ok(format.text(report, &document))
}
