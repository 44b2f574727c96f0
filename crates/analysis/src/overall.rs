//! A variant over all phases: one ratio per metric, and what may be claimed of it.

use crate::{
    claim::judge,
    comparison::{Cell, Comparison, PhaseResult},
    drift,
    interval::{Sample, interval_of},
    mean::{geometric_mean, mean_of_tests},
    prior::Spread,
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
    /// Whether tests have different blocks, so that their mean cannot be tested.
    pub uneven: bool,
    /// Ends of the interval of [`CONFIDENCE`](crate::CONFIDENCE), from the mean of each block.
    pub interval: Option<(f64, f64)>,
    /// p value of a change of the mean beyond the metric's floor, where one is tested; adjusted
    /// where the run was judged several times.
    pub p: Option<f64>,
    /// What follows for the mean.
    pub verdict: Verdict,
}

impl Comparison {
    /// A variant over all phases that count, in one metric; none without a ratio. The mean is
    /// tested as the cells are: paired by block.
    pub fn overall(&self, subject: &str, metric: &str) -> Option<Overall> {
        let phases = self.counted();
        let ratio = |phase: &&PhaseResult| phase.cell(subject, metric)?.ratio;
        let ratios: Vec<f64> = phases.iter().filter_map(ratio).collect();
        let cells = countable(phases, subject, metric);
        let first = cells.first()?.cell;
        let blocks = block_means(&cells, &self.looks);
        let (uneven, ratios_of_blocks) = (blocks.is_none(), blocks.unwrap_or_default());
        let len = ratios_of_blocks.len();
        let blocks = u32::try_from(len).unwrap_or(u32::MAX);
        let sample = sample(&ratios_of_blocks, &cells);
        let (p, verdict) = match cells.iter().any(|one| one.cell.verdict == Verdict::Invalid) {
            true => (None, Verdict::Invalid),
            false => judge(first, sample, blocks, &self.looks),
        };
        let bound =
            |start: f64, pick: fn(f64, f64) -> f64| ratios.iter().copied().fold(start, pick);
        Some(Overall {
            base: first.base.clone()?,
            ratio: mean_of_tests(&ratios)?.ratio,
            range: (bound(f64::INFINITY, f64::min), bound(f64::NEG_INFINITY, f64::max)),
            phases: cells.len(),
            blocks,
            uneven,
            interval: sample.and_then(|sample| interval_of(sample, len, &self.looks)),
            p,
            verdict,
        })
    }
}

/// The interval for the geometric mean of a subject's ratios over some phases, from the mean of
/// each block: what all phases share in a block does not average out over them. Absent unless every
/// phase that compares has the same blocks, two at least; with `looks`, where phases leave
/// when they are decided, the blocks that all of them have count.
pub fn mean_interval<'a>(
    phases: impl IntoIterator<Item = &'a PhaseResult>,
    subject: &str,
    metric: &str,
    looks: &[u32],
) -> Option<(f64, f64)> {
    let cells = countable(phases, subject, metric);
    let means = block_means(&cells, looks)?;
    interval_of(sample(&means, &cells)?, means.len(), looks)
}

/// The mean of some cells, by that of each block. What runs of one build differ by may be in all of
/// the cells alike, so it does not average out over them; nor does the drift of a host, which the
/// cells together may show where their mean alone does not.
fn sample(means: &[f64], cells: &[Counted<'_>]) -> Option<Sample> {
    let logs: Vec<f64> = means.iter().map(|mean| mean.ln()).collect();
    let of_cells = cells.iter().map(|one| one.cell.together).max().unwrap_or(1);
    // One unit alone would have no interval.
    let together = of_cells.min((means.len() / 2).max(1)).max(drift::together(&[logs]));
    let known: Vec<Spread> = cells.iter().filter_map(|one| one.cell.between).collect();
    let freedom = known.iter().map(|one| one.freedom).reduce(f64::min);
    let deviations: f64 = known.iter().map(|one| one.variance.sqrt()).sum();
    let variance = (deviations / known.len() as f64).powi(2);
    let unseen = freedom.map(|freedom| Spread { variance, freedom });
    Sample::informed(means, together, None)?.with_unseen(unseen)
}

/// A cell whose ratio has a logarithm.
struct Counted<'a> {
    cell: &'a Cell,
    /// Which blocks of the comparison its ratios are of; where its values do not tell, the first
    /// ones.
    blocks: Vec<usize>,
}

/// The cells of a subject in some phases that are in a mean.
fn countable<'a>(
    phases: impl IntoIterator<Item = &'a PhaseResult>,
    subject: &str,
    metric: &str,
) -> Vec<Counted<'a>> {
    let counted = |phase: &'a PhaseResult| {
        let cell = phase.cell(subject, metric)?;
        cell.ratio.filter(|ratio| *ratio > 0.0)?;
        let blocks = phase.blocks_of_ratios(cell);
        let blocks = blocks.unwrap_or_else(|| (0..cell.block_ratios.len()).collect());
        Some(Counted { cell, blocks })
    };
    phases.into_iter().filter_map(counted).collect()
}

/// The mean ratio of each block over some cells: what all phases share in a block does not average
/// out over them. None unless all cells have the same blocks, which as many are not: tests leave
/// out slow ones of their own. With `looks` those count that all have.
fn block_means(cells: &[Counted<'_>], looks: &[u32]) -> Option<Vec<f64>> {
    let first = &cells.first()?.blocks;
    if looks.is_empty() && cells.iter().any(|one| one.blocks != *first) {
        return None;
    }
    let common = first.iter().filter(|block| cells.iter().all(|one| one.blocks.contains(block)));
    let mean = |block: &usize| {
        let ratio = |Counted { cell, blocks }: &Counted<'_>| {
            cell.block_ratios.get(blocks.binary_search(block).ok()?).copied()
        };
        geometric_mean(&cells.iter().filter_map(ratio).collect::<Vec<f64>>())
    };
    Some(common.filter_map(mean).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// A phase with these ratios of blocks: base and subject, none where a block is missing.
    fn of_blocks(base: &[Option<f64>], own: &[Option<f64>]) -> PhaseResult {
        let both = base.iter().zip(own);
        let ratios = both.filter_map(|(base, own)| Some((*own)? / (*base)?));
        let cell = Cell {
            block_ratios: ratios.collect(),
            by_block: own.to_vec(),
            ..testing::cell("ops_per_second", 1.0, 1.0)
        };
        let of_base = Cell {
            subject: "old".into(),
            base: None,
            by_block: base.to_vec(),
            ..testing::cell("ops_per_second", 1.0, 1.0)
        };
        PhaseResult { cells: vec![of_base, cell], ..testing::phase("p") }
    }

    fn means(phases: &[PhaseResult], looks: &[u32]) -> Option<Vec<f64>> {
        block_means(&countable(phases, "new", "ops_per_second"), looks)
    }

    #[test]
    fn as_many_blocks_are_not_the_same_ones() {
        let all = [Some(1.0); 3];
        let one = of_blocks(&all, &[Some(4.0), Some(1.0), None]);
        let other = of_blocks(&all, &[None, Some(1.0), Some(9.0)]);
        assert_eq!(means(&[one.clone(), other.clone()], &[]), None);
        assert_eq!(means(&[one.clone(), other], &[4]), Some(vec![1.0]), "those that both have");
        let alike = of_blocks(&all, &[Some(4.0), Some(8.0), None]);
        assert_eq!(means(&[one, alike], &[]).map(|means| means.len()), Some(2));
    }

    #[test]
    fn a_block_that_only_the_base_lacks_is_none_of_the_ratios() {
        let own = [Some(4.0), Some(1.0), Some(9.0)];
        let one = of_blocks(&[None, Some(1.0), Some(1.0)], &own);
        let other = of_blocks(&[Some(1.0), Some(1.0), None], &own);
        assert_eq!(means(&[one.clone(), other.clone()], &[]), None);
        assert_eq!(means(&[one.clone(), other], &[4]), Some(vec![1.0]), "the second block");
        let all = of_blocks(&[Some(1.0); 3], &own);
        let found = means(&[one, all], &[4]).unwrap();
        assert!((found[0] - 1.0).abs() < 1e-12 && (found[1] - 9.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_mean_over_tests_that_drift_drifts_with_them() {
        let ratios = [0.80, 0.79, 0.78, 0.77, 0.76, 0.75];
        let of = |together: usize| {
            let by_block = ratios.map(Some);
            let mut phases = [1, 2, 3, 4].map(|_| of_blocks(&[Some(1.0); 6], &by_block));
            phases.iter_mut().for_each(|phase| phase.cells[1].together = together);
            let found = testing::comparison(phases.to_vec()).overall("new", "ops_per_second");
            found.map(|found| (found.blocks, found.verdict))
        };
        assert_eq!(of(1), Some((6, Verdict::Regression)));
        assert_eq!(of(2), Some((6, Verdict::Inconclusive)), "three pairs decide nothing");
        // Four blocks that all have are two pairs, where the tests have more and count in fours.
        let mut phase = of_blocks(&[Some(1.0); 4], &[0.8, 0.79, 0.78, 0.77].map(Some));
        phase.cells[1].together = 4;
        assert!(mean_interval([&phase], "new", "ops_per_second", &[]).is_some());
    }

    #[test]
    fn a_mean_of_instructions_is_judged_at_their_error_rate() {
        // By tables of t: 5 with 3 degrees of freedom has p = 0.0154.
        let logs = [0.007_732_f64, 0.004_268, 0.007_732, 0.004_268];
        let cell = testing::cell("foreground_user_instructions_per_op", 1.0, 1.0);
        let (p, verdict) = judge(&cell, Sample::of(&logs.map(f64::exp)), 4, &[]);
        assert!(p.is_some_and(|p| (0.01..0.05).contains(&p)), "{p:?}");
        assert!(!verdict.is_change(), "{verdict:?}");
    }

    #[test]
    fn the_p_value_of_a_run_with_looks_is_below_the_error_rate_where_it_decides() {
        let cell = testing::cell("ops_per_second", 1.0, 1.0);
        let logs = [0.19_f64, 0.21, 0.19, 0.21];
        let sample = |spread: f64| {
            let mean = logs.iter().sum::<f64>() / 4.0;
            Sample::of(&logs.map(|log| (mean + spread * (log - mean)).exp()))
        };
        let mut decided = Vec::new();
        for spread in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
            let (one, _) = judge(&cell, sample(spread), 4, &[]);
            let (several, verdict) = judge(&cell, sample(spread), 4, &[4, 8, 12]);
            assert!(several > one, "{several:?} {one:?}");
            assert_eq!(several.is_some_and(|p| p <= 0.05), verdict.is_change(), "{several:?}");
            decided.push(verdict.is_change());
        }
        assert!(decided[0] && !decided[5], "{decided:?}");
    }
}
