//! The index of several reports: one line and one link each.

use super::text;
use crate::number;
use maud::{Markup, html};

/// A line of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct IndexEntry {
    /// File of its page.
    pub(crate) file: String,
    /// The experiment or archive.
    pub(crate) name: String,
    /// Compared variants.
    pub(crate) variants: usize,
    /// Tests.
    pub(crate) tests: usize,
    /// What they are compared with.
    pub(crate) bases: Vec<String>,
    /// The least and the largest mean of a variant's ratios, of the metric that tables show first.
    pub(crate) range: Option<(f64, f64)>,
}

pub(super) const TITLE: &str = "Reports";

pub(super) fn table(entries: &[IndexEntry]) -> Markup {
    html! {
        article {
            header { h1 { (TITLE) } }
            form class="index styling scripted" {
                label { "Archives " input type="search" name="text" placeholder="filter by name"; }
            }
            div class="wide" tabindex="0" role="group" aria-label="Reports" {
                table class="plain sortable" {
                    thead { tr {
                        th scope="col" { "archive or experiment" }
                        th scope="col" class="num" { "variants" }
                        th scope="col" class="num" { "tests" }
                        th scope="col" { "compared with" }
                        th scope="col" class="num" { "least" span class="unit" { "ratio" } }
                        th scope="col" class="num" { "largest" span class="unit" { "ratio" } }
                    } }
                    tbody { @for entry in entries { (line(entry)) } }
                }
            }
            p {
                "Ratios: geometric means of throughput, or of instructions where a run decides "
                "those alone, relative to the base, over all tests, for the variants with the "
                "smallest and the largest mean."
            }
        }
    }
}

fn line(entry: &IndexEntry) -> Markup {
    let (low, high) = entry.range.unzip();
    let ratio = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), number::ratio);
    let name = if entry.name.is_empty() { &entry.file } else { &entry.name };
    html! {
        tr {
            th scope="row" { a href=(entry.file) { (text::shown(name)) } }
            td class="num" { (entry.variants) }
            td class="num" { (entry.tests) }
            td { (text::shown(&entry.bases.join(", "))) }
            td class="num" { (ratio(low)) }
            td class="num" { (ratio(high)) }
        }
    }
}
