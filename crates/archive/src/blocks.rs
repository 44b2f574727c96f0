//! Repetitions of a test become the blocks of one.

use crate::{
    Cell,
    assemble::{Cells, Kept, Key},
    repetition::{self, Repeated},
    step,
};
use std::collections::{BTreeMap, BTreeSet};

/// A test whose files have only numbers.
const UNNAMED: &str = "test";

/// Takes the numbers off the names of subjects and phases of one archive. Subjects keep them where
/// nothing would be left to compare: the repetitions are then what is compared.
pub(crate) fn take_numbers(all: &mut [Kept]) {
    take_clients(all);
    let loose = || all.iter().map(|kept| &kept.value.cell).filter(|cell| cell.is_loose);
    let subjects: BTreeSet<&str> = loose().map(|cell| cell.subject.as_str()).collect();
    let mut repeated = repetition::repeated(&subjects);
    repeated.retain(|_, (name, _)| !name.is_empty());
    let left: BTreeSet<&str> = subjects
        .iter()
        .map(|name| repeated.get(*name).map_or(*name, |(name, _)| name.as_str()))
        .collect();
    let repeated = if left.len() > 1 { repeated } else { Repeated::new() };
    // What one variant repeats, another one may have done once.
    let phases = repetition::repeated(&loose().map(Cell::whole_phase).collect());
    for kept in all.iter_mut().filter(|kept| kept.value.cell.is_loose) {
        let cell = &mut kept.value.cell;
        let phase = phases.get(cell.whole_phase()).cloned();
        let subject = repeated.get(&cell.subject).cloned();
        cell.repetition.extend(subject.iter().chain(&phase).map(|(_, number)| *number));
        if let Some((name, _)) = phase {
            let name = if name.is_empty() { UNNAMED } else { name.as_str() };
            let phase = format!("{name}{}", cell.part);
            step::fill_unknown(cell, &phase);
        }
        if let Some((name, _)) = subject {
            cell.subject = name;
        }
    }
}

/// Takes the numbers of clients off the names of subjects: `before-8`, if its files had 8 clients.
fn take_clients(all: &mut [Kept]) {
    let loose = || all.iter().map(|kept| &kept.value.cell).filter(|cell| cell.is_loose);
    let mut clients: BTreeMap<&str, BTreeSet<Option<u32>>> = BTreeMap::new();
    for cell in loose() {
        clients.entry(&cell.subject).or_default().insert(cell.clients);
    }
    let named = |(subject, clients): (&&str, &BTreeSet<Option<u32>>)| {
        let (name, number) = repetition::without_number(subject)?;
        let is_it = clients.iter().all(|one| *one == Some(number));
        is_it.then(|| ((*subject).to_owned(), name.to_owned()))
    };
    let found: BTreeMap<String, String> = clients.iter().filter_map(named).collect();
    // One number alone says nothing, and one variant alone is compared with nothing.
    let several = |name: &String| found.values().filter(|other| *other == name).count() > 1;
    let names: BTreeSet<&String> = found.values().collect();
    if names.len() < 2 || !found.values().all(several) {
        return;
    }
    for kept in all.iter_mut().filter(|kept| kept.value.cell.is_loose) {
        if let Some(name) = found.get(&kept.value.cell.subject) {
            kept.value.cell.subject.clone_from(name);
        }
    }
}

/// The numbers of repetitions, each with its place in a file.
type Numbers = BTreeSet<(Vec<u32>, u32)>;

/// The blocks of the cells: their repetitions in the order of their numbers. Equal numbers of two
/// variants are one block, unless a variant shares none with another one (`run1` to `run4`, and
/// `run5` to `run8`, or four reports in one file): the first of each are then one.
pub(crate) struct Blocks(BTreeMap<Key, BTreeMap<String, Numbers>>);

impl Blocks {
    pub(crate) fn of(cells: &Cells) -> Self {
        let mut blocks: BTreeMap<Key, BTreeMap<String, Numbers>> = BTreeMap::new();
        for key in cells.keys() {
            let subjects = blocks.entry(test(key)).or_default();
            let numbers = subjects.entry(key.subject.clone()).or_default();
            numbers.insert(number(key));
        }
        for subjects in blocks.values_mut() {
            let all: Numbers = subjects.values().flatten().cloned().collect();
            let shared = |one: &Numbers| subjects.values().all(|other| !one.is_disjoint(other));
            if subjects.values().all(shared) {
                subjects.values_mut().for_each(|numbers| numbers.clone_from(&all));
            }
        }
        Self(blocks)
    }

    /// The block of a cell, from 0.
    pub(crate) fn block(&self, key: &Key) -> u32 {
        let own = self.0.get(&test(key)).and_then(|subjects| subjects.get(&key.subject));
        let mut numbers = own.into_iter().flatten().zip(0..);
        numbers.find(|(known, _)| **known == number(key)).map_or(0, |(_, block)| block)
    }
}

fn number(key: &Key) -> (Vec<u32>, u32) {
    (key.repetition.clone(), key.report)
}

/// What the repetitions of all variants share.
pub(crate) fn test(key: &Key) -> Key {
    Key { round: 0, repetition: Vec::new(), report: 0, subject: String::new(), ..key.clone() }
}
