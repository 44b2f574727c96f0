//! Intervals and tests for a ratio that several blocks repeat.
//!
//! A block is the unit: its servers share minutes, loads and starts, so slices of one block are not
//! independent of each other. The logarithms of the blocks' ratios are taken as normal around the
//! logarithm of the ratio (Student's t, paired by block).

use crate::{
    comparison::Cell,
    drift,
    looks::{Sides, nominal},
    noise::Known,
    prior::{Prior, Spread},
};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Share of intervals that hold the true ratio, if the blocks' logarithms are normal.
pub const CONFIDENCE: f64 = 0.95;

/// Fewest blocks that tell anything about repetition.
const FEWEST: usize = 2;

/// The logarithms of the ratios of several blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// Their mean: the logarithm of the ratio.
    pub(crate) mean: f64,
    /// Standard error of the mean, as blocks show it.
    error: f64,
    /// Variance of the mean that blocks do not show.
    unseen: f64,
    /// Blocks, or as many together as `together` says.
    units: f64,
    together: f64,
    /// Degrees of freedom of what was known before of the spread of blocks.
    prior_freedom: f64,
    distribution: StudentsT,
}

impl Sample {
    /// Of positive ratios, at least two, in the order of the blocks.
    pub(crate) fn of(ratios: &[f64]) -> Option<Self> {
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        Self::informed(ratios, drift::together(&[logarithms]), None)
    }

    /// The same with so many neighboring blocks taken `together`, and with what was known of their
    /// spread. Nothing was of blocks that are taken together: they are none of the independent ones
    /// that a bank holds.
    pub(crate) fn informed(ratios: &[f64], together: usize, known: Option<Known>) -> Option<Self> {
        if ratios.len() < FEWEST || !ratios.iter().all(|ratio| *ratio > 0.0 && ratio.is_finite()) {
            return None;
        }
        let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
        let known = known.filter(|_| together == 1);
        Self::of_units(&drift::joined(&logarithms, together), together as f64, known)
    }

    /// Of a cell, with all that is known of its spread.
    pub(crate) fn of_cell(cell: &Cell) -> Option<Self> {
        Self::informed(&cell.block_ratios, cell.together, cell.known)?.with_unseen(cell.between)
    }

    fn of_units(units: &[f64], together: f64, known: Option<Known>) -> Option<Self> {
        let own = Spread::of(units)?;
        let spread = known.map_or(own, |known| known.moderate(own));
        let count = units.len() as f64;
        Some(Self {
            mean: units.iter().sum::<f64>() / count,
            error: (spread.variance / count).sqrt(),
            unseen: 0.0,
            units: count,
            together,
            prior_freedom: spread.freedom - own.freedom,
            distribution: StudentsT::new(0.0, 1.0, spread.freedom).ok()?,
        })
    }

    /// What so many blocks, at least two, give where they spread as `prior` says.
    pub(crate) fn expected(prior: Prior, blocks: u32) -> Option<Self> {
        let units = f64::from(blocks);
        let freedom = prior.freedom + units - 1.0;
        Some(Self {
            mean: 0.0,
            error: prior.deviation / units.sqrt(),
            unseen: 0.0,
            units,
            together: 1.0,
            prior_freedom: prior.freedom,
            distribution: StudentsT::new(0.0, 1.0, freedom).ok()?,
        })
    }

    /// What as many blocks would give with the same mean and the same spread.
    pub(crate) fn with(self, blocks: u32) -> Option<Self> {
        let units = (f64::from(blocks) / self.together).floor().max(2.0);
        let error = self.error * (self.units / units).sqrt();
        let distribution = StudentsT::new(0.0, 1.0, units - 1.0 + self.prior_freedom).ok()?;
        Some(Self { error, units, distribution, ..self })
    }

    /// The same where the mean varies by what its blocks do not show, too. The degrees of freedom
    /// of both together are Satterthwaite's (1946).
    pub(crate) fn with_unseen(self, other: Option<Spread>) -> Option<Self> {
        let Some(other) = other else { return Some(self) };
        let seen = self.error * self.error;
        let variance = seen + other.variance;
        let weights = seen * seen / self.freedom() + other.variance.powi(2) / other.freedom;
        let freedom = if weights > 0.0 { variance * variance / weights } else { other.freedom };
        let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
        Some(Self { unseen: other.variance, distribution, ..self })
    }

    /// Standard error of the mean.
    fn whole_error(&self) -> f64 {
        self.error.hypot(self.unseen.sqrt())
    }

    /// Standard deviation between blocks, or between those that are taken together.
    pub(crate) fn deviation(&self) -> f64 {
        self.error * self.units.sqrt()
    }

    /// Blocks, or as many together as are independent.
    pub(crate) fn units(&self) -> f64 {
        self.units
    }

    /// Degrees of freedom.
    pub(crate) fn freedom(&self) -> f64 {
        self.distribution.freedom()
    }

    /// The same with at least this standard deviation between blocks: a few blocks may agree by
    /// chance.
    pub(crate) fn with_least_deviation(self, deviation: f64) -> Self {
        let least = deviation / self.units.sqrt();
        Self { error: self.error.max(least), ..self }
    }

    /// Distance from the true value that a mean exceeds on one side with this chance, as a
    /// logarithm.
    pub(crate) fn reach(&self, chance: f64) -> f64 {
        self.distribution.inverse_cdf(1.0 - chance) * self.whole_error()
    }

    /// The same for the reciprocals of the ratios.
    pub(crate) fn turned(self) -> Self {
        Self { mean: -self.mean, ..self }
    }

    /// Chance to see a mean as far beyond `limit` as this one, if the true one lies at `limit`:
    /// the p value of a one-sided test. `limit` and mean are logarithms.
    pub(crate) fn chance_above(&self, limit: f64) -> f64 {
        let beyond = self.mean - limit;
        let error = self.whole_error();
        if error == 0.0 {
            return if beyond > 0.0 { 0.0 } else { 1.0 };
        }
        self.distribution.sf(beyond / error)
    }

    /// The same on the other side.
    pub(crate) fn chance_below(&self, limit: f64) -> f64 {
        self.turned().chance_above(-limit)
    }
}

/// Ends of the interval of [`CONFIDENCE`] for the ratio behind the blocks' ratios; none for fewer
/// than two, or for ratios that have no logarithm. Where a run was judged at several `looks`, the
/// intervals of all of them hold the true ratio with this confidence.
pub(crate) fn interval(ratios: &[f64], looks: &[u32]) -> Option<(f64, f64)> {
    interval_of(Sample::of(ratios)?, ratios.len(), looks)
}

/// The same for a cell, with what is known of its spread and of neighboring blocks.
pub(crate) fn informed_interval(cell: &Cell, looks: &[u32]) -> Option<(f64, f64)> {
    interval_of(Sample::of_cell(cell)?, cell.block_ratios.len(), looks)
}

/// The same for a sample of so many blocks.
pub(crate) fn interval_of(sample: Sample, blocks: usize, looks: &[u32]) -> Option<(f64, f64)> {
    let blocks = u32::try_from(blocks).ok()?;
    let reach = sample.reach(nominal(looks, blocks, 1.0 - CONFIDENCE, Sides::Two) / 2.0);
    let (low, high) = ((sample.mean - reach).exp(), (sample.mean + reach).exp());
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-4, "{found} is not {expected}");
    }

    #[test]
    fn intervals_are_those_of_the_tables_of_t() {
        // Logarithms -0.1, 0.0, 0.1: error 0.1 / sqrt(3); t(0.975) is 4.302653 for 2 degrees.
        let ratios = [(-0.1_f64).exp(), 1.0, 0.1_f64.exp()];
        let (low, high) = interval(&ratios, &[]).unwrap_or_default();
        near(high, (4.302_653_f64 * 0.1 / 3.0_f64.sqrt()).exp());
        near(low * high, 1.0);
        // Two blocks: t(0.975) is 12.7062 for 1 degree; the error is half of what lies between.
        let (low, high) = interval(&[0.9, 1.1], &[]).unwrap_or_default();
        near((high / low).ln(), 12.7062 * (1.1_f64 / 0.9).ln());
    }

    #[test]
    fn one_block_and_ratios_without_a_logarithm_have_no_interval() {
        assert_eq!(interval(&[1.1], &[]), None);
        assert_eq!(interval(&[], &[]), None);
        assert_eq!(interval(&[1.0, 0.0, 1.1], &[]), None);
        assert_eq!(interval(&[1.0, f64::INFINITY], &[]), None);
        assert_eq!(interval(&[1e-300, 1e300], &[]), None);
    }

    #[test]
    fn blocks_that_agree_exactly_leave_no_doubt() {
        let (low, high) = interval(&[1.5, 1.5, 1.5], &[]).unwrap_or_default();
        near(low, 1.5);
        near(high, 1.5);
        let sample = Sample::of(&[1.5, 1.5]).map(|sample| {
            [sample.chance_above(0.1), sample.chance_above(0.9), sample.chance_below(0.9)]
        });
        assert_eq!(sample, Some([0.0, 1.0, 0.0]));
    }
}
