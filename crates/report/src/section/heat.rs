//! The first picture of many variants: tests by variants, in the colors of the table.

use super::Section;
use crate::{
    document::{Document, Item},
    grid::Part,
    scope::Scope,
    words::{self, THROUGHPUT},
};

pub(super) struct Heat;

impl Section for Heat {
    fn name(&self) -> &'static str {
        "heat"
    }

    fn write(&self, scope: &Scope<'_>, document: &mut Document) {
        let Some(metric) = scope.grid.metric(THROUGHPUT).filter(|_| scope.is_many()) else {
            return;
        };
        let has_ratio = |part: &&Part| {
            let mut rows = part.rows.iter().map(|row| &scope.grid.values[metric][*row]);
            rows.any(|row| part.columns.iter().any(|column| row[*column].ratio.is_some()))
        };
        let parts: Vec<_> = scope.parts.iter().filter(has_ratio).collect();
        if parts.is_empty() {
            return;
        }
        document.section("heat", "Heat map");
        document.paragraph("Throughput relative to the base: blue is faster, orange is slower.");
        for part in parts {
            if !part.base.is_empty() {
                document.heading(3, words::compared_with((&scope.grid, part)));
            }
            document.items.push(Item::Heat(Box::new(scope.grid.part(part)), metric));
        }
    }
}
