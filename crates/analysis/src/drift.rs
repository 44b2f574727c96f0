//! Blocks that follow their neighbors: a host that drifts lets neighbors agree, and they then say
//! less than as many independent ones. Such blocks are taken together, until what is together is
//! independent of its neighbors.

use crate::{
    claim::least_deviation,
    comparison::{Cell, PhaseResult},
    verdict::FEWEST_BLOCKS,
};
use model::{margins::Quantity, shared::Name};
use statrs::distribution::{ContinuousCDF as _, StudentsT};
use std::collections::BTreeMap;

/// Correlation of neighbors above which a few cells are taken to drift.
const CORRELATED: f64 = 0.3;

/// Fewest blocks whose correlation a few cells tell: enough are left if they are taken in twos.
const FEWEST_ALONE: usize = 8;

/// Cells whose correlations have a mean and a spread that tell more.
const MANY: usize = 4;

/// Fewest blocks whose correlation is looked at.
const FEWEST: usize = 4;

/// Chance with which the mean correlation of many cells of independent blocks is taken for drift.
const FALSE_DRIFT: f64 = 0.025;

/// Fewest units that blocks are taken together to, beyond pairs: with fewer nothing is decided,
/// however large a change is.
const FEWEST_UNITS: usize = FEWEST_BLOCKS as usize;

/// Sum of squares of logarithms that differ by rounding alone.
const ROUNDING: f64 = 1e-20;

/// Tells every cell how many of its blocks are taken together: what drifts, drifts in all phases of
/// a subject and metric. Cells whose blocks spread by less than their tests assume anyway are left
/// out: how the digits of exact counts follow each other decides nothing.
pub(crate) fn tell(phases: &mut [PhaseResult]) {
    let mut groups: BTreeMap<(Name, &str), Vec<Vec<f64>>> = BTreeMap::new();
    for phase in phases.iter() {
        for cell in &phase.cells {
            if let Some(logs) = in_order(phase, cell) {
                groups.entry((cell.subject.clone(), cell.metric.name)).or_default().push(logs);
            }
        }
    }
    let found: BTreeMap<_, usize> =
        groups.into_iter().map(|(key, logs)| (key, together(&logs))).collect();
    for phase in phases {
        let own: &PhaseResult = phase;
        let of = |cell: &Cell| {
            let key = (cell.subject.clone(), cell.metric.name);
            // One unit alone would have no interval and no verdict, not even that it is open.
            let is_several = |together: &usize| cell.block_ratios.len() >= 2 * together;
            let together = in_order(own, cell).and(found.get(&key)).copied();
            together.filter(is_several).unwrap_or(1)
        };
        let together: Vec<usize> = own.cells.iter().map(of).collect();
        for (cell, together) in phase.cells.iter_mut().zip(together) {
            cell.together = together;
        }
    }
}

/// The logarithms of a cell's blocks, if these say anything by their order: hosts that count as one
/// block each have none.
fn in_order(phase: &PhaseResult, cell: &Cell) -> Option<Vec<f64>> {
    spread(cell).filter(|_| !phase.is_by_host(cell))
}

/// Which judged metrics of which subjects have blocks that are taken together, a sentence each.
pub(crate) fn sentences(phases: &[PhaseResult]) -> Vec<String> {
    let cells = phases.iter().flat_map(|phase| &phase.cells);
    let together = cells.filter(|cell| cell.together > 1 && cell.metric.family.is_some());
    let mut told: BTreeMap<(&Name, &str), (usize, usize)> = BTreeMap::new();
    for cell in together {
        let blocks = cell.block_ratios.len();
        told.entry((&cell.subject, cell.metric.title)).or_insert((blocks, blocks / cell.together));
    }
    let sentence = |((subject, title), (blocks, units)): ((&Name, &str), (usize, usize))| {
        let remedy = match units < FEWEST_UNITS {
            true => format!(", too few to decide: take {} or more", 2 * FEWEST_UNITS),
            false => String::new(),
        };
        format!(
            "`{subject}`: ratios of {title} follow those of the block before, as on a host that \
             drifts: {blocks} blocks count as {units}{remedy}"
        )
    };
    told.into_iter().map(sentence).collect()
}

/// The logarithms of a cell's ratios, if its blocks spread by more than its tests assume at least.
fn spread(cell: &Cell) -> Option<Vec<f64>> {
    let logs: Vec<f64> = cell.block_ratios.iter().map(|ratio| ratio.ln()).collect();
    let least = Quantity::of(cell.metric).map_or(0.0, least_deviation);
    let mean = mean(&logs);
    // Not of a ratio that is not finite.
    (squares(&logs, mean) > least.powi(2) * (logs.len() as f64 - 1.0)).then_some(logs)
}

/// How many neighboring blocks are taken together, for the logarithms of some cells.
pub(crate) fn together(cells: &[Vec<f64>]) -> usize {
    let mut together = 1;
    loop {
        let units: Vec<Vec<f64>> = cells.iter().map(|logs| joined(logs, together)).collect();
        let is_last = |logs: &Vec<f64>| logs.len() / (2 * together) < FEWEST_UNITS;
        if !drifts(&units) || together > 1 && cells.iter().any(is_last) {
            return together;
        }
        together *= 2;
    }
}

/// Means of so many neighbors; what is left over belongs to the last ones.
pub(crate) fn joined(logs: &[f64], together: usize) -> Vec<f64> {
    let units = logs.len() / together;
    let unit = |index: usize| {
        let end = if index + 1 == units { logs.len() } else { (index + 1) * together };
        let unit = &logs[index * together..end];
        unit.iter().sum::<f64>() / unit.len() as f64
    };
    (0..units).map(unit).collect()
}

/// Whether neighbors agree. The correlation of independent blocks has a mean of -1/n.
fn drifts(cells: &[Vec<f64>]) -> bool {
    let known = cells.iter().filter(|logs| logs.len() >= FEWEST);
    let found: Vec<(f64, &Vec<f64>)> =
        known.filter_map(|logs| Some((correlation(logs)?, logs))).collect();
    let count = found.len() as f64;
    if found.len() < MANY {
        let sum: f64 = found.iter().map(|(correlation, _)| correlation).sum();
        let enough = found.iter().all(|(_, logs)| logs.len() >= FEWEST_ALONE);
        return enough && sum > CORRELATED * count && !found.is_empty();
    }
    let above: Vec<f64> =
        found.iter().map(|(found, logs)| found + 1.0 / logs.len() as f64).collect();
    let mean = above.iter().sum::<f64>() / count;
    let errors = StudentsT::new(0.0, 1.0, count - 1.0)
        .map_or(f64::INFINITY, |known| known.inverse_cdf(1.0 - FALSE_DRIFT));
    let least = errors * (squares(&above, mean) / (count - 1.0) / count).sqrt();
    if mean <= least {
        return false;
    }
    // What a start does to all cells of a block makes their correlations alike.
    let logs: Vec<&[f64]> = found.iter().map(|(_, logs)| logs.as_slice()).collect();
    mean > least * (1.0 + (count - 1.0) * shared(&logs)).sqrt()
}

/// How much of their squared correlation with each other cells have beyond independent ones, whose
/// mean is 1/(n-1): 0 for none, 1 for cells that are the same.
fn shared(cells: &[&[f64]]) -> f64 {
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (index, one) in cells.iter().enumerate() {
        for other in
            cells[..index].iter().filter(|other| other.len() == one.len() && one.len() > FEWEST)
        {
            let chance = 1.0 / (one.len() as f64 - 1.0);
            sum += (alike(one, other).powi(2) - chance) / (1.0 - chance);
            pairs += 1.0;
        }
    }
    if pairs > 0.0 { (sum / pairs).max(0.0) } else { 0.0 }
}

/// Correlation of as many values of two cells.
fn alike(one: &[f64], other: &[f64]) -> f64 {
    let (of_one, of_other) = (mean(one), mean(other));
    let both = one.iter().zip(other);
    let products = both.map(|(a, b)| (a - of_one) * (b - of_other)).sum::<f64>();
    products / (squares(one, of_one) * squares(other, of_other)).sqrt()
}

/// Correlation of each value with the next one (lag 1); none where all are equal.
fn correlation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let products = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
    let squares = squares(values, mean);
    // What equal values leave is rounding.
    (squares > ROUNDING).then(|| products / squares)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sum of the squares of what values differ by from `mean`.
pub(crate) fn squares(values: &[f64], mean: f64) -> f64 {
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    /// How many blocks are taken together in four phases whose instructions rise by so much from
    /// block to block.
    fn together_of(slope: f64) -> Vec<usize> {
        let mut phases: Vec<PhaseResult> = (1..=4)
            .map(|phase| {
                let ratio = |block: i32| 1.03 + slope * f64::from(phase) * f64::from(block);
                let block_ratios = (0..5).map(ratio).collect();
                let cell = testing::cell("foreground_user_instructions_per_op", 100.0, 103.0);
                PhaseResult { cells: vec![Cell { block_ratios, ..cell }], ..testing::phase("p") }
            })
            .collect();
        tell(&mut phases);
        let together: Vec<usize> = phases.iter().map(|phase| phase.cells[0].together).collect();
        let told = sentences(&phases);
        assert_eq!(told.len(), usize::from(together[0] > 1), "{told:?}");
        let counted = "5 blocks count as 2, too few to decide: take 8 or more";
        assert!(told.iter().all(|one| one.ends_with(counted)), "{told:?}");
        together
    }

    #[test]
    fn the_order_of_what_is_nearly_equal_says_nothing() {
        assert_eq!(together_of(0.01), [2; 4]);
        assert_eq!(together_of(0.000_01), [1; 4]);
    }

    #[test]
    fn independent_blocks_are_seldom_taken_together() {
        let mut draw = fastrand::Rng::with_seed(7);
        // Sums of twelve are nearly normal.
        let mut normal = || (0..12).map(|_| draw.f64()).sum::<f64>();
        let mut cells = |blocks: usize| -> Vec<Vec<f64>> {
            (0..4).map(|_| (0..blocks).map(|_| normal()).collect()).collect()
        };
        for blocks in [4, 5, 8] {
            let found = (0..2_000).filter(|_| together(&cells(blocks)) > 1).count();
            println!("{blocks} blocks: {found} of 2000");
            assert!(found < 100, "{blocks} blocks: {found} of 2000");
        }
    }

    #[test]
    fn what_a_start_does_to_all_cells_of_a_block_is_no_drift() {
        let mut draw = fastrand::Rng::with_seed(7);
        let mut normal = || (0..12).map(|_| draw.f64()).sum::<f64>() - 6.0;
        let mut cells = |blocks: usize| -> Vec<Vec<f64>> {
            let common: Vec<f64> = (0..blocks).map(|_| normal()).collect();
            (0..20).map(|_| common.iter().map(|one| one + normal()).collect()).collect()
        };
        // Without regard to what cells share it is a fifth of them.
        for blocks in [5, 8, 16] {
            let found = (0..400).filter(|_| together(&cells(blocks)) > 1).count();
            println!("{blocks} blocks: {found} of 400");
            assert!(found < 24, "{blocks} blocks: {found} of 400");
        }
    }

    #[test]
    fn neighbors_that_agree_are_taken_together() {
        let drift = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07].map(f64::ln);
        assert_eq!(together(&[drift.to_vec()]), 2);
        assert_eq!(together(&[drift[..7].to_vec()]), 1, "too few to know");
        let turns = [1.0, 1.03, 1.0, 1.03, 1.0, 1.03, 1.0, 1.03].map(f64::ln);
        assert_eq!(together(&[turns.to_vec()]), 1);
        assert_eq!(together(&[vec![0.4; 8]]), 1);
        // Many cells tell it from four blocks, of which too little is left to decide anything.
        let cell = |slope: f64| (0..4).map(|block| slope * f64::from(block)).collect::<Vec<_>>();
        let cells: Vec<Vec<f64>> = [0.1, 0.2, -0.1, 0.3].map(cell).to_vec();
        assert_eq!(together(&cells), 2);
        assert_eq!(joined(&[1.0, 3.0, 5.0, 9.0, 13.0], 2), [2.0, 9.0]);
        // Pairs of eight still decide; fours of eight would not.
        let slow = |slope: f64| (0..8).map(|block| slope * f64::from(block)).collect::<Vec<_>>();
        let slow: Vec<Vec<f64>> = [0.1, 0.2, -0.1, 0.3].map(slow).to_vec();
        assert_eq!(together(&slow), 2);
    }

    #[test]
    fn a_test_of_three_blocks_keeps_them_where_others_drift() {
        let of = |blocks: i32| {
            let block_ratios = (0..blocks).map(|block| 1.0 + 0.1 * f64::from(block)).collect();
            let cell = testing::cell("ops_per_second", 1.0, 1.0);
            PhaseResult { cells: vec![Cell { block_ratios, ..cell }], ..testing::phase("p") }
        };
        let mut phases: Vec<PhaseResult> = [4, 4, 4, 4, 3].map(of).to_vec();
        tell(&mut phases);
        let found: Vec<usize> = phases.iter().map(|phase| phase.cells[0].together).collect();
        assert_eq!(found, [2, 2, 2, 2, 1]);
    }

    #[test]
    fn hosts_that_count_as_one_block_each_are_not_taken_together() {
        let rising = || (0..4).map(|block| 1.0 + 0.1 * f64::from(block)).collect();
        let cell = || testing::cell("ops_per_second", 1.0, 1.0);
        let own = |blocks: usize| {
            let by_block = vec![Some(1.0); blocks];
            let base = Cell { subject: "old".into(), base: None, ..cell() };
            let base = Cell { by_block: by_block.clone(), ..base };
            let own = Cell { by_block, block_ratios: rising(), ..cell() };
            PhaseResult { cells: vec![base, own], ..testing::phase("p") }
        };
        // The last has eight blocks of four hosts.
        let mut phases: Vec<PhaseResult> = [4, 4, 4, 4, 8].map(own).to_vec();
        tell(&mut phases);
        let found: Vec<usize> = phases.iter().map(|phase| phase.cells[1].together).collect();
        assert_eq!(found, [2, 2, 2, 2, 1]);
    }
}
