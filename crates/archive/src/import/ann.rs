//! Results of vector indexes, as the published scripts sort those of ann-benchmarks: `qr.NAME` has
//! a line `RECALL QPS PRODUCT(settings)` for each setting of an index and of a search;
//! `qr.topN.COUNT` has the best of them for several least recalls.

use super::Importer;
use crate::{Cell, Fault, File, FileHead, Found, number};
use std::collections::BTreeSet;

pub(super) const IMPORTER: Importer = Importer {
    name: "ann",
    help: "qr tables of vector indexes: queries per second and recall of every setting",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

/// What begins the lines of one least recall.
const BEST: &str = "Best QPS with recall >= ";
const GROUP: &str = "search";

fn recognises(head: &FileHead<'_>) -> bool {
    let text = String::from_utf8_lossy(head.start);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    head.name.starts_with("qr.") && (first.starts_with(BEST) || Point::of(first).is_some())
}

/// Queries at one setting.
struct Point<'a> {
    recall: &'a str,
    qps: &'a str,
    product: &'a str,
    /// Of the index: `m=16, ef_construction=64`.
    index: &'a str,
    /// Of the search: `ef_search=10`.
    search: &'a str,
}

impl<'a> Point<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (recall, rest) = line.trim().split_once(' ')?;
        let (qps, rest) = rest.trim_start().split_once(' ')?;
        let (product, settings) = rest.trim_start().strip_suffix(')')?.split_once('(')?;
        let (index, search) = settings.rsplit_once(", ")?;
        number::parse(recall).zip(number::parse(qps))?;
        Some(Self { recall, qps, product, index, search })
    }

    fn add(&self, cell: &Cell, line: u32, found: &mut Found) {
        found.number(cell, "ops_per_second", self.qps, line);
        found.number(cell, "recall", self.recall, line);
    }
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let mut least: Option<String> = None;
    let mut seen = BTreeSet::new();
    let mut last = 0;
    for line in file.lines() {
        last = line.number;
        let text = line.text.trim();
        if text.is_empty() {
            continue;
        }
        if let Some(recall) = text.strip_prefix(BEST) {
            least = Some(recall.to_owned());
            continue;
        }
        let Some(point) = Point::of(text) else {
            let shown = number::excerpt(text);
            found.warn(
                last,
                format!("`{shown}` is not `RECALL QPS NAME(settings)`; it is left out"),
            );
            continue;
        };
        let (subject, phase) = match &least {
            // The best comes first, others after it.
            Some(recall) => (point.product.to_owned(), format!("recall >= {recall}")),
            None => (format!("{}({})", point.product, point.index), point.search.replace('=', " ")),
        };
        if seen.insert((subject.clone(), phase.clone())) {
            let cell = Cell {
                phase: phase.clone(),
                workload: phase,
                group: GROUP.to_owned(),
                ..file.summary_cell(&subject)
            };
            point.add(&cell, last, found);
        }
    }
    if found.values.is_empty() { Err(Fault::new(last, "it has no lines")) } else { Ok(()) }
}
