//! Tables of one folder that contradict each other: their tags tell which belong together.
//!
//! `*.cached.*` beside `*.io.*` are two experiments in one folder. Tables that share values and
//! agree may lie in one archive; those that contradict each other are archives of their own, named
//! by the words that tell their tags apart.

use crate::{
    Fault, Warning,
    assemble::{Kept, key},
    contradiction::same,
};
use model::quoted;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Tables that are compared for one value: more of them tell nothing more.
const COMPARED_MAX: usize = 32;

/// Shared values of two tables: how many agree and how many do not.
#[derive(Debug, Clone, Copy, Default)]
struct Shared {
    agree: u64,
    disagree: u64,
}

impl Shared {
    /// Tables that print the same measurements differ in a few cells at most, by hand or rounding.
    fn conflict(self) -> bool {
        self.disagree * 4 > self.agree + self.disagree
    }
}

/// The values of one archive.
pub(crate) struct Part {
    /// What its tables have in their tags and the others have not; empty if there is one part.
    pub(crate) label: String,
    pub(crate) kept: Vec<Kept>,
}

/// One part, or several where tags contradict each other, with one sentence that says so.
pub(crate) fn parts(experiment: &str, all: Vec<Kept>, warnings: &mut Vec<Warning>) -> Vec<Part> {
    let tags: BTreeSet<Arc<str>> = all.iter().filter_map(|kept| kept.tag.clone()).collect();
    let tags: Vec<Arc<str>> = tags.into_iter().collect();
    let shared = shared(&all, &tags);
    if !shared.values().any(|shared| shared.conflict()) {
        return vec![Part { label: String::new(), kept: all }];
    }
    let words: Vec<BTreeSet<&str>> = tags.iter().map(|tag| words(tag)).collect();
    let classes = classes(&words, &shared);
    let labels = labels(&words, &classes);
    let conflicts = shared.values().filter(|shared| shared.conflict());
    let (disagree, of) =
        conflicts.fold((0, 0), |(no, all), s| (no + s.disagree, all + s.disagree + s.agree));
    let reason = format!(
        "tables with the tags {} contradict each other in {disagree} of {of} shared values, so \
         each tag is an archive of its own",
        quoted(&labels)
    );
    warnings.push(Warning::new(experiment, Fault::new(0, reason)));
    let mut parts: Vec<Part> =
        labels.into_iter().map(|label| Part { label, kept: Vec::new() }).collect();
    let class_of: BTreeMap<&str, usize> =
        tags.iter().map(AsRef::as_ref).zip(classes.iter().copied()).collect();
    let (tagged, others): (Vec<Kept>, Vec<Kept>) = all.into_iter().partition(|k| k.tag.is_some());
    for kept in tagged {
        let class = kept.tag.as_deref().and_then(|tag| class_of.get(tag)).copied().unwrap_or(0);
        parts[class].kept.push(kept);
    }
    adopt(&mut parts, others);
    parts.retain(|part| !part.kept.is_empty());
    parts
}

/// Files without a tag belong to the part with which most of their values agree.
fn adopt(parts: &mut [Part], others: Vec<Kept>) {
    if others.is_empty() {
        return;
    }
    let agreeing = |part: &Part| {
        let known: BTreeMap<_, _> = part
            .kept
            .iter()
            .map(|kept| ((key(&kept.value.cell), &kept.value.metric), kept))
            .collect();
        let agrees = |kept: &&Kept| {
            let first = known.get(&(key(&kept.value.cell), &kept.value.metric));
            first.is_some_and(|first| same(&first.value, &kept.value))
        };
        others.iter().filter(agrees).count()
    };
    let counts: Vec<usize> = parts.iter().map(agreeing).collect();
    let most = counts.iter().max().copied().unwrap_or(0);
    if let Some(best) = counts.iter().position(|count| *count == most) {
        parts[best].kept.extend(others);
    }
}

/// How far pairs of tables agree, by their places in `tags`.
fn shared(all: &[Kept], tags: &[Arc<str>]) -> BTreeMap<(usize, usize), Shared> {
    let mut pairs: BTreeMap<(usize, usize), Shared> = BTreeMap::new();
    if tags.len() < 2 {
        return pairs;
    }
    let mut cells: BTreeMap<_, Vec<(usize, &Kept)>> = BTreeMap::new();
    // What was computed, such as the 1 of a base, agrees with everything.
    for kept in all.iter().filter(|kept| !kept.value.text.is_empty()) {
        let Some(tag) = kept.tag.as_ref().and_then(|tag| tags.binary_search(tag).ok()) else {
            continue;
        };
        let cell = cells.entry((key(&kept.value.cell), &kept.value.metric)).or_default();
        if cell.len() < COMPARED_MAX && cell.iter().all(|(other, _)| *other != tag) {
            for (other, first) in cell.iter() {
                let pair = pairs.entry((tag.min(*other), tag.max(*other))).or_default();
                match same(&first.value, &kept.value) {
                    true => pair.agree += 1,
                    false => pair.disagree += 1,
                }
            }
            cell.push((tag, kept));
        }
    }
    pairs
}

/// Words of a tag: what is behind its folder.
fn words(tag: &str) -> BTreeSet<&str> {
    let words = tag.rsplit_once('\t').map_or(tag, |(_, words)| words);
    words.split('.').filter(|word| !word.is_empty()).collect()
}

/// The class of each tag: words are added until no class has tables that contradict each other.
/// Each word is the one that parts most of them, and fewest of those that agree.
fn classes<'a>(
    words: &[BTreeSet<&'a str>],
    shared: &BTreeMap<(usize, usize), Shared>,
) -> Vec<usize> {
    let known: BTreeSet<&str> = words.iter().flatten().copied().collect();
    let mut chosen: BTreeSet<&str> = BTreeSet::new();
    let project = |tag: usize, chosen: &BTreeSet<&'a str>| -> Vec<&'a str> {
        words[tag].intersection(chosen).copied().collect()
    };
    loop {
        let apart =
            |a: usize, b: usize, word: &str| words[a].contains(word) != words[b].contains(word);
        let together = |(a, b): (usize, usize)| project(a, &chosen) == project(b, &chosen);
        let score = |word: &&str| -> (i64, bool) {
            let mut parted = 0;
            let mut broken = 0;
            for (pair, shared) in shared {
                if apart(pair.0, pair.1, word) && together(*pair) {
                    if shared.conflict() { parted += 1 } else { broken += 1 }
                }
            }
            (parted - 2 * broken, parted > 0)
        };
        let best = known.iter().map(|word| (score(word), std::cmp::Reverse(*word)));
        let Some(((_, true), word)) = best.filter(|((_, parts), _)| *parts).max() else { break };
        chosen.insert(word.0);
    }
    let mut classes: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    (0..words.len())
        .map(|tag| {
            let next = classes.len();
            *classes.entry(project(tag, &chosen)).or_insert(next)
        })
        .collect()
}

/// A name per class: the words that all of its tags have and no tag of another class has.
fn labels(words: &[BTreeSet<&str>], classes: &[usize]) -> Vec<String> {
    let count = classes.iter().max().map_or(0, |last| last + 1);
    let mut labels: Vec<String> = Vec::new();
    for class in 0..count {
        let inside = || words.iter().zip(classes).filter(|(_, own)| **own == class).map(|(w, _)| w);
        let outside: BTreeSet<&str> = words
            .iter()
            .zip(classes)
            .filter(|(_, own)| **own != class)
            .flat_map(|(words, _)| words.iter().copied())
            .collect();
        let first: BTreeSet<&str> = inside().next().cloned().unwrap_or_default();
        let common: Vec<&str> = first
            .iter()
            .copied()
            .filter(|word| inside().all(|words| words.contains(word)) && !outside.contains(word))
            .collect();
        let mut label = match common.is_empty() {
            false => common.join("."),
            true => first.iter().copied().collect::<Vec<_>>().join("."),
        };
        if label.is_empty() {
            label = "untagged".to_owned();
        }
        if labels.contains(&label) {
            label = format!("{label}.{class}");
        }
        labels.push(label);
    }
    labels
}
