//! Zipfian integers; their ranks by rejection-inversion (Hörmann and Derflinger 1996, ACM TOMACS
//! 6(3), algorithm ZRI).

use super::{Bytes, Generate, Integers, Key, Keys, Sampler, Shape};
use crate::Random;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Zipfian integers in `[low, high]`, `low` the most frequent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Zipf {
    /// Least and most frequent value.
    pub low: i64,
    /// Greatest value, inclusive.
    pub high: i64,
    /// Exponent, above 0; sysbench uses 0.8.
    pub exponent: f64,
}

/// Exponent of the published workloads.
const EXPONENT: f64 = 0.8;

impl Generate for Zipf {
    const KEYS: &'static [Key] =
        &[Key::new("zipf", Shape::Interval), Key::new("exponent", Shape::Real)];

    fn read<K: Keys>(keys: &K) -> Result<Self, K::Fault> {
        let [low, high] = keys.interval("zipf", i64::MIN..=i64::MAX)?;
        let exponent = keys.real("exponent").unwrap_or(EXPONENT);
        if !(exponent > 0.0 && exponent.is_finite()) {
            let reason = format!("`exponent` is {exponent}; it must be above 0");
            return Err(keys.wrong("exponent", reason));
        }
        if high.checked_sub(low).and_then(|distance| distance.checked_add(1)).is_none() {
            let reason = "the interval of `zipf` is wider than 64 bits".to_owned();
            return Err(keys.wrong("zipf", reason));
        }
        Ok(Self { low, high, exponent })
    }

    fn bytes(&self) -> Bytes {
        Bytes::of_integers(self.low, self.high)
    }

    fn sampler(&self, _: u64) -> Sampler {
        let ranks = self.high.saturating_sub(self.low).saturating_add(1).max(1) as u64;
        Sampler::Integers(Arc::new(Shifted {
            low: self.low,
            ranks: Ranks::new(ranks, self.exponent),
        }))
    }
}

/// The least value, and ranks from 1.
#[derive(Debug)]
struct Shifted {
    low: i64,
    ranks: Ranks,
}

impl Integers for Shifted {
    fn draw(&self, random: &mut Random) -> i64 {
        self.low.wrapping_add((self.ranks.draw(random) - 1) as i64)
    }
}

/// Draws ranks `1..=n` with probability proportional to `rank ^ -exponent`.
///
/// A rank is found by inverting the integral of the density, which needs no table whatever `n` is;
/// fewer than one draw in ten is rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranks {
    ranks: f64,
    exponent: f64,
    /// Integral at 3/2, less the first rank's share.
    area_first: f64,
    /// Integral at `n + 1/2`.
    area_last: f64,
    /// Distance from the next integer up to which a draw is accepted without the exact comparison.
    shortcut: f64,
}

impl Ranks {
    /// A generator of ranks `1..=ranks`; `exponent` is finite and above 0.
    pub fn new(ranks: u64, exponent: f64) -> Self {
        let mut zipf =
            Self { ranks: ranks as f64, exponent, area_first: 0.0, area_last: 0.0, shortcut: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.ranks + 0.5);
        zipf.shortcut = 2.0 - zipf.position(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// The next rank. Kept out of its callers, whose registers its constants would fill.
    #[inline(never)]
    pub fn draw(&self, random: &mut Random) -> u64 {
        loop {
            let area = self.area_last + random.unit() * (self.area_first - self.area_last);
            let position = self.position(area);
            let rank = position.round().clamp(1.0, self.ranks);
            let accepted = rank - position <= self.shortcut
                || area >= self.area(rank + 0.5) - self.density(rank);
            if accepted {
                return rank as u64;
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Integral of the density from 1 to `x`; exact also where the exponent is 1.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        let ratio = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
        ratio * log
    }

    /// Where the integral is `area`: the inverse of [`Ranks::area`].
    fn position(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.exponent)).max(-1.0);
        let ratio = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
        (ratio * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws must follow the distribution that its definition gives by plain summation.
    fn check(ranks: u64, exponent: f64) {
        let zipf = Ranks::new(ranks, exponent);
        let mut random = Random::new(5, 0);
        let draws = 200_000;
        let mut counts = vec![0_u32; ranks as usize + 1];
        for _ in 0..draws {
            counts[zipf.draw(&mut random) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        let total: f64 = (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).sum();
        let mut chi = 0.0;
        for rank in 1..=ranks {
            let expected = f64::from(draws) * (rank as f64).powf(-exponent) / total;
            chi += (f64::from(counts[rank as usize]) - expected).powi(2) / expected;
        }
        // Mean plus four standard deviations of chi-square.
        let freedom = ranks as f64 - 1.0;
        let limit = freedom + 4.0 * (2.0 * freedom).sqrt();
        assert!(chi <= limit, "{ranks} ranks, exponent {exponent}: {chi} > {limit}");
    }

    #[test]
    fn ranks_follow_the_distribution() {
        check(2, 0.8);
        check(10, 0.8);
        check(100, 0.8);
        check(100, 1.0);
        check(100, 2.0);
        check(1000, 0.2);
    }

    #[test]
    fn the_ends_are_ranks() {
        let mut random = Random::new(5, 0);
        let one = Ranks::new(1, 0.8);
        assert!((0..1000).all(|_| one.draw(&mut random) == 1));
        let many = Ranks::new(4_000_000_000, 0.8);
        assert!((0..10_000).all(|_| (1..=4_000_000_000).contains(&many.draw(&mut random))));
    }
}
