//! Tab-separated values, one row per cell of the comparison.

use super::{Format, csv::Delimited};
use crate::{Report, document::Document, page};

pub(super) const FORMAT: Format = Format {
    name: "tsv",
    help: "tab-separated values with exact numbers, one row per cell",
    page: page::RECORDS,
    holds_warnings: false,
    shows_details: false,
    any_document: true,
    text,
};

fn text(_: &Report, document: &Document) -> String {
    Delimited { cell: flat, between: "\t", end: "\n" }.text(document)
}

/// The format has no quoting: what would break a row becomes a blank.
fn flat(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
