//! The index of a site: one line and one link for each series and each run.

use super::text;
use crate::words;
use maud::{Markup, html};

/// A line of the index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SiteEntry {
    /// File of its page.
    pub file: String,
    /// `series` or `run`.
    pub kind: &'static str,
    /// What it is called.
    pub name: String,
    /// When its latest run began, microseconds since 1970.
    pub started_us: u64,
    /// The host of that run.
    pub host: String,
    /// What is in it, in a few words.
    pub about: String,
}

pub(super) const TITLE: &str = "Series and runs";

pub(super) fn table(entries: &[SiteEntry]) -> Markup {
    html! {
        article {
            header { h1 { (TITLE) } }
            form class="index styling scripted" {
                label { "Search " input type="search" name="text" placeholder="any word"; }
            }
            div class="wide" tabindex="0" role="group" aria-label=(TITLE) {
                table class="plain sortable" {
                    thead { tr {
                        th scope="col" { "name" }
                        th scope="col" { "kind" }
                        th scope="col" { "latest" }
                        th scope="col" { "content" }
                        th scope="col" { "host" }
                    } }
                    tbody { @for entry in entries { (line(entry)) } }
                }
            }
        }
    }
}

fn line(entry: &SiteEntry) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(entry.file) { (text::name(&entry.name)) } }
            td { (entry.kind) }
            td { (words::date(entry.started_us)) }
            td { (text::shown(&entry.about)) }
            td { (text::shown(&entry.host)) }
        }
    }
}
