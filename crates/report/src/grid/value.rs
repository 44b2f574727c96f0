//! The value of a place in a grid: of one cell, or the mean of several.

use super::{Kind, Located, Value};
use crate::words;
use analysis::{Cell, Verdict, geometric_mean, mean_of_tests};
use model::{mark::Mark, number::counted};

/// The value of some cells, without the marks that are said once for all of a metric.
pub(super) fn value(cells: &[Located<'_>], said: &[&Mark]) -> Value {
    match cells {
        [(_, cell)] => one(cell, said),
        several => mean(several, said),
    }
}

fn one(cell: &Cell, said: &[&Mark]) -> Value {
    let kind = match (cell.value, cell.ratio) {
        _ if words::is_failed(cell) => Kind::Failed,
        (None, _) => Kind::Missing,
        (Some(_), _) if cell.missed().is_some() => Kind::Missed,
        (Some(_), _) if cell.base.is_none() => Kind::Base,
        (Some(_), Some(_)) => Kind::Ratio,
        (Some(_), None) => Kind::Invalid,
    };
    let mut note: Vec<String> = cell.reason.iter().map(words::reason).collect();
    note.extend(cell.marks.iter().filter(|mark| !said.contains(mark)).map(Mark::to_string));
    if kind == Kind::Invalid && cell.reason.is_none() {
        note.insert(0, "the base is zero, so there is no ratio".to_owned());
    }
    Value {
        value: cell.value,
        ratio: cell.ratio,
        interval: cell.interval,
        verdict: Some(cell.verdict),
        cells: 1,
        note: note.join("; "),
        kind,
    }
}

/// Several cells: their geometric means, as long as none of them broke. What is of less work than
/// was asked for is in no mean.
fn mean(cells: &[Located<'_>], said: &[&Mark]) -> Value {
    let broken = cells.iter().find(|(_, cell)| words::is_failed(cell));
    if let Some((_, cell)) = broken {
        return Value { cells: cells.len(), ..one(cell, said) };
    }
    let compared: Vec<&Cell> =
        cells.iter().map(|(_, cell)| *cell).filter(|cell| cell.base.is_some()).collect();
    let ratios: Vec<f64> = compared.iter().filter_map(|cell| cell.ratio).collect();
    let kept = cells.iter().filter(|(_, cell)| cell.missed().is_none());
    let values: Vec<f64> = kept.filter_map(|(_, cell)| cell.value).collect();
    let mean = mean_of_tests(&ratios);
    let missed = cells.iter().filter(|(_, cell)| cell.missed().is_some()).count();
    let kind = match (mean, values.is_empty()) {
        (Some(_), _) => Kind::Ratio,
        (None, true) if missed > 0 => Kind::Missed,
        (None, true) => Kind::Missing,
        (None, false) if compared.is_empty() => Kind::Base,
        (None, false) => Kind::Invalid,
    };
    let (count, all) = match compared.len() {
        0 => (values.len(), cells.len()),
        all => (mean.map_or(0, |mean| mean.tests), all),
    };
    Value {
        value: geometric_mean(&values),
        ratio: mean.map(|mean| mean.ratio),
        interval: None,
        verdict: open(&compared),
        cells: cells.len(),
        note: [&made_of(cells, count, all, missed)[..], &marks(cells, said)].concat().join("; "),
        kind,
    }
}

/// Why nothing is said of a mean, which has no verdict of its own: one of its cells is not judged,
/// or none is decided.
fn open(compared: &[&Cell]) -> Option<Verdict> {
    let with_ratio = compared.iter().filter(|cell| cell.ratio.is_some());
    let verdicts: Vec<Verdict> = with_ratio.map(|cell| cell.verdict).collect();
    let is_none_decided = verdicts.iter().all(|verdict| *verdict == Verdict::Inconclusive);
    match verdicts.contains(&Verdict::Invalid) {
        true => Some(Verdict::Invalid),
        false => Some(Verdict::Inconclusive).filter(|_| is_none_decided && !verdicts.is_empty()),
    }
}

/// Of how many cells a mean is, and what became of the others.
fn made_of(cells: &[Located<'_>], count: usize, all: usize, missed: usize) -> Vec<String> {
    let mut parts = vec![match all - count.min(all) {
        0 => format!("geometric mean of {}", counted(all, "cell")),
        _ => format!("geometric mean of {count} of {}", counted(all, "cell")),
    }];
    if missed > 0 {
        parts.push(format!("{missed} missed their target rate"));
    }
    let unmeasured = cells.iter().filter(|(_, cell)| cell.value.is_none()).count();
    if unmeasured > 0 {
        parts.push(format!("{unmeasured} not measured"));
    }
    parts
}

/// The notes on any of these cells. Missed rates are counted, not told.
fn marks(cells: &[Located<'_>], said: &[&Mark]) -> Vec<String> {
    let all = cells.iter().flat_map(|(_, cell)| &cell.marks);
    let mut told: Vec<String> = Vec::new();
    for mark in all.filter(|mark| matches!(mark, Mark::Note(_)) && !said.contains(mark)) {
        let text = mark.to_string();
        if !told.contains(&text) {
            told.push(text);
        }
    }
    told
}

/// The notes that every value has of which there are several.
pub(super) fn common<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<&'a Mark> {
    let mut known = cells.filter(|cell| cell.value.is_some());
    let Some(first) = known.next() else { return Vec::new() };
    let notes = first.marks.iter().filter(|mark| matches!(mark, Mark::Note(_)));
    let mut common: Vec<&Mark> = notes.collect();
    let mut others = 0;
    for cell in known {
        others += 1;
        common.retain(|mark| cell.marks.contains(mark));
    }
    if others == 0 { Vec::new() } else { common }
}
