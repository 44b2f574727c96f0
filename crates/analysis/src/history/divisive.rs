//! Where a sequence of values divides into two parts of different distribution.
//!
//! E-divisive of Matteson and James 2014, "A nonparametric approach for multiple change point
//! analysis of multivariate data", equations 5 to 7 with alpha = 1: the scaled energy distance
//! between the parts, largest at the division, tested by permutations.

use values::SplitMix;

/// Fewest values of a part.
pub(super) const FEWEST: usize = 3;

/// A division of values into those before and those from `at` on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Division {
    /// Index of the first value of the second part.
    pub(super) at: usize,
    /// The scaled energy distance between the parts.
    pub(super) distance: f64,
}

/// The division with the largest distance; none for fewer values than two parts need.
pub(super) fn division(values: &[f64]) -> Option<Division> {
    let count = values.len();
    if count < 2 * FEWEST {
        return None;
    }
    let sum_to = |value: f64, others: &[f64]| -> f64 {
        others.iter().map(|other| (value - other).abs()).sum()
    };
    // Sums of distances between all pairs of the first part, of both parts, of the second one.
    let (mut first, mut across, mut second) = (0.0, 0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        second += sum_to(*value, &values[index + 1..]);
    }
    let mut best: Option<Division> = None;
    for at in 1..=count - FEWEST {
        let (before, from) = values.split_at(at);
        let moved = before[at - 1];
        let (near, far) = (sum_to(moved, &before[..at - 1]), sum_to(moved, from));
        first += near;
        second -= far;
        across += far - near;
        if at < FEWEST {
            continue;
        }
        let (n, m) = (at as f64, (count - at) as f64);
        let energy =
            2.0 * across / (n * m) - 2.0 * first / (n * (n - 1.0)) - 2.0 * second / (m * (m - 1.0));
        let distance = energy * n * m / (n + m);
        if best.is_none_or(|best| distance > best.distance) {
            best = Some(Division { at, distance });
        }
    }
    best
}

/// Share of a distance that the order of its sums may change.
const ROUNDING: f64 = 1e-9;

/// How often permutations are drawn, and when it is clear early that they say no.
#[derive(Debug, Clone, Copy)]
pub(super) struct Permutations {
    /// Permutations.
    pub(super) count: usize,
    /// The chance up to which a division counts.
    pub(super) level: f64,
}

/// The p value of a division: the share of permutations of the values that divide at least as
/// clearly, the values as they are among them. Where it exceeds the level, it may be less exact.
pub(super) fn chance(
    values: &[f64],
    found: Division,
    rule: Permutations,
    random: &mut SplitMix,
) -> f64 {
    let mut shuffled = values.to_vec();
    let all = (rule.count + 1) as f64;
    let mut as_clear = 1.0;
    // The same two parts in another order have the same distance, but for rounding.
    let least = found.distance - ROUNDING * found.distance.abs();
    for _ in 0..rule.count {
        shuffle(&mut shuffled, random);
        let other = division(&shuffled).map_or(0.0, |division| division.distance);
        if other >= least {
            as_clear += 1.0;
            if as_clear / all > rule.level {
                break;
            }
        }
    }
    as_clear / all
}

/// Puts values into another order (Fisher and Yates).
fn shuffle(values: &mut [f64], random: &mut SplitMix) {
    for last in (1..values.len()).rev() {
        // By multiplication (Lemire 2019).
        let place = (u128::from(random.bits()) * (last as u128 + 1)) >> 64;
        values.swap(last, place as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], at: usize, distance: f64) {
        let found = division(values).unwrap();
        assert_eq!(found.at, at, "{found:?}");
        assert!((found.distance / distance - 1.0).abs() < 1e-9, "{found:?}");
    }

    /// With apache-otava 0.8.0, whose `PairDistanceCalculator` has the same formula:
    /// ```python
    /// c = PairDistanceCalculator(np.array(s)); q = c._get_Q_vals(0, len(s))[:, -1]
    /// k = max(range(3, len(s) - 2), key=lambda t: q[t - 1]); print(k, q[k - 1])
    /// ```
    #[test]
    fn distances_are_those_of_otava() {
        check(&[1.0, 2.0, 1.5, 1.2, 3.1, 3.5, 2.9, 3.3, 3.0], 4, 5.822_222_222_222_222);
        let longer = [10.2, 9.7, 10.5, 9.9, 10.1, 10.4, 9.8, 10.0, 11.9, 12.2, 12.6, 11.8, 12.1];
        check(&[longer.as_slice(), &[12.4]].concat(), 8, 11.887_346_938_775_51);
        check(&[5.0, 5.1, 4.9, 5.2, 5.0, 4.8, 5.1, 6.3, 6.1, 6.2], 7, 4.36);
    }

    #[test]
    fn few_values_do_not_divide() {
        assert_eq!(division(&[]), None);
        assert_eq!(division(&[1.0, 1.0, 2.0, 2.0, 2.0]), None);
        assert_eq!(division(&[1.0; 6]).map(|found| found.distance), Some(0.0));
    }

    #[test]
    fn rounding_makes_no_permutation_less_clear() {
        let rule = Permutations { count: 999, level: 1.0 };
        let chance = |values: &[f64]| {
            chance(values, division(values).unwrap(), rule, &mut SplitMix(20_141_101))
        };
        // Sums of whole numbers are exact.
        let whole = [1.0, 3.0, 7.0, 102.0, 109.0, 91.0, 105.0, 107.0];
        let tenths = [0.1, 0.3, 0.7, 10.2, 10.9, 9.1, 10.5, 10.7];
        assert_eq!((chance(&whole), chance(&tenths)), (0.032, 0.032));
    }

    #[test]
    fn a_clear_division_is_rarer_than_any_permutation_and_none_is_common() {
        let mut random = SplitMix(1);
        let rule = Permutations { count: 199, level: 1.0 };
        let step: Vec<f64> =
            (0..20).map(|n| f64::from(n % 3) + if n < 10 { 0.0 } else { 9.0 }).collect();
        assert_eq!(chance(&step, division(&step).unwrap(), rule, &mut random), 1.0 / 200.0);
        let level: Vec<f64> = (0..20).map(|n| f64::from(n % 3)).collect();
        assert!(chance(&level, division(&level).unwrap(), rule, &mut random) > 0.2);
    }
}
