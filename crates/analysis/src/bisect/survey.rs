//! Several changes: where the level rises and falls between the ends.

use super::{Answer, Next, Outcome};
use std::collections::{BTreeMap, BTreeSet};

/// A difference of neighbors that counts as a change, as a share of that between the ends.
const LEAST: f64 = 0.25;

/// A rise of one change alone: what remains is noise.
const WHOLE: f64 = 0.75;

/// A change of level between two positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rise {
    /// The last position before it that was measured.
    pub before: usize,
    /// The first one after it.
    pub after: usize,
    /// Its share of the difference between the ends; negative in the other direction.
    pub share: f64,
}

/// The next probe of the largest difference, or what the differences are once no usable position is
/// left between any two; none if one change explains all of them.
pub(super) fn next(count: usize, answers: &[Answer], usable: &BTreeSet<usize>) -> Option<Next> {
    let mut known: BTreeMap<usize, Vec<f64>> = [(0, vec![0.0]), (count - 1, vec![1.0])].into();
    let decided =
        |answer: &&Answer| !matches!(answer.outcome, Outcome::Undecided | Outcome::Skipped);
    for answer in answers.iter().filter(decided) {
        known.entry(answer.position).or_default().push(answer.height);
    }
    let mean = |heights: &[f64]| heights.iter().sum::<f64>() / heights.len() as f64;
    let levels: Vec<(usize, f64)> =
        known.iter().map(|(position, heights)| (*position, mean(heights))).collect();
    let mut rises: Vec<Rise> = levels
        .windows(2)
        .map(|pair| Rise { before: pair[0].0, after: pair[1].0, share: pair[1].1 - pair[0].1 })
        .filter(|rise| rise.share.abs() >= LEAST)
        .collect();
    let middle = |rise: &Rise| {
        let inside: Vec<usize> = usable.range(rise.before + 1..rise.after).copied().collect();
        inside.get(inside.len() / 2).copied()
    };
    rises.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
    if let Some(position) = rises.iter().find_map(middle) {
        return Some(Next::Probe(position));
    }
    rises.sort_by_key(|rise| rise.before);
    match rises.as_slice() {
        [] => Some(Next::Gradual),
        [only] if only.share >= WHOLE => None,
        _ => Some(Next::Several(rises)),
    }
}
