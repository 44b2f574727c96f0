//! The tests behind a verdict, and what more blocks would do for them.

use crate::{
    comparison::Cell,
    interval::{CONFIDENCE, Sample},
    looks::{Sides, nominal},
    noise::FEWEST_FREEDOM,
    prior::Prior,
    verdict::{ERROR_RATE, FEWEST_BLOCKS, MOST_BLOCKS, Verdict, error_rate},
};
use model::{
    margins::{Margins, Quantity},
    metric::{Better, Metric},
};
use std::sync::Arc;

/// Chance with which a change is found that is called detectable, and with which the blocks that
/// are asked for decide.
const POWER: f64 = 0.9;

/// The tests of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// p value of a change beyond the metric's floor, two-sided.
    pub p_change: f64,
    /// p value of a difference within the margin: the larger of two one-sided ones.
    pub p_equivalence: f64,
    /// Standard deviation of the logarithms of the blocks' ratios, at least half of the floor.
    pub deviation: f64,
    /// Degrees of freedom.
    pub freedom: f64,
    /// Blocks that were tested.
    pub blocks: u32,
    /// What it may spend.
    pub share: Share,
}

/// An error rate and what shares it.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Chance that any of the tests is wrong.
    pub error: f64,
    /// Tests that share it.
    pub tests: usize,
    /// Numbers of blocks after which the run was judged; empty where their number was fixed.
    pub looks: Arc<[u32]>,
}

impl Test {
    /// The p value that a change has to reach after so many blocks, as the clearest of its family.
    fn limit(&self, blocks: u32) -> f64 {
        let Share { error, tests, looks } = &self.share;
        nominal(looks, blocks, error / (*tests).max(1) as f64, Sides::Two)
    }

    /// The same for a change beyond the margin: what an interval of [`CONFIDENCE`] says.
    fn large_limit(&self, blocks: u32) -> f64 {
        nominal(&self.share.looks, blocks, 1.0 - CONFIDENCE, Sides::Two)
    }

    /// The same for equivalence.
    fn equivalence_limit(&self, blocks: u32) -> f64 {
        nominal(&self.share.looks, blocks, ERROR_RATE, Sides::One)
    }

    /// The p value of a change, to compare with the error rate of the family: of several tests and
    /// looks each may use a part of that rate alone, and the value grows by as much.
    fn adjusted(&self) -> f64 {
        (self.p_change * self.share.error / self.limit(self.blocks)).min(1.0)
    }

    /// Whether a change is found, whatever else its family finds.
    pub(crate) fn finds_change(&self) -> bool {
        self.p_change <= self.limit(self.blocks)
    }
}

/// Blocks that would decide an undecided cell nine times in ten, if further ones repeated its mean
/// and its spread, and it were the clearest of its family, whose share of the error rate is the
/// least. It is a guess, from few blocks a rough one. Before the last look these are blocks of this
/// run, later those of a new one of their number. None for other cells, and where [`most_blocks`]
/// would not do.
pub fn blocks_to_decide(cell: &Cell) -> Option<u32> {
    let (claim, test) = open(cell)?;
    let is_of_run = last_to_come(cell, test).is_some();
    let looks = if is_of_run { Arc::clone(&test.share.looks) } else { Arc::default() };
    let test = Test { share: Share { looks, ..test.share.clone() }, ..test.clone() };
    let decides =
        |blocks: &u32| claim.with(*blocks).is_some_and(|claim| claim.decides(&test, *blocks));
    (FEWEST_BLOCKS.max(cell.blocks + 1)..=most_blocks(cell)).find(decides)
}

/// The most blocks that [`blocks_to_decide`] asks for: those of the run's last look where it is to
/// come, else [`MOST_BLOCKS`].
pub fn most_blocks(cell: &Cell) -> u32 {
    cell.test.as_ref().and_then(|test| last_to_come(cell, test)).unwrap_or(MOST_BLOCKS)
}

/// The last look at a run, where it has not so many blocks yet.
fn last_to_come(cell: &Cell, test: &Test) -> Option<u32> {
    // A block that the test left out was measured all the same.
    let measured = cell.by_block.len().max(cell.blocks as usize);
    test.share.looks.last().copied().filter(|last| measured < *last as usize)
}

/// The least change, as a ratio above 1, that the blocks of an undecided cell would have shown nine
/// times in ten, as the clearest of its family. None for other cells.
pub fn detectable(cell: &Cell) -> Option<f64> {
    let (claim, test) = open(cell).filter(|_| cell.blocks >= FEWEST_BLOCKS)?;
    Some(claim.detectable(test, cell.blocks).exp())
}

/// The least change, as a ratio above 1, that so many blocks show nine times in ten where blocks
/// spread as `prior` says, as the clearest of `tests`. None for a metric without a margin, and for
/// too few blocks.
pub fn provable(metric: &Metric, prior: Prior, blocks: u32, tests: usize) -> Option<f64> {
    // Tests take nothing from such a prior.
    let freedom = if prior.freedom > FEWEST_FREEDOM { prior.freedom } else { 0.0 };
    let prior = Prior { freedom, ..prior };
    let sample = Sample::expected(prior, blocks).filter(|_| blocks >= FEWEST_BLOCKS)?;
    let claim = Claim::new(metric, Margins::default().of(metric)?, sample)?;
    let share = Share { error: error_rate(metric), tests, looks: Arc::default() };
    Some(claim.detectable(&claim.test(blocks, &share), blocks).exp())
}

/// What an undecided cell may claim, with its tests.
fn open(cell: &Cell) -> Option<(Claim, &Test)> {
    let is_open = cell.verdict.is_assessed() && !cell.verdict.is_decided();
    // More blocks do not narrow what runs differ by.
    let is_of_blocks = cell.between.is_none();
    Claim::of(cell).filter(|_| is_open && is_of_blocks).zip(cell.test.as_ref())
}

/// What a cell gained, beside what would matter. All are logarithms of ratios.
#[derive(Clone, Copy)]
pub(crate) struct Claim {
    /// Above zero is better.
    sample: Sample,
    /// Up to here a difference is none.
    floor: f64,
    /// From here on a change matters.
    margin: f64,
}

/// Least standard deviation between blocks that tests assume, of logarithms: a few blocks may agree
/// by chance.
pub(crate) fn least_deviation(quantity: Quantity) -> f64 {
    quantity.floor().ln() / 2.0
}

impl Claim {
    pub(crate) fn of(cell: &Cell) -> Option<Self> {
        Self::new(cell.metric, cell.margin?, Sample::of_cell(cell)?)
    }

    /// None for a metric of which nothing is claimed.
    pub(crate) fn new(metric: &Metric, margin: f64, sample: Sample) -> Option<Self> {
        let quantity = Quantity::of(metric)?;
        let (margin, floor) = (margin.ln(), quantity.floor().ln());
        let sample = if metric.better == Better::Lower { sample.turned() } else { sample };
        Some(Self { sample: sample.with_least_deviation(least_deviation(quantity)), floor, margin })
    }

    /// Its tests as one of so many.
    pub(crate) fn test(&self, blocks: u32, share: &Share) -> Test {
        Test {
            p_change: self.chance_of_change(self.floor),
            p_equivalence: self.chance_of_none(),
            deviation: self.sample.deviation(),
            freedom: self.sample.freedom(),
            blocks,
            share: share.clone(),
        }
    }

    /// What follows where the test of a change was passed.
    pub(crate) fn changed(&self, metric: &Metric, test: &Test) -> Verdict {
        let is_better = self.sample.mean > 0.0;
        let limit = test.large_limit(test.blocks);
        let is_large = self.chance_of_change(self.margin) <= limit;
        match self.unchanged(test) {
            Verdict::Equivalent => Verdict::SmallChange,
            _ if self.is_short() => Verdict::Inconclusive,
            _ if is_large && is_better => Verdict::Improvement,
            _ if is_large && metric.kind.is_instructions() => Verdict::CodeCost,
            _ if is_large => Verdict::Regression,
            _ if is_better => Verdict::Better,
            _ => Verdict::Worse,
        }
    }

    /// What follows where it was not.
    pub(crate) fn unchanged(&self, test: &Test) -> Verdict {
        let is_none = self.chance_of_none() <= test.equivalence_limit(test.blocks);
        match is_none && !self.is_short() {
            true => Verdict::Equivalent,
            false => Verdict::Inconclusive,
        }
    }

    /// Whether there are too few blocks that are independent of each other.
    fn is_short(&self) -> bool {
        self.sample.units() < f64::from(FEWEST_BLOCKS)
    }

    fn with(self, blocks: u32) -> Option<Self> {
        Some(Self { sample: self.sample.with(blocks)?, ..self })
    }

    /// p value of a change beyond `limit`, either way.
    fn chance_of_change(&self, limit: f64) -> f64 {
        let above = self.sample.chance_above(limit);
        (2.0 * above.min(self.sample.chance_below(-limit))).min(1.0)
    }

    /// p value of no change beyond the margin: that of the worse side.
    fn chance_of_none(&self) -> f64 {
        self.sample.chance_below(self.margin).max(self.sample.chance_above(-self.margin))
    }

    /// How far the mean has to lie behind a limit, so that a one-sided test at `error` passes with
    /// [`POWER`].
    fn clear(&self, error: f64) -> f64 {
        self.sample.reach(error) + self.sample.reach(1.0 - POWER)
    }

    /// The least change that so many blocks show with [`POWER`].
    fn detectable(&self, test: &Test, blocks: u32) -> f64 {
        self.floor + self.clear(test.limit(blocks) / 2.0)
    }

    /// Whether as many blocks decide with [`POWER`], the true change being the mean found: by a
    /// change beyond the margin, or by none.
    fn decides(&self, test: &Test, blocks: u32) -> bool {
        if self.is_short() {
            return false;
        }
        let change = self.sample.mean.abs();
        let large = self.margin + self.clear(test.large_limit(blocks) / 2.0);
        change >= self.detectable(test, blocks).max(large)
            || change <= self.margin - self.clear(test.equivalence_limit(blocks))
    }
}

/// The p value of a change beyond the floor, adjusted for `looks`, and the verdict, for a sample of
/// so many blocks of the metric of `cell`, as the only one of its family.
pub(crate) fn judge(
    cell: &Cell,
    sample: Option<Sample>,
    blocks: u32,
    looks: &[u32],
) -> (Option<f64>, Verdict) {
    let Some(sample) = sample else { return (None, Verdict::Unreplicated) };
    let metric = cell.metric;
    let claim = cell.margin.and_then(|margin| Claim::new(metric, margin, sample));
    let Some(claim) = claim else { return (None, Verdict::Unassessed) };
    let share = Share { error: error_rate(metric), tests: 1, looks: looks.into() };
    let test = claim.test(blocks, &share);
    let changed = test.finds_change();
    let verdict = if changed { claim.changed(metric, &test) } else { claim.unchanged(&test) };
    (Some(test.adjusted()), verdict)
}
