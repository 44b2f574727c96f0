//! Repetitions of a test become the blocks of one.

use crate::{
    assemble::{Cells, Kept, Key},
    repetition::{self, Repeated},
    step,
};
use std::collections::{BTreeMap, BTreeSet};

/// Takes the numbers off the names of subjects and phases of one archive. Subjects keep them where
/// nothing would be left to compare: the repetitions are then what is compared.
pub(crate) fn take_numbers(all: &mut [Kept]) {
    let loose = || all.iter().map(|kept| &kept.value.cell).filter(|cell| cell.is_loose);
    let subjects: BTreeSet<&str> = loose().map(|cell| cell.subject.as_str()).collect();
    let repeated = repetition::repeated(&subjects);
    let left: BTreeSet<&str> = subjects
        .iter()
        .map(|name| repeated.get(*name).map_or(*name, |(name, _)| name.as_str()))
        .collect();
    let repeated = if left.len() > 1 { repeated } else { Repeated::new() };
    // What one variant repeats, another one may have done once.
    let phases = repetition::repeated(&loose().map(|cell| cell.phase.as_str()).collect());
    for kept in all.iter_mut().filter(|kept| kept.value.cell.is_loose) {
        let cell = &mut kept.value.cell;
        let phase = phases.get(&cell.phase).cloned();
        let subject = repeated.get(&cell.subject).cloned();
        cell.repetition.extend(subject.iter().chain(&phase).map(|(_, number)| *number));
        if let Some((name, _)) = phase {
            step::fill_unknown(cell, &name);
        }
        if let Some((name, _)) = subject {
            cell.subject = name;
        }
    }
}

/// The blocks of the cells: the repetitions of each, in the order of their numbers.
pub(crate) struct Blocks(BTreeMap<Key, BTreeSet<Vec<u32>>>);

impl Blocks {
    pub(crate) fn of(cells: &Cells) -> Self {
        let mut blocks: BTreeMap<Key, BTreeSet<Vec<u32>>> = BTreeMap::new();
        for key in cells.keys() {
            blocks.entry(whole(key)).or_default().insert(key.repetition.clone());
        }
        Self(blocks)
    }

    /// The block of a cell, from 0.
    pub(crate) fn block(&self, key: &Key) -> u32 {
        let own = self.0.get(&whole(key)).into_iter().flatten();
        own.zip(0..).find(|(known, _)| **known == key.repetition).map_or(0, |(_, block)| block)
    }
}

/// The cell that repetitions share.
fn whole(key: &Key) -> Key {
    Key { round: 0, repetition: Vec::new(), ..key.clone() }
}
