//! What the blocks of a probe say: the position beside both ends, in the same minutes.

use super::Outcome;
use crate::{claim::least_deviation, interval::Sample};
use model::{margins::Quantity, metric::Metric};

/// One-sided error rate of the decision between the ends, half of what the search assumes.
const LEVEL: f64 = 0.01;

/// How far from both ends a position lies that is like neither, as a share of their difference.
const APART: f64 = 0.25;

/// Values of one block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// The good end.
    pub good: f64,
    /// The bad end.
    pub bad: f64,
    /// The position.
    pub candidate: f64,
}

/// What blocks say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The answer.
    pub outcome: Outcome,
    /// Where the position lies between the good end (0) and the bad one (1).
    pub height: f64,
    /// The bad end relative to the good one.
    pub ratio: f64,
    /// Its interval, at 99 %: the ends differ where it excludes 1.
    pub interval: (f64, f64),
    /// Whether the ends differ at all.
    pub ends_differ: bool,
}

/// What the blocks of a probe say; none for fewer than two, or for values without a logarithm.
/// The statistic of the decision is the distance to the middle between the ends, block by block.
pub fn evidence(metric: &Metric, blocks: &[Probe]) -> Option<Evidence> {
    let least = Quantity::of(metric).map_or(0.0, least_deviation);
    let sample = |ratio: &dyn Fn(&Probe) -> f64| {
        let ratios: Vec<f64> = blocks.iter().map(ratio).collect();
        Some(Sample::of(&ratios)?.with_least_deviation(least))
    };
    let ends = sample(&|block| block.bad / block.good)?;
    let from_good = sample(&|block| block.candidate / block.good)?;
    let from_bad = sample(&|block| block.candidate / block.bad)?;
    let middle = sample(&|block| block.candidate / (block.good * block.bad).sqrt())?;
    let reach = ends.reach(LEVEL / 2.0);
    let sign = ends.mean.signum();
    let ends_differ = ends.mean.abs() > reach;
    let is_apart =
        |sample: &Sample| sample.mean.abs() - sample.reach(LEVEL) > APART * ends.mean.abs();
    let side = sign * middle.mean;
    let outcome = match ends_differ {
        false => Outcome::Undecided,
        true if is_apart(&from_good) && is_apart(&from_bad) => Outcome::Neither,
        true if side > middle.reach(LEVEL) => Outcome::LikeBad,
        true if -side > middle.reach(LEVEL) => Outcome::LikeGood,
        true => Outcome::Undecided,
    };
    Some(Evidence {
        outcome,
        height: if ends.mean == 0.0 { 0.5 } else { from_good.mean / ends.mean },
        ratio: ends.mean.exp(),
        interval: ((ends.mean - reach).exp(), (ends.mean + reach).exp()),
        ends_differ,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric;

    /// Blocks in which the bad end is `step` above the good one and the candidate at `height`.
    fn found(step: f64, height: f64, noise: f64) -> Evidence {
        let jitter = [0.9, -1.1, 0.3, -0.4, 1.2, -0.8];
        let value = |level: f64, block: usize, shift: usize| {
            (8.0 + level * step + noise * jitter[(block + shift) % jitter.len()]).exp()
        };
        let block = |n: usize| Probe {
            good: value(0.0, n, 0),
            bad: value(1.0, n, 2),
            candidate: value(height, n, 4),
        };
        let blocks: Vec<Probe> = (0..6).map(block).collect();
        evidence(metric("server_cpu_us_per_op").unwrap(), &blocks).unwrap()
    }

    #[test]
    fn a_position_is_like_one_end_like_neither_or_open() {
        let check = |step: f64, height: f64, noise: f64, expected: Outcome| {
            let found = found(step, height, noise);
            assert_eq!(found.outcome, expected, "{found:?}");
        };
        check(0.08, 0.0, 0.002, Outcome::LikeGood);
        check(0.08, 1.0, 0.002, Outcome::LikeBad);
        // The same where the bad end costs less.
        check(-0.08, 0.0, 0.002, Outcome::LikeGood);
        check(-0.08, 1.0, 0.002, Outcome::LikeBad);
        check(0.08, 0.5, 0.002, Outcome::Neither);
        check(0.08, 1.6, 0.002, Outcome::Neither);
        check(0.08, 0.5, 0.03, Outcome::Undecided);
        check(0.0, 0.0, 0.002, Outcome::Undecided);
        check(0.01, 1.0, 0.03, Outcome::Undecided);
    }

    #[test]
    fn the_step_has_its_size_and_odd_values_have_no_evidence() {
        let found = found(0.08, 1.0, 0.002);
        assert!((found.ratio / 0.08_f64.exp() - 1.0).abs() < 0.002, "{found:?}");
        assert!(found.interval.0 < found.ratio && found.ratio < found.interval.1);
        assert!(found.ends_differ && (found.height - 1.0).abs() < 0.05);
        let cpu = metric("server_cpu_us_per_op").unwrap();
        assert_eq!(evidence(cpu, &[]), None);
        let zero = Probe { good: 0.0, bad: 1.0, candidate: 1.0 };
        assert_eq!(evidence(cpu, &[zero, zero]), None);
    }
}
