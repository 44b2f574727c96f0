//! The order of the subjects in every round: Williams squares, randomised.
//!
//! A Williams square (E. J. Williams 1949, "Experimental designs balanced for the estimation of
//! residual effects of treatments") has every subject once at every place and every subject once
//! directly after every other, so neither a drift nor what a slice leaves behind favors anyone.
//! With two subjects it is AB, BA: taken in turn from a shuffled square this gives ABBA or BAAB by
//! a coin.

use crate::random::Random;
use model::plan::Block;

/// Purposes of random numbers.
const ROUNDS: u64 = 1;
const STARTS: u64 = 2;
const SLICES: u64 = 3;

/// Rows of a Williams square for subjects `0..count`: `count` if even, twice as many if odd.
fn square(count: usize) -> usize {
    if count % 2 == 1 && count > 1 { 2 * count } else { count }
}

/// One row of the square.
fn williams(count: usize, row: usize) -> Vec<usize> {
    // 0, 1, n-1, 2, n-2, …: all differences between neighbors occur once.
    let zigzag = |place: usize| if place % 2 == 1 { place.div_ceil(2) } else { count - place / 2 };
    let shift = row % count.max(1);
    let places = (0..count).map(|place| (zigzag(place) + shift) % count);
    // The second half of an odd square is the first one mirrored.
    if row < count { places.collect() } else { places.rev().collect() }
}

/// Orders from randomised squares: those of one phase, round after round and block after block, or
/// those in which the servers of each block start.
#[derive(Debug)]
struct Rounds {
    random: Random,
    subjects: usize,
    /// The subject that each number of the square stands for.
    names: Vec<usize>,
    /// Rows of the square that are left.
    left: Vec<usize>,
}

impl Rounds {
    fn new(random: Random, subjects: usize) -> Self {
        Self { random, subjects, names: Vec::new(), left: Vec::new() }
    }

    fn next(&mut self) -> Vec<usize> {
        if self.left.is_empty() {
            self.names = (0..self.subjects).collect();
            self.random.shuffle(&mut self.names);
            self.left = (0..square(self.subjects)).collect();
            self.random.shuffle(&mut self.left);
        }
        let row = self.left.pop().map(|row| williams(self.subjects, row)).unwrap_or_default();
        row.into_iter().map(|subject| self.names[subject]).collect()
    }
}

/// What the orders depend on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape<'a> {
    pub(crate) seed: u64,
    pub(crate) blocks: u32,
    pub(crate) loads: u32,
    pub(crate) subjects: usize,
    /// Rounds of each phase.
    pub(crate) rounds: &'a [u32],
    /// Whether the subjects take their turns in each phase, or one after the other in whole.
    pub(crate) turns: Turns,
}

/// Who comes after a slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turns {
    /// The next subject of the round.
    Rounds,
    /// The same subject's next phase; the subjects follow each other in their start order.
    Subjects,
}

/// All blocks with their orders and seeds.
pub(crate) fn blocks(shape: Shape<'_>) -> Vec<Block> {
    let orders = |of: &[u64]| Rounds::new(Random::new(shape.seed, of), shape.subjects);
    let rounds = |phase: usize| orders(&[ROUNDS, phase as u64]);
    let mut starts = orders(&[STARTS]);
    let mut phases: Vec<Rounds> = (0..shape.rounds.len()).map(rounds).collect();
    let block = |index: u32| {
        let start_order = starts.next();
        let mut orders = |(phase, rounds): (&mut Rounds, &u32)| -> Vec<Vec<usize>> {
            let order = |_| match shape.turns {
                Turns::Rounds => phase.next(),
                Turns::Subjects => start_order.clone(),
            };
            (0..*rounds).map(order).collect()
        };
        Block {
            index,
            load: index % shape.loads.max(1),
            orders: phases.iter_mut().zip(shape.rounds).map(&mut orders).collect(),
            start_order,
            seed: Random::new(shape.seed, &[SLICES, index.into()]).next(),
        }
    };
    (0..shape.blocks).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn orders(subjects: usize, blocks: u32, rounds: u32) -> Vec<Vec<usize>> {
        let shape =
            Shape { seed: 42, blocks, loads: 1, subjects, rounds: &[rounds], turns: Turns::Rounds };
        super::blocks(shape).into_iter().flat_map(|mut block| block.orders.remove(0)).collect()
    }

    #[test]
    fn squares_are_balanced_for_place_and_predecessor() {
        for count in 2..=9 {
            let rows: Vec<_> = (0..square(count)).map(|row| williams(count, row)).collect();
            let copies = rows.len() / count;
            let mut places = BTreeMap::new();
            let mut pairs = BTreeMap::new();
            for row in &rows {
                for (place, subject) in row.iter().enumerate() {
                    *places.entry((place, *subject)).or_insert(0) += 1;
                }
                for pair in row.windows(2) {
                    *pairs.entry((pair[0], pair[1])).or_insert(0) += 1;
                }
            }
            assert_eq!(places.len(), count * count, "{count} subjects");
            assert_eq!(pairs.len(), count * (count - 1), "{count} subjects");
            assert!(places.values().chain(pairs.values()).all(|times| *times == copies));
        }
    }

    #[test]
    fn two_subjects_go_abba_or_baab_in_every_block() {
        let orders = orders(2, 20, 2);
        for block in orders.chunks(2) {
            assert_ne!(block[0], block[1], "a block is balanced");
        }
        assert!(orders.chunks(2).any(|block| block[0] == [0, 1]), "the coin falls both ways");
        assert!(orders.chunks(2).any(|block| block[0] == [1, 0]), "the coin falls both ways");
    }

    #[test]
    fn an_odd_number_of_rounds_is_balanced_over_two_blocks() {
        let orders = orders(2, 4, 1);
        assert_ne!(orders[0], orders[1]);
        assert_ne!(orders[2], orders[3]);
    }

    #[test]
    fn every_subject_starts_first_equally_often() {
        for (subjects, blocks) in [(2, 6), (3, 6), (4, 8)] {
            let rounds = &[1];
            let turns = Turns::Rounds;
            let shape = Shape { seed: 42, blocks, loads: 1, subjects, rounds, turns };
            let firsts: Vec<usize> =
                super::blocks(shape).iter().map(|block| block.start_order[0]).collect();
            for subject in 0..subjects {
                let count = firsts.iter().filter(|first| **first == subject).count();
                assert_eq!(count * subjects, blocks as usize, "{firsts:?}");
            }
        }
    }

    #[test]
    fn one_subject_needs_no_order() {
        assert_eq!(orders(1, 2, 2), vec![vec![0]; 4]);
    }

    #[test]
    fn the_classic_design_takes_one_subject_after_the_other() {
        let shape = Shape {
            seed: 7,
            blocks: 3,
            loads: 2,
            subjects: 3,
            rounds: &[1, 1],
            turns: Turns::Subjects,
        };
        for block in blocks(shape) {
            assert_eq!(block.load, block.index % 2);
            assert_eq!(block.orders, vec![vec![block.start_order.clone()]; 2]);
        }
    }
}
