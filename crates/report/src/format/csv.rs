//! Comma-separated values as RFC 4180 has them, one row per cell of the comparison.

use super::Format;
use crate::{
    Report,
    document::{Document, Item, Row, Table, TableCell},
    escape, layout, page,
};

pub(super) const FORMAT: Format = Format {
    name: "csv",
    help: "comma-separated values with exact numbers, one row per cell",
    page: page::RECORDS,
    holds_warnings: false,
    shows_details: false,
    any_document: true,
    text,
};

fn text(_: &Report, document: &Document) -> String {
    Delimited { cell: escape::csv, between: ",", end: "\r\n" }.text(document)
}

/// How the cells of a row become a line.
pub(super) struct Delimited {
    pub(super) cell: fn(&str) -> String,
    pub(super) between: &'static str,
    pub(super) end: &'static str,
}

impl Delimited {
    pub(super) fn text(&self, document: &Document) -> String {
        let line = |row: Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| (self.cell)(cell)).collect();
            format!("{}{}", cells.join(self.between), self.end)
        };
        let mut rows = Vec::new();
        // Of several tables the headings tell which is which.
        let is_table = |item: &&Item| matches!(item, Item::Table(_));
        let several = document.items.iter().filter(is_table).count() > 1;
        for item in &document.items {
            match item {
                Item::Table(table) => rows.extend(rows_of(table)),
                Item::Heading { text, .. } if several => {
                    rows.extend([Vec::new(), vec![harmless(text)]]);
                }
                _ => {}
            }
        }
        rows.into_iter().skip_while(Vec::is_empty).map(line).collect()
    }
}

/// The titles, then the cells as exact texts; no text steers a terminal or is taken for a formula.
fn rows_of(table: &Table) -> Vec<Vec<String>> {
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
fn exact(cell: &TableCell) -> String {
    match cell {
        TableCell::Text(text) => harmless(text),
        TableCell::Number(value) | TableCell::Ratio(value) => value.to_string(),
        TableCell::PartialRatio { ratio, .. } => ratio.to_string(),
        TableCell::Count(count) => count.to_string(),
        TableCell::Shaded(inner, _) => exact(inner),
        TableCell::Judged(ratio, _) => ratio.to_string(),
        TableCell::Compared { .. } | TableCell::Missed(_) => layout::text(cell),
        TableCell::Share(share) => share.to_string(),
        TableCell::Missing => String::new(),
        TableCell::Failed => "failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::escape;

    #[test]
    fn cells_that_a_reader_would_split_are_quoted() {
        let check = |text: &str, expected: &str| assert_eq!(escape::csv(text), expected);
        check("point-query", "point-query");
        check("user mode only; not calm", "\"user mode only; not calm\"");
        check("a,\"b\"", "\"a,\"\"b\"\"\"");
        // The page's script saves values by the same rule.
        assert!(include_str!("../assets/script.js").contains(r#"/[",;\r\n]/.test(text)"#));
    }
}
