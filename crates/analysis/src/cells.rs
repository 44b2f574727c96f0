//! Values by cell, and the means over them.

use crate::mean::{arithmetic_mean, geometric_mean, mean_of_ratios, ratio_of_sums};
use model::{
    Levels,
    mark::Mark,
    measurement::{Measurement, Piece, pieces, whole},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A block of a run.
type Block<'a> = (&'a str, u32);

/// The values of a block by round, each with what it is among them.
type Rounds = BTreeMap<u32, (f64, Option<Piece>)>;

/// The values of a block.
#[derive(Debug, Clone, Default)]
struct Values {
    /// Of slices in which the processor was fast, or where that moves nothing.
    fast: Rounds,
    /// Of the others.
    slow: Rounds,
}

impl Values {
    /// Those that the block's mean is made of.
    fn rounds(&self) -> &Rounds {
        if self.fast.is_empty() { &self.slow } else { &self.fast }
    }

    fn all(&self) -> Rounds {
        self.fast.iter().chain(&self.slow).map(|(round, value)| (*round, *value)).collect()
    }
}

/// The values of one metric in one cell, by block and round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Replicates<'a> {
    blocks: BTreeMap<Block<'a>, Values>,
    pub(crate) marks: Vec<&'a Mark>,
    levels: Option<&'a Arc<Levels>>,
    /// Whether means are arithmetic, because a value of this metric is zero on some subject of the
    /// phase: the values of all have to fit the ratios between them.
    is_summed: bool,
}

impl<'a> Replicates<'a> {
    fn add(&mut self, measurement: &'a Measurement, among: fn(&mut Values) -> &mut Rounds) {
        let block = (measurement.run.as_str(), measurement.block);
        let value = (measurement.value, measurement.piece);
        among(self.blocks.entry(block).or_default()).insert(measurement.round, value);
        self.levels.get_or_insert(&measurement.levels);
        for mark in &measurement.marks {
            if !self.marks.contains(&mark) {
                self.marks.push(mark);
            }
        }
    }

    /// Geometric mean over blocks of the geometric means over rounds, or of what the pieces of a
    /// block are together. Arithmetic means where there are zeros.
    pub(crate) fn value(&self) -> Option<f64> {
        let means: Vec<f64> = self
            .blocks
            .values()
            .filter_map(|values| self.mean_of_rounds(values.rounds()))
            .collect();
        if self.is_summed { arithmetic_mean(&means) } else { geometric_mean(&means) }
    }

    fn mean_of_rounds(&self, rounds: &Rounds) -> Option<f64> {
        match self.is_summed && !are_pieces(rounds) {
            true => arithmetic_mean(&rounds.values().map(|(value, _)| *value).collect::<Vec<_>>()),
            false => mean_of_rounds(rounds),
        }
    }

    /// Whether a value is zero that means are made of; of pieces that is what they are together.
    fn has_zero(&self) -> bool {
        self.blocks.values().any(|values| match are_pieces(values.rounds()) {
            true => mean_of_rounds(values.rounds()).is_some_and(|whole| whole <= 0.0),
            false => values.fast.values().chain(values.slow.values()).any(|(one, _)| *one <= 0.0),
        })
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The same of the blocks that both have, from which a ratio is made; of all where they have
    /// none in common.
    pub(crate) fn shared_with(&self, other: &Self) -> Self {
        let mut shared = self.clone();
        shared.blocks.retain(|block, _| other.blocks.contains_key(block));
        if shared.blocks.is_empty() { self.clone() } else { shared }
    }

    /// Number of blocks that both have.
    pub(crate) fn common_blocks(&self, base: &Self) -> usize {
        self.blocks.keys().filter(|block| base.blocks.contains_key(*block)).count()
    }

    /// Ratio to the base, and the ratio of each block that both have, in order. A block's ratio is
    /// the mean over pairs of slices of one round, and the ratio is the mean over the blocks. Where
    /// the processor was slow in some slices, a block's ratio is that of the means of the others;
    /// where one side has no others, that of all pairs, in which both were slow together.
    ///
    /// Where rounds are pieces of one work, a block's ratio is that of the wholes, of the pieces
    /// that both have: a mean of the pieces' ratios would damp what stalls in one of them.
    ///
    /// Without a common block it is that of the two values; where a value is zero, for which there
    /// is no logarithm, that of the sums over the blocks' means, as the values are: neither is made
    /// of blocks.
    pub(crate) fn ratios(&self, base: &Self) -> (Option<f64>, Vec<f64>) {
        let blocks = self.common(base);
        if blocks.is_empty() {
            let values = base.value().zip(self.value());
            return (values.and_then(|pair| mean_of_ratios(&[pair])), Vec::new());
        }
        if self.is_summed {
            let means: Vec<(f64, f64)> = blocks.iter().filter_map(|pairs| means(pairs)).collect();
            return (ratio_of_sums(&means), Vec::new());
        }
        let ratios: Vec<f64> = blocks.iter().filter_map(|pairs| mean_of_ratios(pairs)).collect();
        (geometric_mean(&ratios), ratios)
    }

    /// Base and value of each round, by blocks that both have, in order.
    fn common(&self, base: &Self) -> Vec<Vec<(f64, f64)>> {
        let both =
            self.blocks.iter().filter_map(|(block, own)| Some((base.blocks.get(block)?, own)));
        let of_block = |(base, own): (&Values, &Values)| {
            if base.slow.is_empty() && own.slow.is_empty() {
                self.pairs(&base.fast, &own.fast)
            } else if base.fast.is_empty() || own.fast.is_empty() {
                self.pairs(&base.all(), &own.all())
            } else {
                Some(vec![(self.mean_of_rounds(&base.fast)?, self.mean_of_rounds(&own.fast)?)])
            }
        };
        both.filter_map(of_block).collect()
    }

    /// The rounds that both have; one pair of what they are together, if they are pieces. The means
    /// of the block if no round is in both.
    fn pairs(&self, base: &Rounds, own: &Rounds) -> Option<Vec<(f64, f64)>> {
        let common = own.iter().filter_map(|(round, value)| Some((*base.get(round)?, *value)));
        let (bases, owns): (Vec<_>, Vec<_>) = common.unzip();
        if owns.is_empty() {
            return Some(vec![(self.mean_of_rounds(base)?, self.mean_of_rounds(own)?)]);
        }
        if owns.iter().chain(&bases).all(|(_, piece)| piece.is_some()) {
            return Some(vec![(mean(&bases)?, mean(&owns)?)]);
        }
        Some(bases.iter().zip(&owns).map(|(base, own)| (base.0, own.0)).collect())
    }
}

/// Arithmetic means of a block's bases and values.
fn means(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (bases, values): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    Some((arithmetic_mean(&bases)?, arithmetic_mean(&values)?))
}

fn are_pieces(rounds: &Rounds) -> bool {
    rounds.values().all(|(_, piece)| piece.is_some())
}

fn mean_of_rounds(rounds: &Rounds) -> Option<f64> {
    mean(&rounds.values().copied().collect::<Vec<_>>())
}

/// What pieces are together; of repetitions the geometric mean.
fn mean(values: &[(f64, Option<Piece>)]) -> Option<f64> {
    match pieces(values) {
        Some(pieces) => whole(&pieces),
        None => geometric_mean(&values.iter().map(|(value, _)| *value).collect::<Vec<_>>()),
    }
}

/// Replicates by metric.
type Metrics<'a> = BTreeMap<&'a str, Replicates<'a>>;

/// Lets all subjects of a phase have arithmetic means of a metric that is zero on one of them.
fn sum_where_zero(subjects: &mut BTreeMap<&str, Metrics<'_>>) {
    let zero = subjects.values().flatten().filter(|(_, values)| values.has_zero());
    let zero: BTreeSet<&str> = zero.map(|(metric, _)| *metric).collect();
    for (metric, values) in subjects.values_mut().flatten() {
        values.is_summed = zero.contains(metric);
    }
}

/// Replicates by phase, subject and metric.
#[derive(Debug, Default)]
pub(crate) struct Cells<'a> {
    cells: BTreeMap<&'a str, BTreeMap<&'a str, Metrics<'a>>>,
    blocks: BTreeSet<Block<'a>>,
}

impl<'a> Cells<'a> {
    /// Sorts measurements into cells, and those of slices in which the processor was slow.
    pub(crate) fn of(measurements: &'a [Measurement], slow: &'a [Measurement]) -> Self {
        let mut cells = Self::default();
        let with = |all: &'a [Measurement], among: fn(&mut Values) -> &mut Rounds| {
            all.iter().map(move |measurement| (measurement, among))
        };
        let fast = with(measurements, |values| &mut values.fast);
        let slow = with(slow, |values| &mut values.slow);
        for (measurement, among) in fast.chain(slow) {
            let phase = cells.cells.entry(&measurement.phase).or_default();
            let metrics = phase.entry(&measurement.subject).or_default();
            metrics.entry(&measurement.metric).or_default().add(measurement, among);
            cells.blocks.insert((&measurement.run, measurement.block));
        }
        cells.cells.values_mut().for_each(sum_where_zero);
        cells
    }

    /// The mean over rounds in each block of all cells, in order; absent where there is none.
    pub(crate) fn by_block(&self, values: &Replicates<'_>) -> Vec<Option<f64>> {
        let mean = |of_block: &Values| values.mean_of_rounds(of_block.rounds());
        let of = |block| values.blocks.get(block).and_then(mean);
        self.blocks.iter().map(of).collect()
    }

    /// The blocks of all cells, each with its run, in the order of [`Self::by_block`].
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (&'a str, u32)> {
        self.blocks.iter().copied()
    }

    /// Every factor's level in a cell.
    pub(crate) fn levels(&self, phase: &str, subject: &str) -> Option<&'a Arc<Levels>> {
        self.cells.get(phase)?.get(subject)?.values().next()?.levels
    }

    /// Names of the metrics that any subject has in a phase.
    pub(crate) fn metrics(&self, phase: &str) -> BTreeSet<&'a str> {
        let subjects = self.cells.get(phase).into_iter().flat_map(BTreeMap::values);
        subjects.flat_map(BTreeMap::keys).copied().collect()
    }

    /// The values of a metric in a cell.
    pub(crate) fn get(&self, phase: &str, subject: &str, metric: &str) -> Option<&Replicates<'a>> {
        self.cells.get(phase)?.get(subject)?.get(metric)
    }
}
