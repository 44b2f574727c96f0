//! The summary tables of the Insert Benchmark, where work was done at set rates.

use super::Section;
use crate::{
    Colours, Report,
    document::{Document, Item},
    page,
    scope::Scope,
};
use analysis::style::{self, STYLES};

pub(super) struct Rates;

impl Section for Rates {
    fn name(&self) -> &'static str {
        "rates"
    }

    fn write(&self, scope: &Scope<'_>, document: &mut Document) {
        if analysis::phase_columns(scope.comparison).is_empty() {
            return;
        }
        let published = match scope.view.colours {
            Colours::Published => style::find("published"),
            Colours::Diverging => None,
        };
        let report = Report { comparisons: vec![scope.comparison.clone()], ..Report::default() };
        document.section("rates", "Set rates");
        let tables = page::insert_benchmark(&report, published.unwrap_or(STYLES[0]));
        document.items.extend(tables.items.into_iter().filter_map(lowered));
    }
}

/// The page's headings, one level below the section's.
fn lowered(item: Item) -> Option<Item> {
    match item {
        Item::Heading { level: 1, .. } => None,
        Item::Heading { level, text } => Some(Item::Heading { level: level + 1, text }),
        other => Some(other),
    }
}
