//! From comparisons to bytes: what a page says, and how a format writes it.
//!
//! A page turns a [`Report`] into a [`document::Document`] and knows no format; a format writes a
//! document and knows no statistics. Both are tables ([`page::PAGES`], [`format::FORMATS`]); one
//! more is one file and one line. Nothing here reads a file or prints.
//!
//! Read [`render`] first, then [`document`].

#![forbid(unsafe_code)]

pub mod chart;
pub mod document;
pub mod explained;
mod first_screen;
pub mod format;
pub mod grid;
pub mod history;
pub mod page;
pub mod profile;
pub mod section;
pub mod sysbench;

mod details;
mod escape;
mod inputs;
mod layout;
mod names;
mod number;
mod pages;
mod screen;
mod sentence;
mod status;
mod summary;
mod trust;
mod words;

pub use details::{Counted, Details, LeftOut, Overhead, Provenance, Traffic, Trial};
pub use format::SiteEntry;
pub use inputs::Inputs;
pub use names::Names;
pub use pages::{INDEX, PageFile, pages};
pub use screen::{Colors, Screen, width, wrap};
pub use words::reason;

use analysis::Comparison;
use document::{Document, Item};
use model::{metric::Metric, quoted};
use std::collections::BTreeMap;

/// What is to be said: one comparison per experiment.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The comparisons, one per experiment.
    pub comparisons: Vec<Comparison>,
    /// The metrics that were asked for, in this order; if there are none, tables show their usual
    /// ones and data formats show all.
    pub metrics: Vec<&'static Metric>,
    /// What is known beside the comparisons, in their order; a missing one is as good as an empty
    /// one.
    pub details: Vec<Details>,
    /// How the HTML report lays its tables and charts out.
    pub view: View,
    /// The terminal that tables are for.
    pub screen: Screen,
}

/// How tables and charts of the HTML report are laid out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// Keys of the rows; `phase` if there are none. See [`grid::KEYS`].
    pub rows: Vec<String>,
    /// Keys of the columns; `variant` if there are none.
    pub columns: Vec<String>,
    /// The colors of cells when the page is opened.
    pub colours: Colours,
    /// What variants are called instead of their labels, by label.
    pub aliases: BTreeMap<String, String>,
    /// Where bars begin, as a ratio, if not at 0; the break is drawn.
    pub cut_bars: Option<f64>,
}

/// How cells of the table are colored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Colours {
    /// A diverging scale, neutral around 1.
    #[default]
    Diverging,
    /// The published rule: blue from 1.06 on, yellow up to 0.94, nothing between.
    Published,
}

impl View {
    /// Refuses keys that no comparison has.
    pub fn check(&self, comparisons: &[Comparison]) -> Result<(), Error> {
        let mut asked = self.rows.iter().chain(&self.columns).peekable();
        if asked.peek().is_none() {
            return Ok(());
        }
        let known = grid::known_keys(comparisons);
        for key in asked {
            if !known.contains(key) {
                return Err(Error::UnknownKey { key: key.clone(), known: quoted(known) });
            }
        }
        Ok(())
    }
}

/// What a caller can ask for that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No format has this name.
    #[error("unknown format `{name}`; choose one of {known}")]
    UnknownFormat {
        /// What was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// No comparison has this key.
    #[error("`{key}` cannot be used for rows or columns; choose from {known}")]
    UnknownKey {
        /// What was asked for.
        key: String,
        /// The keys that exist.
        known: String,
    },
    /// The format writes comparisons only.
    #[error("the format `{format}` does not have these tables; choose one of {able}")]
    NoTables {
        /// What was asked for.
        format: &'static str,
        /// The formats that have them.
        able: String,
    },
    /// No style has this name.
    #[error("unknown style `{name}`; choose one of {known}")]
    UnknownStyle {
        /// What was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
}

/// A report in a format, and the warnings that the format does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The text; it ends with a line end.
    pub text: String,
    /// What a reader must be told elsewhere, one sentence each.
    pub warnings: Vec<String>,
}

impl Rendered {
    fn of(report: &Report, format: &format::Format, document: &Document) -> Self {
        let own = document.items.iter().filter_map(|item| match item {
            Item::Warning(text) => Some(text.clone()),
            _ => None,
        });
        let mut warnings: Vec<String> = own.collect();
        if warnings.is_empty() {
            warnings = report.comparisons.iter().flat_map(|c| c.warnings.clone()).collect();
        }
        // Formats for programs leave out the paragraphs in which pages tell the conditions.
        if format.page.name == page::RECORDS.name {
            let conditions = report.comparisons.iter().flat_map(|c| &c.conditions);
            let untold = conditions.filter(|said| !warnings.contains(said)).cloned();
            let untold: Vec<String> = untold.collect();
            warnings.extend(untold);
        }
        if format.holds_warnings {
            warnings.clear();
        }
        Self { text: (format.text)(report, document), warnings }
    }
}

/// The index of a site: one line and one link for each page.
pub fn site_index(entries: &[SiteEntry]) -> String {
    format::site(entries)
}

/// What the head of each page calls its author; whoever writes a file may add the command to it.
pub const GENERATOR: &str = concat!("dbdyno ", env!("CARGO_PKG_VERSION"));

/// The text of [`rendered`] alone.
pub fn render(report: &Report, format: &str) -> Result<String, Error> {
    Ok(rendered(report, format)?.text)
}

/// The report in the format with this name. Fails for an unknown name.
pub fn rendered(report: &Report, format: &str) -> Result<Rendered, Error> {
    let format = known_format(format)?;
    Ok(Rendered::of(report, format, &(format.page.document)(report)))
}

/// The summary tables of the Insert Benchmark in a style of [`analysis::style::STYLES`] and a
/// format. Fails for unknown names.
pub fn render_insert_benchmark(
    report: &Report,
    style: &str,
    format: &str,
) -> Result<Rendered, Error> {
    let format = known_format(format)?;
    if !format.any_document {
        let able = names(|format| format.any_document);
        return Err(Error::NoTables { format: format.name, able });
    }
    let Some(style) = analysis::style::find(style) else {
        let known = quoted(analysis::style::STYLES.iter().map(|style| style.name));
        return Err(Error::UnknownStyle { name: style.to_owned(), known });
    };
    Ok(Rendered::of(report, format, &page::insert_benchmark(report, style)))
}

fn known_format(name: &str) -> Result<&'static format::Format, Error> {
    format::find(name)
        .ok_or_else(|| Error::UnknownFormat { name: name.to_owned(), known: names(|_| true) })
}

/// The names of some formats, for a message.
fn names(is_meant: fn(&format::Format) -> bool) -> String {
    let meant = format::FORMATS.iter().filter(|format| is_meant(format));
    quoted(meant.map(|format| format.name))
}
