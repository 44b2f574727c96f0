//! Markdown with tables, for tickets and commit messages.

use super::Format;
use crate::{
    Report,
    document::{Align, Document, Item, Row, Table, TableCell},
    escape, layout, page,
};

pub(super) const FORMAT: Format = Format {
    name: "markdown",
    help: "Markdown with tables, for tickets",
    page: page::COMPARISON,
    holds_warnings: true,
    shows_details: false,
    any_document: true,
    text,
};

fn text(_: &Report, document: &Document) -> String {
    let blocks: Vec<String> = document.items.iter().map(block).collect();
    blocks.join("\n\n") + "\n"
}

fn block(item: &Item) -> String {
    match item {
        Item::Heading { level, text } => {
            format!("{} {}", "#".repeat((*level).clamp(1, 6)), escape::markdown(text))
        }
        Item::Section { title, .. } => format!("## {}", escape::markdown(title)),
        Item::Paragraph(text) => escape::markdown(text),
        Item::Table(table) => lines(table).join("\n"),
        Item::Warning(text) => format!("> **warning:** {}", escape::markdown(text)),
        // What is indented is shown as it is.
        code @ Item::Code(_) => {
            let lines = super::plain_lines(code);
            lines.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
        }
        other => super::plain_lines(other).join("\n"),
    }
}

fn lines(table: &Table) -> Vec<String> {
    let titles = table.columns.iter().map(|column| {
        let unit =
            if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
        escape::markdown(&format!("{}{unit}", column.title))
    });
    let rules = table.columns.iter().map(|column| match column.align {
        Align::Left => ":--".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    let mut lines = vec![line(titles), line(rules)];
    for row in &table.rows {
        lines.push(match row {
            Row::Cells(cells) => line(cells.iter().map(cell)),
            Row::Section(text) => alone(format!("**{}**", escape::markdown(text)), table),
            Row::Note(text) => alone(format!("*{}*", escape::markdown(text)), table),
        });
    }
    lines
}

/// A row with words in its first cell alone.
fn alone(text: String, table: &Table) -> String {
    let rest = table.columns.iter().skip(1).map(|_| String::new());
    line(std::iter::once(text).chain(rest))
}

fn cell(cell: &TableCell) -> String {
    match cell {
        TableCell::Text(text) => escape::markdown(text.trim()),
        TableCell::Failed => "**failed**".to_owned(),
        other => layout::text(other),
    }
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}
