//! Tab-separated values, one row per cell of the comparison.

use super::{
    Format,
    csv::{rows, tables},
};
use crate::{
    Report,
    document::Document,
    page::{self, Page},
};

pub(super) struct Tsv;

impl Format for Tsv {
    fn name(&self) -> &'static str {
        "tsv"
    }

    fn help(&self) -> &'static str {
        "tab-separated values with exact numbers, one row per cell"
    }

    fn holds_warnings(&self) -> bool {
        false
    }

    fn page(&self) -> &'static dyn Page {
        page::RECORDS
    }

    fn text(&self, _: &Report, document: &Document) -> String {
        let mut text = String::new();
        for table in tables(document) {
            for row in rows(table) {
                let cells: Vec<String> = row.iter().map(|cell| flat(cell)).collect();
                text.push_str(&cells.join("\t"));
                text.push('\n');
            }
        }
        text
    }
}

/// The format has no quoting: what would break a row becomes a blank.
fn flat(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
