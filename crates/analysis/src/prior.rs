//! A prior for the spread of blocks: what earlier runs of the same kind tell of it.
//!
//! Few blocks say little about their own spread. Where runs of a build against itself are known, a
//! spread is the mean of the one that was found and the one that they had, each weighted by its
//! degrees of freedom (G. K. Smyth 2004, "Linear models and empirical Bayes methods for assessing
//! differential expression in microarray experiments", *Statistical Applications in Genetics and
//! Molecular Biology* 3(1)). All deviations are those of logarithms of ratios.

use statrs::function::gamma::digamma;

/// Most degrees of freedom of a prior: however alike earlier runs were, today may be another day.
const MOST_FREEDOM: f64 = 20.0;

/// Fewest spreads that a prior is made of.
const FEWEST_SPREADS: usize = 3;

/// How blocks spread in earlier runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    /// Standard deviation, s0.
    pub deviation: f64,
    /// Its degrees of freedom, d0: the more, the more alike the runs were.
    pub freedom: f64,
}

/// The spread of some values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Sample variance.
    pub variance: f64,
    /// Degrees of freedom: one less than values.
    pub freedom: f64,
}

impl Spread {
    /// Of at least two values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Some(Self { variance: squares / freedom, freedom })
    }
}

impl Prior {
    /// The prior of which these spreads are likely draws, by moments of the logarithms of the
    /// variances: Smyth 2004, section 6.2; `fitFDist` of the R package limma. At most
    /// 20 degrees of freedom. None for fewer than three spreads, or if most of them are zero.
    pub fn fit(spreads: &[Spread]) -> Option<Self> {
        if spreads.len() < FEWEST_SPREADS {
            return None;
        }
        let mut sorted: Vec<f64> = spreads.iter().map(|spread| spread.variance).collect();
        sorted.sort_by(f64::total_cmp);
        // As limma does: no logarithm of zero, and no weight to values that agree by chance.
        let least = 1e-5 * sorted[sorted.len() / 2];
        if least <= 0.0 || !least.is_finite() {
            return None;
        }
        let count = spreads.len() as f64;
        let centered = |spread: &Spread| {
            let half = spread.freedom / 2.0;
            spread.variance.max(least).ln() - digamma(half) + half.ln()
        };
        let logs: Vec<f64> = spreads.iter().map(centered).collect();
        let mean = logs.iter().sum::<f64>() / count;
        let found = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let sampling = spreads.iter().map(|spread| trigamma(spread.freedom / 2.0)).sum::<f64>();
        let excess = found - sampling / count;
        let (variance, freedom) = match excess > 0.0 {
            true => {
                let half = inverse_trigamma(excess);
                ((mean + digamma(half) - half.ln()).exp(), (2.0 * half).min(MOST_FREEDOM))
            }
            // All variances are one.
            false => (mean.exp(), MOST_FREEDOM),
        };
        Some(Self { deviation: variance.sqrt(), freedom })
    }

    /// How many times as noisy as the prior says a comparison is: kappa, the mean over phases of
    /// s²/s0², each against the prior of its group; at least 1, because a quiet day proves
    /// nothing.
    pub fn inflation(phases: &[(Spread, Self)]) -> f64 {
        let times = |(spread, prior): &(Spread, Self)| spread.variance / prior.deviation.powi(2);
        let mean = phases.iter().map(times).sum::<f64>() / phases.len().max(1) as f64;
        mean.max(1.0)
    }

    /// The posterior spread: Smyth 2004, equation 1, with kappa s0² in place of s0².
    pub fn moderate(&self, spread: Spread, inflation: f64) -> Spread {
        let freedom = self.freedom + spread.freedom;
        let prior = self.freedom * inflation * self.deviation.powi(2);
        Spread { variance: (prior + spread.freedom * spread.variance) / freedom, freedom }
    }
}

/// The second derivative of the logarithm of the gamma function at a positive `x`: recurrence and
/// asymptotic series of Abramowitz and Stegun 1964, 6.4.6 and 6.4.12.
fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 15.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + square / x * series
}

/// The number whose [`trigamma`], which falls, is the positive `y`: by halving an interval.
fn inverse_trigamma(y: f64) -> f64 {
    let (mut low, mut high) = (-30.0_f64, 30.0_f64);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if trigamma(middle.exp()) > y { low = middle } else { high = middle }
    }
    f64::midpoint(low, high).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} is not {expected}");
    }

    /// `python3 -c "from scipy.special import polygamma as p; print(*(p(1, x) for x in (.5, 1, 2.5,
    /// 10, 100)))"` with SciPy 1.17.1.
    #[test]
    fn trigamma_and_its_inverse_are_those_of_scipy() {
        for (x, expected) in [
            (0.5, 4.934_802_200_544_68),
            (1.0, 1.644_934_066_848_226_6),
            (2.5, 0.490_357_756_100_234_9),
            (10.0, 0.105_166_335_681_685_76),
            (100.0, 0.010_050_166_663_333_573),
        ] {
            near(trigamma(x), expected);
            near(inverse_trigamma(expected), x);
        }
    }

    fn spreads(found: &[(f64, f64)]) -> Vec<Spread> {
        let spread = |(deviation, freedom): &(f64, f64)| Spread {
            variance: deviation * deviation,
            freedom: *freedom,
        };
        found.iter().map(spread).collect()
    }

    /// With SciPy 1.17.1:
    /// ```python
    /// import numpy as np; from scipy.special import digamma, polygamma
    /// from scipy.optimize import brentq
    /// s = np.array([.011, .007, .019, .004, .0125, .031]); df = np.array([4, 4, 4, 3, 4, 7.])
    /// e = np.log(s**2) - digamma(df/2) + np.log(df/2); m = e.mean()
    /// v = e.var(ddof=1) - polygamma(1, df/2).mean()
    /// d0 = 2*brentq(lambda y: polygamma(1, y) - v, 1e-6, 1e6)
    /// print(np.exp(m + digamma(d0/2) - np.log(d0/2))**.5, d0)
    /// ```
    #[test]
    fn the_prior_is_the_one_that_limma_fits() {
        let found =
            [(0.011, 4.0), (0.007, 4.0), (0.019, 4.0), (0.004, 3.0), (0.0125, 4.0), (0.031, 7.0)];
        let prior = Prior::fit(&spreads(&found)).unwrap();
        near(prior.deviation, 0.010_343_536_315_296_572);
        near(prior.freedom, 2.396_908_183_967_403);
    }

    #[test]
    fn equal_spreads_give_the_most_freedom_and_few_or_none_give_no_prior() {
        let prior = Prior::fit(&spreads(&[(0.02, 4.0); 10])).unwrap();
        assert_eq!(prior.freedom, MOST_FREEDOM);
        // exp(log(2) - digamma(2)) by the same SciPy is 1.310439851632207.
        near(prior.deviation, 0.02 * 1.310_439_851_632_207_f64.sqrt());
        assert_eq!(Prior::fit(&spreads(&[(0.02, 4.0); 2])), None);
        assert_eq!(Prior::fit(&spreads(&[(0.0, 4.0); 10])), None);
    }

    /// 20 degrees of 1 % and 3 of 2 %: (20 · 1 + 3 · 4) / 23, in units of 1e-4.
    #[test]
    fn a_spread_is_drawn_toward_the_prior_and_a_noisy_day_widens_all() {
        let prior = Prior { deviation: 0.01, freedom: 20.0 };
        let own = Spread { variance: 4e-4, freedom: 3.0 };
        let moderated = prior.moderate(own, 1.0);
        near(moderated.variance, 1e-4 * 32.0 / 23.0);
        assert_eq!(moderated.freedom, 23.0);
        let quiet = Spread { variance: 1e-5, ..own };
        assert_eq!(Prior::inflation(&[(quiet, prior)]), 1.0);
        let inflation =
            Prior::inflation(&[(own, prior), (Spread { variance: 8e-4, ..own }, prior)]);
        near(inflation, 6.0);
        near(prior.moderate(own, inflation).variance, 1e-4 * (20.0 * 6.0 + 12.0) / 23.0);
    }

    #[test]
    fn a_spread_is_that_of_the_sample() {
        let spread = Spread::of(&[0.1, 0.2, 0.6]).unwrap();
        near(spread.variance, 0.07);
        assert_eq!(spread.freedom, 2.0);
        assert_eq!(Spread::of(&[0.1]), None);
    }
}
