//! A variant over all phases: one ratio per metric, and what may be claimed of it.

use crate::{
    claim::judge,
    comparison::{Cell, Comparison, PhaseResult},
    interval::interval,
    mean::{geometric_mean, mean_of_tests},
    verdict::Verdict,
};
use model::shared::Name;

/// The geometric mean of a variant's ratios over the phases that count.
#[derive(Debug, Clone, PartialEq)]
pub struct Overall {
    /// Label of the base.
    pub base: Name,
    /// Geometric mean of the ratios above 0.
    pub ratio: f64,
    /// Smallest and largest ratio of a phase.
    pub range: (f64, f64),
    /// Phases with a ratio above 0.
    pub phases: usize,
    /// Blocks whose means are tested.
    pub blocks: u32,
    /// Whether tests have different numbers of blocks, so that their mean cannot be tested.
    pub uneven: bool,
    /// Ends of the interval of [`CONFIDENCE`](crate::CONFIDENCE), from the mean of each block.
    pub interval: Option<(f64, f64)>,
    /// p value of a change of the mean beyond the metric's floor, where one is tested.
    pub p: Option<f64>,
    /// What follows for the mean.
    pub verdict: Verdict,
}

impl Comparison {
    /// A variant over all phases that count, in one metric; none without a ratio. The mean is
    /// tested as the cells are: paired by block.
    pub fn overall(&self, subject: &str, metric: &str) -> Option<Overall> {
        let phases = self.counted();
        let cells = phases.iter().filter_map(|phase| phase.cell(subject, metric));
        let compared: Vec<&Cell> = cells.filter(|cell| cell.ratio.is_some()).collect();
        let ratios: Vec<f64> = compared.iter().filter_map(|cell| cell.ratio).collect();
        let cells = countable(&compared);
        let first = cells.first()?;
        let blocks = block_means(&cells, &self.looks);
        let (uneven, blocks) = (blocks.is_none(), blocks.unwrap_or_default());
        let is_widened = are_widened(&cells);
        let (p, verdict) = match cells.iter().any(|cell| cell.verdict == Verdict::Invalid) {
            true => (None, Verdict::Invalid),
            false if is_widened => (None, Verdict::Inconclusive),
            false => judge(first, &blocks, &self.looks),
        };
        let bound =
            |start: f64, pick: fn(f64, f64) -> f64| ratios.iter().copied().fold(start, pick);
        Some(Overall {
            base: first.base.clone()?,
            ratio: mean_of_tests(&ratios)?.ratio,
            range: (bound(f64::INFINITY, f64::min), bound(f64::NEG_INFINITY, f64::max)),
            phases: cells.len(),
            blocks: u32::try_from(blocks.len()).unwrap_or(u32::MAX),
            uneven,
            interval: interval(&blocks, &self.looks).filter(|_| !is_widened),
            p,
            verdict,
        })
    }
}

/// The interval for the geometric mean of a subject's ratios over some phases, from the mean of
/// each block: what all phases share in a block does not average out over them. Absent unless every
/// phase that compares has the same number of blocks, two at least; with `looks`, where phases
/// leave when they are decided, the blocks that all of them have count.
pub fn mean_interval<'a>(
    phases: impl IntoIterator<Item = &'a PhaseResult>,
    subject: &str,
    metric: &str,
    looks: &[u32],
) -> Option<(f64, f64)> {
    let cells = phases.into_iter().filter_map(|phase| phase.cell(subject, metric));
    let cells = countable(&cells.collect::<Vec<_>>());
    interval(&block_means(&cells, looks)?, looks).filter(|_| !are_widened(&cells))
}

/// Whether what runs of one build differ by makes any of these cells inconclusive: it may be in all
/// of them alike, so blocks tell nothing of their mean.
fn are_widened(cells: &[&Cell]) -> bool {
    let is_widened = |cell: &&Cell| cell.verdict == Verdict::Inconclusive && cell.test.is_none();
    cells.iter().any(is_widened)
}

/// The cells whose ratio has a logarithm.
fn countable<'a>(cells: &[&'a Cell]) -> Vec<&'a Cell> {
    cells.iter().copied().filter(|cell| cell.ratio.is_some_and(|ratio| ratio > 0.0)).collect()
}

/// The mean ratio of each block over some cells: what all phases share in a block does not average
/// out over them. None unless all cells have the same number of blocks; with `looks` the first ones
/// count, as many as all have.
pub(crate) fn block_means(cells: &[&Cell], looks: &[u32]) -> Option<Vec<f64>> {
    let blocks = cells.iter().map(|cell| cell.block_ratios.len()).min()?;
    let all_alike = cells.iter().all(|cell| cell.block_ratios.len() == blocks);
    if looks.is_empty() && !all_alike {
        return None;
    }
    let mean = |block: usize| {
        let ratios: Vec<f64> = cells.iter().map(|cell| cell.block_ratios[block]).collect();
        geometric_mean(&ratios)
    };
    Some((0..blocks).filter_map(mean).collect())
}
