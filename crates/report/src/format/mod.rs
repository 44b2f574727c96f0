//! Formats: how it is written. One file each.

mod csv;
mod dense;
mod html;
mod json;
mod markdown;
mod table;
mod tsv;

use crate::{Report, document::Document, page::Page};

pub(crate) use html::index;

/// One format.
pub trait Format: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;

    /// One line.
    fn help(&self) -> &'static str;

    /// The page that it writes.
    fn page(&self) -> &'static dyn Page;

    /// Whether the text holds the warnings; where it does not, the caller says them elsewhere.
    fn holds_warnings(&self) -> bool {
        true
    }

    /// Whether it shows what is known beside the comparisons; otherwise nobody need gather it.
    fn shows_details(&self) -> bool {
        false
    }

    /// The text of `document`, which is this format's page of `report`; it ends with a line end.
    fn text(&self, report: &Report, document: &Document) -> String;
}

/// In the order in which `dbdyno list formats` shows them.
pub const FORMATS: &[&dyn Format] = &[
    &table::Table,
    &dense::Dense,
    &markdown::Markdown,
    &html::Html,
    &tsv::Tsv,
    &csv::Csv,
    &json::Json,
];

/// The format with this name.
pub fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().copied().find(|format| format.name() == name)
}
