//! How much of an error rate each look at growing data may use.
//!
//! A run that is judged after 4, 6, 8, … blocks and ends when it is decided has several chances to
//! be wrong. Each look spends a part of the error rate, so that all of them together keep it: the
//! rate times the square of the share of blocks measured so far (the power family of Kim and
//! DeMets 1987, "Design and analysis of group sequential tests based on the type I error spending
//! rate function"; the bounds follow by the recursion of Armitage, McPherson and Rowe 1969). The
//! bounds are those of normal data with a known deviation; they are used as p values of t tests.

use statrs::distribution::{Continuous as _, ContinuousCDF as _, Normal};
use std::{
    collections::BTreeMap,
    sync::{LazyLock, Mutex, PoisonError},
};

/// Half width of the grid in standard deviations of the last look: what lies outside is nothing.
const WIDTH: f64 = 8.0;
/// Intervals of the grid, an even number.
const INTERVALS: usize = 256;
/// Halvings that find a bound.
const HALVINGS: usize = 50;

/// Whether large values on one side or on both are evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sides {
    One,
    Two,
}

/// A question about [`nominal`]: looks, blocks, bits of the error rate, sides.
type Question = (Vec<u32>, u32, u64, Sides);

/// What was found before: every cell of a family asks the same.
static KNOWN: LazyLock<Mutex<BTreeMap<Question, f64>>> = LazyLock::new(Mutex::default);

/// The p value that a test of so many `blocks` has to reach, so that it and the tests at all
/// earlier `looks` are together wrong with a chance of `error`. The last of the looks, in
/// ascending order, is the end of the design. Without looks there is one test, at `error`.
pub(crate) fn nominal(looks: &[u32], blocks: u32, error: f64, sides: Sides) -> f64 {
    let Some(end) = looks.last().map(|last| f64::from(*last.max(&blocks))) else { return error };
    let question = (looks.to_vec(), blocks, error.to_bits(), sides);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(question).or_insert_with(|| walked(looks, (blocks, end), error, sides))
}

/// The same, by walking from look to look up to `blocks` of the design's `end`.
fn walked(looks: &[u32], (blocks, end): (u32, f64), error: f64, sides: Sides) -> f64 {
    let earlier = looks.iter().copied().filter(|look| *look < blocks);
    let shares: Vec<f64> = earlier.chain([blocks]).map(|look| f64::from(look) / end).collect();
    let Ok(normal) = Normal::new(0.0, 1.0) else { return error };
    let mut walk = Walk { normal, sides, density: Vec::new(), share: 0.0, bound: 0.0 };
    for share in shares {
        let spent = error * (share * share - walk.share * walk.share);
        walk.look(share, spent);
    }
    let beyond = normal.sf(walk.bound / walk.share.sqrt());
    if sides == Sides::Two { 2.0 * beyond } else { beyond }
}

/// A random walk that is stopped where it crosses a bound. Its value after a share of the blocks
/// has the variance of this share.
struct Walk {
    normal: Normal,
    sides: Sides,
    /// Points, their density and their weight in Simpson's rule, of the walks that go on.
    density: Vec<Point>,
    share: f64,
    bound: f64,
}

#[derive(Clone, Copy)]
struct Point {
    value: f64,
    /// Density times weight.
    mass: f64,
}

impl Walk {
    /// Goes on to `share`, with the bound there that is crossed first with the chance `spent`.
    fn look(&mut self, share: f64, spent: f64) {
        let step = (share - self.share).sqrt();
        let (mut low, mut high) = (0.0, WIDTH * share.sqrt());
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match self.crossing(middle, step) > spent {
                true => low = middle,
                false => high = middle,
            }
        }
        self.bound = high;
        self.density = self.going_on(share, step);
        self.share = share;
    }

    /// Chance to be beyond `bound` after a step with this deviation.
    fn crossing(&self, bound: f64, step: f64) -> f64 {
        let beyond = |from: f64| {
            let above = self.normal.sf((bound - from) / step);
            match self.sides {
                Sides::One => above,
                Sides::Two => above + self.normal.sf((bound + from) / step),
            }
        };
        if self.density.is_empty() {
            return beyond(0.0);
        }
        self.density.iter().map(|point| point.mass * beyond(point.value)).sum()
    }

    /// The walks within the bound after a step with this deviation.
    fn going_on(&self, share: f64, step: f64) -> Vec<Point> {
        let low = match self.sides {
            Sides::One => -WIDTH * share.sqrt(),
            Sides::Two => -self.bound,
        };
        let width = (self.bound - low) / INTERVALS as f64;
        let arrived = |value: f64| {
            let from = |start: f64| self.normal.pdf((value - start) / step) / step;
            if self.density.is_empty() {
                return from(0.0);
            }
            self.density.iter().map(|point| point.mass * from(point.value)).sum()
        };
        let point = |index: usize| {
            let value = low + width * index as f64;
            let weight = match index {
                0 | INTERVALS => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            Point { value, mass: arrived(value) * weight * width / 3.0 }
        };
        (0..=INTERVALS).map(point).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOKS: [u32; 7] = [4, 6, 8, 12, 16, 24, 32];

    fn check(looks: &[u32], error: f64, sides: Sides, expected: &[f64]) {
        for (look, expected) in looks.iter().zip(expected) {
            let found = nominal(looks, *look, error, sides);
            assert!((found / expected - 1.0).abs() < 0.005, "{look}: {found} is not {expected}");
        }
    }

    /// Expected: a second program, with NumPy's trapezoids on 4,001 points and SciPy's `brentq`. It
    /// gives the bounds 3.09, 2.71, 2.47, 2.28, 2.11 that are published for five looks.
    #[test]
    fn each_look_spends_its_share() {
        let two = [2.44141e-5, 3.52829e-5, 5.43116e-5, 1.40002e-4, 2.24178e-4, 5.77033e-4];
        check(&LOOKS, 0.05 / 32.0, Sides::Two, &[two.as_slice(), &[9.40581e-4]].concat());
        let one = [7.8125e-4, 1.25594e-3, 2.0264e-3, 5.08958e-3, 8.64915e-3, 2.17798e-2];
        check(&LOOKS, 0.05, Sides::One, &[one.as_slice(), &[3.81821e-2]].concat());
        let normal = Normal::new(0.0, 1.0).unwrap();
        let bounds = [3.0902, 2.7141, 2.4728, 2.2799, 2.1140].map(|z| 2.0 * normal.sf(z));
        check(&[1, 2, 3, 4, 5], 0.05, Sides::Two, &bounds);
    }

    #[test]
    fn one_test_has_the_whole_error_rate_and_a_look_between_two_its_part() {
        assert_eq!(nominal(&[], 5, 0.05, Sides::Two), 0.05);
        check(&[8], 0.05, Sides::Two, &[0.05]);
        let (before, between) =
            (nominal(&LOOKS, 8, 0.05, Sides::Two), nominal(&LOOKS, 7, 0.05, Sides::Two));
        assert!(between < before, "a look between spends a part of the next one's");
        assert!(nominal(&LOOKS, 40, 0.05, Sides::Two) < 0.05, "beyond the end, too");
    }
}
