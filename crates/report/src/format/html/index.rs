//! The index of several reports: one line and one link each.

use super::text;
use crate::{number, pages::Entry};
use maud::{Markup, html};

pub(super) const TITLE: &str = "Reports";

pub(super) fn table(entries: &[Entry]) -> Markup {
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
                "Ratios: geometric means of throughput relative to the base, over all tests, for "
                "the variants with the smallest and the largest mean."
            }
        }
    }
}

fn line(entry: &Entry) -> Markup {
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
