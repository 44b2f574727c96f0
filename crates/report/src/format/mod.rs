//! Formats: how it is written. One file each.

mod csv;
mod dense;
mod html;
mod json;
mod markdown;
mod table;
mod tsv;

use crate::{
    Report,
    document::{Document, Item},
    escape::terminal,
    page::Page,
};

pub use html::SiteEntry;
pub(crate) use html::{IndexEntry, index, site};

/// One format.
pub struct Format {
    /// Name: the file's stem.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    /// The page that it writes.
    pub page: &'static Page,
    /// Whether the text holds the warnings; where it does not, the caller says them elsewhere.
    pub holds_warnings: bool,
    /// Whether it shows what is known beside the comparisons; otherwise nobody need gather it.
    pub shows_details: bool,
    /// Whether it writes any document; others write the comparisons, whatever the document is.
    pub any_document: bool,
    /// The text of a document, which is this format's page of a report; it ends with a line end.
    pub text: fn(&Report, &Document) -> String,
}

/// In the order in which `dbdyno list formats` shows them.
pub static FORMATS: &[Format] = &[
    table::FORMAT,
    dense::FORMAT,
    markdown::FORMAT,
    html::FORMAT,
    tsv::FORMAT,
    csv::FORMAT,
    json::FORMAT,
];

/// The format with this name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// What can be said in plain lines of an item that only the HTML report shows in full.
fn plain_lines(item: &Item) -> Vec<String> {
    match item {
        Item::Facts(facts) => {
            facts.iter().map(|(name, value)| terminal(&format!("{name}: {value}"))).collect()
        }
        Item::Code(text) => text.lines().map(terminal).collect(),
        _ => Vec::new(),
    }
}
