//! Marks of values that no warning has told yet: one sentence for each.

use crate::{
    observe::one_line,
    warning::{Warnings, listed},
};
use model::{mark::Mark, measurement::Measurement};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics that a sentence lists; what holds for more is no remark on any of them.
const NAMED: usize = 3;

/// Who and what a mark belongs to.
#[derive(Default)]
struct Holders<'a> {
    subjects: BTreeSet<&'a str>,
    metrics: BTreeSet<&'a str>,
}

/// One sentence per mark that is not in `warnings`. Missed rates are reported elsewhere.
pub(crate) fn untold(measurements: &[Measurement], warnings: &Warnings) -> Vec<String> {
    let mut found: BTreeMap<&str, Holders<'_>> = BTreeMap::new();
    for measurement in measurements {
        for mark in &measurement.marks {
            let Mark::Note(mark) = mark else { continue };
            let holders = found.entry(mark).or_default();
            holders.subjects.insert(&measurement.subject);
            holders.metrics.insert(&measurement.metric);
        }
    }
    let new = |mark: &str| !warnings.hold(&one_line(mark));
    let sentence = |(mark, holders): (&str, Holders<'_>)| {
        let subjects = listed(holders.subjects.iter().copied(), "variant");
        let metrics = match holders.metrics.len() {
            0..=NAMED => format!(", {}", listed(holders.metrics.iter().copied(), "metric")),
            _ => String::new(),
        };
        format!("{} ({subjects}{metrics})", one_line(mark))
    };
    found.into_iter().filter(|(mark, _)| new(mark)).map(sentence).collect()
}
