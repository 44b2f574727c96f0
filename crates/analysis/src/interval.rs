//! Intervals and tests for a ratio that several blocks repeat.
//!
//! A block is the unit: its servers share minutes, loads and starts, so slices of one block are not
//! independent of each other. The logarithms of the blocks' ratios are taken as normal around the
//! logarithm of the ratio (Student's t, paired by block).

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
    /// Standard error of the mean.
    error: f64,
    pub(crate) blocks: u32,
    distribution: StudentsT,
}

impl Sample {
    /// Of positive ratios, at least two.
    pub(crate) fn of(ratios: &[f64]) -> Option<Self> {
        if ratios.len() < FEWEST || !ratios.iter().all(|ratio| *ratio > 0.0 && ratio.is_finite()) {
            return None;
        }
        let count = ratios.len() as f64;
        let freedom = count - 1.0;
        let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / count;
        let squares: f64 = ratios.iter().map(|ratio| (ratio.ln() - mean).powi(2)).sum();
        let error = (squares / freedom / count).sqrt();
        let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let blocks = u32::try_from(ratios.len()).ok()?;
        Some(Self { mean, error, blocks, distribution })
    }

    /// What as many blocks, at least two, would give with the same mean and the same spread.
    pub(crate) fn with(self, blocks: u32) -> Option<Self> {
        let error = self.error * (f64::from(self.blocks) / f64::from(blocks)).sqrt();
        let distribution = StudentsT::new(0.0, 1.0, f64::from(blocks) - 1.0).ok()?;
        Some(Self { error, blocks, distribution, ..self })
    }

    /// The same with at least this standard deviation between blocks: a few blocks may agree by
    /// chance.
    pub(crate) fn with_least_deviation(self, deviation: f64) -> Self {
        let least = deviation / f64::from(self.blocks).sqrt();
        Self { error: self.error.max(least), ..self }
    }

    /// Distance from the true value that a mean exceeds on one side with this chance, as a
    /// logarithm.
    pub(crate) fn reach(&self, chance: f64) -> f64 {
        self.distribution.inverse_cdf(1.0 - chance) * self.error
    }

    /// The same for the reciprocals of the ratios.
    pub(crate) fn turned(self) -> Self {
        Self { mean: -self.mean, ..self }
    }

    /// Chance to see a mean as far beyond `limit` as this one, if the true one lies at `limit`:
    /// the p value of a one-sided test. `limit` and mean are logarithms.
    pub(crate) fn chance_above(&self, limit: f64) -> f64 {
        let beyond = self.mean - limit;
        if self.error == 0.0 {
            return if beyond > 0.0 { 0.0 } else { 1.0 };
        }
        self.distribution.sf(beyond / self.error)
    }

    /// The same on the other side.
    pub(crate) fn chance_below(&self, limit: f64) -> f64 {
        self.turned().chance_above(-limit)
    }
}

/// Ends of the interval of [`CONFIDENCE`] for the ratio behind the blocks' ratios; none for fewer
/// than two, or for ratios that have no logarithm.
pub(crate) fn interval(ratios: &[f64]) -> Option<(f64, f64)> {
    let sample = Sample::of(ratios)?;
    let reach = sample.reach((1.0 - CONFIDENCE) / 2.0);
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
        let (low, high) = interval(&ratios).unwrap_or_default();
        near(high, (4.302_653_f64 * 0.1 / 3.0_f64.sqrt()).exp());
        near(low * high, 1.0);
        // Two blocks: t(0.975) is 12.7062 for 1 degree; the error is half of what lies between.
        let (low, high) = interval(&[0.9, 1.1]).unwrap_or_default();
        near((high / low).ln(), 12.7062 * (1.1_f64 / 0.9).ln());
    }

    #[test]
    fn one_block_and_ratios_without_a_logarithm_have_no_interval() {
        assert_eq!(interval(&[1.1]), None);
        assert_eq!(interval(&[]), None);
        assert_eq!(interval(&[1.0, 0.0, 1.1]), None);
        assert_eq!(interval(&[1.0, f64::INFINITY]), None);
        assert_eq!(interval(&[1e-300, 1e300]), None);
    }

    #[test]
    fn blocks_that_agree_exactly_leave_no_doubt() {
        let (low, high) = interval(&[1.5, 1.5, 1.5]).unwrap_or_default();
        near(low, 1.5);
        near(high, 1.5);
        let sample = Sample::of(&[1.5, 1.5]).map(|sample| {
            [sample.chance_above(0.1), sample.chance_above(0.9), sample.chance_below(0.9)]
        });
        assert_eq!(sample, Some([0.0, 1.0, 0.0]));
    }
}
