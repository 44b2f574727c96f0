//! Aligned text for a terminal.

use super::Format;
use crate::{
    Report,
    document::{Document, Item},
    escape, layout, page,
    screen::wrap,
};

pub(super) const FORMAT: Format = Format {
    name: "table",
    help: "aligned text for a terminal",
    page: page::COMPARISON,
    // They are for stderr, so that a file or a pipe gets the tables alone.
    holds_warnings: false,
    shows_details: false,
    any_document: true,
    text,
};

fn text(report: &Report, document: &Document) -> String {
    let screen = report.screen;
    let mut lines: Vec<String> = Vec::new();
    let mut before: Option<&Item> = None;
    for item in document.items.iter().filter(|item| !matches!(item, Item::Warning(_))) {
        // Paragraphs belong together; everything else is set apart.
        let together = matches!((before, item), (Some(Item::Paragraph(_)), Item::Paragraph(_)));
        if before.is_some() && !together {
            lines.push(String::new());
        }
        let wrapped = |text: &str| wrap(&escape::terminal(text), screen.columns, 2);
        match item {
            Item::Heading { text, .. }
            | Item::Section { title: text, .. }
            | Item::Paragraph(text) => lines.extend(wrapped(text)),
            Item::Table(table) => lines.extend(layout::lines(table, screen)),
            // A command that is broken into lines cannot be pasted.
            code @ Item::Code(_) => lines.extend(super::plain_lines(code)),
            other => {
                let pairs = super::plain_lines(other);
                lines.extend(pairs.iter().flat_map(|text| wrap(text, screen.columns, 2)));
            }
        }
        before = Some(item);
    }
    lines.join("\n") + "\n"
}
