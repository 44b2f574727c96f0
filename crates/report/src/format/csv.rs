//! Comma-separated values as RFC 4180 has them, one row per cell of the comparison.

use super::Format;
use crate::{
    Report,
    document::{Cell, Document, Item, Row, Table},
    escape, layout,
    page::{self, Page},
};

pub(super) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn help(&self) -> &'static str {
        "comma-separated values with exact numbers, one row per cell"
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
                let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
                text.push_str(&cells.join(","));
                text.push_str("\r\n");
            }
        }
        text
    }
}

/// The tables of a document.
pub(super) fn tables(document: &Document) -> impl Iterator<Item = &Table> {
    document.items.iter().filter_map(|item| match item {
        Item::Table(table) => Some(table),
        _ => None,
    })
}

/// The titles, then the cells as exact texts; no text steers a terminal or is taken for a formula.
pub(super) fn rows(table: &Table) -> Vec<Vec<String>> {
    let titles = table.columns.iter().map(|column| harmless(&column.title)).collect();
    let mut rows = vec![titles];
    for row in &table.rows {
        match row {
            Row::Cells(cells) => rows.push(cells.iter().map(exact).collect()),
            Row::Section(text) | Row::Note(text) => rows.push(vec![harmless(text)]),
        }
    }
    rows
}

fn harmless(text: &str) -> String {
    escape::spreadsheet(&escape::terminal(text))
}

/// The shortest text that reads back as the same number.
fn exact(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => harmless(text),
        Cell::Number(value) | Cell::Ratio(value) => value.to_string(),
        Cell::PartialRatio { ratio, .. } => ratio.to_string(),
        Cell::Count(count) => count.to_string(),
        Cell::Shaded(..) | Cell::Judged(..) | Cell::Compared { .. } | Cell::Missed(_) => {
            layout::text(cell)
        }
        Cell::Share(share) => share.to_string(),
        Cell::Missing => String::new(),
        Cell::Failed => "failed".to_owned(),
    }
}

fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text.to_owned()
}
