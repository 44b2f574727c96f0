//! Aligned text for a terminal.

use super::Format;
use crate::{
    Report,
    document::{Document, Item},
    escape, layout,
    page::{self, Page},
};

pub(super) struct Table;

impl Format for Table {
    fn name(&self) -> &'static str {
        "table"
    }

    fn help(&self) -> &'static str {
        "aligned text for a terminal"
    }

    fn page(&self) -> &'static dyn Page {
        page::COMPARISON
    }

    fn text(&self, _: &Report, document: &Document) -> String {
        let mut lines: Vec<String> = Vec::new();
        let mut before: Option<&Item> = None;
        for item in &document.items {
            // Lines of one kind belong together; everything else is set apart.
            let together = matches!(
                (before, item),
                (Some(Item::Paragraph(_)), Item::Paragraph(_))
                    | (Some(Item::Warning(_)), Item::Warning(_))
            );
            if before.is_some() && !together {
                lines.push(String::new());
            }
            match item {
                Item::Heading { text, .. } | Item::Section { title: text, .. } => {
                    lines.push(escape::terminal(text));
                }
                Item::Paragraph(text) => lines.push(escape::terminal(text)),
                Item::Table(table) => lines.extend(layout::lines(table)),
                Item::Warning(text) => lines.push(format!("warning: {}", escape::terminal(text))),
                other => lines.extend(escape::pairs(other)),
            }
            before = Some(item);
        }
        lines.join("\n") + "\n"
    }
}
