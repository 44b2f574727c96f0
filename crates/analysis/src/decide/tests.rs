//! Error rates are promises: they are counted over many comparisons whose truth is known.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::*;
use crate::{
    METRICS,
    claim::{blocks_to_decide, detectable, most_blocks, provable},
    prior::Prior,
    testing,
    verdict::{ERROR_RATE, FEWEST_BLOCKS, MOST_BLOCKS},
};
use model::margins::Quantity;
use values::SplitMix;

fn cell(metric_name: &str, block_ratios: Vec<f64>) -> Cell {
    Cell {
        by_block: Vec::new(),
        blocks: u32::try_from(block_ratios.len()).unwrap(),
        block_ratios,
        verdict: Verdict::Unassessed,
        ..testing::cell(metric_name, 1.0, 1.0)
    }
}

fn phase(cells: Vec<Cell>) -> PhaseResult {
    PhaseResult { cells, ..testing::phase("point-query") }
}

fn verdict(metric_name: &str, ratios: &[f64]) -> Verdict {
    let mut phases = [phase(vec![cell(metric_name, ratios.to_vec())])];
    decide(&mut phases, &[]);
    phases[0].cells[0].verdict
}

/// Noise with a mean of 0 and a standard deviation of 1: the sum of twelve draws, less six.
struct Noise(SplitMix);

impl Noise {
    fn draw(&mut self) -> f64 {
        let uniform = |_| (self.0.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        (0..12).map(uniform).sum::<f64>() - 6.0
    }

    /// Ratios of blocks around a true one; the deviation is one of logarithms.
    fn blocks(&mut self, truth: f64, deviation: f64, count: usize) -> Vec<f64> {
        (0..count).map(|_| (truth.ln() + deviation * self.draw()).exp()).collect()
    }
}

/// Share of comparisons of so many phases in which any phase has a verdict that `is_wrong`.
fn share(truth: f64, (phases, blocks): (usize, usize), is_wrong: fn(Verdict) -> bool) -> f64 {
    const COMPARISONS: usize = 1000;
    let mut noise = Noise(SplitMix(7));
    let mut wrong = 0;
    for _ in 0..COMPARISONS {
        let drawn = |_| phase(vec![cell("ops_per_second", noise.blocks(truth, 0.02, blocks))]);
        let mut phases: Vec<PhaseResult> = (0..phases).map(drawn).collect();
        decide(&mut phases, &[]);
        wrong += usize::from(phases.iter().any(|phase| is_wrong(phase.cells[0].verdict)));
    }
    wrong as f64 / COMPARISONS as f64
}

#[test]
fn phases_that_changed_by_no_more_than_the_floor_are_rarely_called_changed() {
    // Three standard deviations of a share of 5 % in 1,000 are 2 %. At the floor itself the chance
    // of an error is the greatest.
    let mut most = 0.0_f64;
    for (phases, blocks) in [(1, 4), (42, 4), (42, 8), (8, 2)] {
        for truth in [1.01, 1.0 / 1.01, 1.0] {
            let found = share(truth, (phases, blocks), Verdict::is_change);
            assert!(found <= ERROR_RATE + 0.02, "{phases} phases, {truth}: {found}");
            most = most.max(found);
        }
    }
    assert!(most > 0.01, "the test must be able to fail: {most}");
}

#[test]
fn phases_at_the_margin_are_rarely_called_changed_beyond_it() {
    let large = |verdict| matches!(verdict, Verdict::Regression | Verdict::Improvement);
    for truth in [1.05, 1.0 / 1.05] {
        for blocks in [4, 8] {
            let found = share(truth, (1, blocks), large);
            assert!(found <= ERROR_RATE / 2.0 + 0.015, "{truth}, {blocks} blocks: {found}");
        }
    }
}

#[test]
fn phases_at_the_margin_are_rarely_called_equivalent() {
    for truth in [1.0501, 1.0 / 1.0501] {
        for blocks in [2, 3, 6, 8] {
            let found = share(truth, (1, blocks), |verdict| {
                matches!(verdict, Verdict::Equivalent | Verdict::SmallChange)
            });
            assert!(found <= ERROR_RATE + 0.02, "{truth}, {blocks} blocks: {found}");
            assert!(found > 0.0 || blocks < 6, "the test must be able to fail");
        }
    }
}

#[test]
fn what_is_there_is_found() {
    // 10 % are five standard deviations of a block.
    assert!(share(0.9, (1, 8), |verdict| verdict == Verdict::Regression) > 0.99);
    assert!(share(1.1, (1, 8), |verdict| verdict == Verdict::Improvement) > 0.99);
    assert!(share(1.0, (1, 8), |verdict| verdict == Verdict::Equivalent) > 0.9);
    // The margin itself is found as a change, whatever its size is called.
    assert!(share(0.95, (1, 8), Verdict::is_change) > 0.9);
}

#[test]
fn the_words_follow_the_metrics_direction_and_margin() {
    let higher = [1.10, 1.101, 1.099, 1.10];
    assert_eq!(verdict("ops_per_second", &higher), Verdict::Improvement);
    assert_eq!(verdict("server_cpu_us_per_op", &higher), Verdict::Regression);
    let instructions = "foreground_user_instructions_per_op";
    assert_eq!(verdict(instructions, &higher), Verdict::CodeCost);
    let slightly = [1.01, 1.0101, 1.0099, 1.01];
    assert_eq!(verdict(instructions, &slightly), Verdict::CodeCost);
    assert_eq!(verdict("server_cpu_us_per_op", &slightly), Verdict::SmallChange);
    assert_eq!(verdict("ops_per_second", &slightly), Verdict::Equivalent);
    let about = [1.02, 1.09, 1.04, 1.08, 1.05];
    assert_eq!(verdict("ops_per_second", &about), Verdict::Better);
    assert_eq!(verdict("latency_us_p99", &about), Verdict::Worse);
    assert_eq!(verdict("ops_per_second", &[0.5, 0.5, 0.5]), Verdict::Inconclusive, "too few");
    assert_eq!(verdict("ops_per_second", &[0.8, 1.2, 0.9, 1.3]), Verdict::Inconclusive);
    assert_eq!(verdict("server_cpu_us_per_op", &[0.0, 1.0, 1.0]), Verdict::Unassessed);
}

#[test]
fn a_margin_of_ones_own_decides_how_much_a_change_matters() {
    let with = |margin: f64, ratios: &[f64]| {
        let own = Cell { margin: Some(margin), ..cell("ops_per_second", ratios.to_vec()) };
        let mut phases = [phase(vec![own])];
        decide(&mut phases, &[]);
        phases[0].cells[0].verdict
    };
    let slower = [0.90, 0.91, 0.90, 0.91, 0.90];
    assert_eq!(with(1.05, &slower), Verdict::Regression);
    assert_eq!(with(1.20, &slower), Verdict::SmallChange);
    assert_eq!(with(1.11, &slower), Verdict::Worse, "around the margin its size is open");
    let about = [0.99, 1.01, 1.0, 0.98, 1.02];
    assert_eq!(with(1.015, &about), Verdict::Inconclusive);
    assert_eq!(with(1.05, &about), Verdict::Equivalent);
}

#[test]
fn nothing_is_claimed_of_the_client_the_host_and_largest_values() {
    let claimed = METRICS.iter().filter(|metric| Quantity::of(metric).is_some());
    let claimed: Vec<&str> = claimed.map(|metric| metric.name).collect();
    for name in ["ops_per_second", "server_cpu_us_per_op", "latency_us_p99", "lead_cycles_per_op"] {
        assert!(claimed.contains(&name), "{name}");
    }
    let parts = ["_max", "rows_per_op", "_kib_", "stolen", "_mib", "errors"];
    for name in claimed {
        assert!(!name.starts_with("client_") && !name.starts_with("host_"), "{name}");
        assert!(!parts.iter().any(|part| name.contains(part)), "{name}");
    }
}

#[test]
fn one_clear_change_among_many_phases_stands_alone() {
    let mut noise = Noise(SplitMix(3));
    let mut phases: Vec<PhaseResult> = (0..42)
        .map(|index| {
            let truth = if index == 5 { 0.8 } else { 1.0 };
            phase(vec![cell("ops_per_second", noise.blocks(truth, 0.01, 6))])
        })
        .collect();
    decide(&mut phases, &[]);
    let changed: Vec<usize> =
        (0..42).filter(|index| phases[*index].cells[0].verdict.is_change()).collect();
    assert_eq!(changed, [5]);
}

#[test]
fn blocks_without_a_partner_leave_a_cell_undecided_as_it_was() {
    let mut odd = cell("ops_per_second", vec![0.5, 0.5]);
    odd.blocks = 3;
    let mut phases = [phase(vec![odd])];
    decide(&mut phases, &[]);
    assert_eq!(phases[0].cells[0].verdict, Verdict::Unassessed);
}

/// A cell that was judged as the clearest of three phases: nothing moved in the others.
fn judged(metric_name: &str, ratios: &[f64]) -> Cell {
    let still = || phase(vec![cell(metric_name, vec![1.0; ratios.len()])]);
    let mut phases = [phase(vec![cell(metric_name, ratios.to_vec())]), still(), still()];
    decide(&mut phases, &[]);
    phases[0].cells.remove(0)
}

/// The blocks that would decide ratios, as the clearest of three phases.
fn needed(metric_name: &str, ratios: &[f64]) -> Option<u32> {
    blocks_to_decide(&judged(metric_name, ratios))
}

/// As many blocks, with the mean and the spread of the logarithms given.
fn spread(blocks: u32, mean: f64, deviation: f64) -> Vec<f64> {
    let half = f64::from(blocks - 1) / f64::from(blocks);
    let step = deviation * half.sqrt();
    let even = |index| if index % 2 == 0 { step } else { -step };
    (0..blocks).map(|index| (mean + even(index)).exp()).collect()
}

#[test]
fn the_blocks_asked_for_decide_nine_times_in_ten() {
    let mut noise = Noise(SplitMix(11));
    // Slower by 12 %, with 3 % between blocks; and unchanged, with 3 %.
    for (mean, deviation) in [(-0.12, 0.03), (0.0, 0.03), (0.01, 0.015)] {
        let asked = needed("ops_per_second", &spread(2, mean, deviation)).unwrap();
        assert!((FEWEST_BLOCKS..=MOST_BLOCKS).contains(&asked), "{asked}");
        let decided = (0..1000).filter(|_| {
            let ratios = noise.blocks(f64::exp(mean), deviation, asked as usize);
            judged("ops_per_second", &ratios).verdict.is_decided()
        });
        let count = decided.count();
        assert!((850..=990).contains(&count) || asked == FEWEST_BLOCKS, "{asked}: {count}");
        assert!(count >= 850, "{asked} blocks: {count}");
    }
}

#[test]
fn a_detectable_change_is_found_nine_times_in_ten() {
    let mut noise = Noise(SplitMix(5));
    for (blocks, deviation) in [(4, 0.02), (8, 0.03), (16, 0.05)] {
        let known = judged("ops_per_second", &spread(blocks, 0.0, deviation));
        let open = Cell { verdict: Verdict::Inconclusive, ..known };
        let size = detectable(&open).unwrap();
        let found = (0..1000).filter(|_| {
            let ratios = noise.blocks(1.0 / size, deviation, blocks as usize);
            judged("ops_per_second", &ratios).verdict.is_change()
        });
        let found = found.count();
        // The sum of two quantiles of t is a little too little for four blocks.
        assert!((800..=960).contains(&found), "{blocks} blocks, {size}: {found}");
    }
    let decided = judged("ops_per_second", &spread(8, 0.0, 0.01));
    assert_eq!((decided.verdict, detectable(&decided)), (Verdict::Equivalent, None));
}

#[test]
fn a_prior_that_tests_do_not_use_proves_nothing() {
    let metric = crate::metric("ops_per_second").unwrap();
    let least = |freedom| provable(metric, Prior { deviation: 0.02, freedom }, 4, 8).unwrap();
    assert_eq!(least(2.0), least(0.0));
    assert!(least(2.1) < least(2.0));
}

#[test]
fn nobody_is_asked_for_blocks_that_would_not_do() {
    // At the margin itself no number of blocks decides.
    assert_eq!(needed("ops_per_second", &spread(4, -(1.05_f64.ln()), 0.1)), None);
    // What is decided needs none.
    assert_eq!(needed("ops_per_second", &spread(8, -0.3, 0.01)), None);
    assert_eq!(needed("ops_per_second", &[0.9]), None);
}

#[test]
fn a_block_that_is_left_out_is_none_to_come() {
    const LOOKS: [u32; 3] = [4, 8, 12];
    let needed = |measured: usize| {
        let by_block = vec![Some(1.0); measured];
        let open = Cell { by_block, ..cell("ops_per_second", spread(11, 0.0, 0.08)) };
        let mut phases = [phase(vec![open])];
        decide(&mut phases, &LOOKS);
        let cell = &phases[0].cells[0];
        (blocks_to_decide(cell), most_blocks(cell))
    };
    // One more block of the run would not do; where all are measured, those of a new one would.
    assert_eq!(needed(11), (None, 12));
    let (blocks, most) = needed(12);
    assert!(blocks.is_some_and(|blocks| blocks > 12));
    assert_eq!(most, MOST_BLOCKS);
}

/// Share of runs with looks, of so many phases, in which any phase that has left the schedule or is
/// still there at the end has a verdict that `is_wrong`, and the mean number of blocks until the
/// first phase left.
fn sequential(truth: f64, phases: usize, is_wrong: fn(Verdict) -> bool) -> Sequential {
    const LOOKS: [u32; 7] = [4, 6, 8, 12, 16, 24, 32];
    const RUNS: usize = 300;
    let mut noise = Noise(SplitMix(13));
    let mut found = Sequential::default();
    for _ in 0..RUNS {
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); phases];
        let mut verdicts = vec![Verdict::Inconclusive; phases];
        for look in LOOKS {
            for (ratios, verdict) in ratios.iter_mut().zip(&verdicts) {
                let more = look as usize - ratios.len();
                if !verdict.is_decided() {
                    ratios.extend(noise.blocks(truth, 0.02, more));
                }
            }
            let of = |ratios: &Vec<f64>| phase(vec![cell("ops_per_second", ratios.clone())]);
            let mut results: Vec<PhaseResult> = ratios.iter().map(of).collect();
            decide(&mut results, &LOOKS);
            verdicts = results.iter().map(|phase| phase.cells[0].verdict).collect();
        }
        found.wrong += f64::from(u8::from(verdicts.into_iter().any(is_wrong))) / RUNS as f64;
        found.blocks += ratios[0].len() as f64 / RUNS as f64;
    }
    found
}

#[derive(Default)]
struct Sequential {
    wrong: f64,
    blocks: f64,
}

#[test]
fn several_looks_keep_the_error_rate_and_end_early() {
    let null = sequential(1.01, 8, Verdict::is_change);
    // Three standard deviations of a share of 5 % in 300 are 3.8 %.
    assert!(null.wrong <= ERROR_RATE + 0.038, "{}", null.wrong);
    let margin = sequential(1.0501, 1, |verdict| {
        matches!(verdict, Verdict::Equivalent | Verdict::SmallChange)
    });
    assert!(margin.wrong <= ERROR_RATE + 0.038, "{}", margin.wrong);
    let changed = sequential(0.85, 8, |verdict| verdict != Verdict::Regression);
    assert!(changed.wrong < 0.05, "{}", changed.wrong);
    assert!(changed.blocks < 8.0, "{} blocks", changed.blocks);
}
