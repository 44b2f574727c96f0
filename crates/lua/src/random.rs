//! Random numbers as scripts ask for them.

use crate::settings::{Distribution, Draws};
use values::{Random, generator::Ranks};

/// The random numbers of one thread.
pub(crate) struct Source {
    random: Random,
    draws: Draws,
    /// The last range of a zipfian draw.
    zipf: Option<(u64, Ranks)>,
}

impl Source {
    pub(crate) fn new(draws: Draws, thread: u32) -> Self {
        Self { random: Random::new(draws.seed, thread.into()), draws, zipf: None }
    }

    /// Begins anew.
    pub(crate) fn reseed(&mut self, seed: u64, thread: u32) {
        self.random = Random::new(seed, thread.into());
    }

    /// A number of `low..=high`; `low` where there is none.
    pub(crate) fn by(&mut self, distribution: Distribution, low: u32, high: u32) -> u32 {
        let span = u64::from(high.saturating_sub(low)) + 1;
        let offset = match distribution {
            Distribution::Uniform => self.random.below(span),
            Distribution::Gaussian => self.bell(span),
            Distribution::Special => self.special(span),
            Distribution::Pareto => {
                let h = self.draws.pareto_h;
                let power = h.ln() / (1.0 - h).ln();
                (span as f64 * self.random.unit().powf(power)) as u64
            }
            Distribution::Zipfian => self.zipfian(span),
        };
        low.saturating_add(offset.min(span - 1) as u32)
    }

    /// The mean of several uniform draws.
    fn bell(&mut self, span: u64) -> u64 {
        let count = self.draws.iterations.max(1);
        let sum: f64 = (0..count).map(|_| self.random.unit()).sum();
        (span as f64 * sum / f64::from(count)) as u64
    }

    /// A share of the draws falls evenly on a share of the values in the middle, the others on all
    /// values like a bell. As in sysbench one number says whether and where: no draw falls on the
    /// lower end of the middle, and the values that are drawn often are fewer than was asked for.
    fn special(&mut self, span: u64) -> u64 {
        let (values, draws) = self.draws.special;
        let (width, random) = ((span - 1) as f64, self.random.unit());
        if random < 1.0 - draws {
            return self.bell(span - 1);
        }
        let middle = width * values;
        (random * (middle + 1.0) + (width - middle) / 2.0) as u64
    }

    fn zipfian(&mut self, span: u64) -> u64 {
        if self.zipf.as_ref().is_none_or(|(known, _)| *known != span) {
            self.zipf = Some((span, Ranks::new(span, self.draws.zipfian_exponent)));
        }
        self.zipf.as_ref().map_or(0, |(_, zipf)| zipf.draw(&mut self.random) - 1)
    }

    /// A number of [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.random.unit()
    }

    /// A whole number of 53 bits: what a number of Lua holds exactly.
    pub(crate) fn wide(&mut self) -> f64 {
        (self.random.bits() >> 11) as f64
    }

    /// A text in which each `#` became a digit and each `@` a letter.
    pub(crate) fn fill(&mut self, template: &[u8]) -> Vec<u8> {
        let mut text = template.to_vec();
        for byte in &mut text {
            match byte {
                b'#' => *byte = b'0' + self.random.below(10) as u8,
                b'@' => *byte = b'a' + self.random.below(26) as u8,
                _ => {}
            }
        }
        text
    }

    /// A text of `low..=high` characters from `0` to `z`.
    pub(crate) fn varying(&mut self, low: u32, high: u32) -> Vec<u8> {
        let length = self.by(Distribution::Uniform, low, high);
        (0..length).map(|_| b'0' + self.random.below(u64::from(b'z' - b'0') + 1) as u8).collect()
    }
}

/// The numbers of 32 bits in an order without system, each once: `index` is a place in it.
pub(crate) fn unique(seed: u64, index: u32) -> u32 {
    let mut mixed = index ^ seed as u32;
    mixed = (mixed ^ mixed >> 16).wrapping_mul(0x7feb_352d);
    mixed = (mixed ^ mixed >> 15).wrapping_mul(0x846c_a68b);
    mixed ^ mixed >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn source(by: Distribution) -> Source {
        let draws = Draws {
            by,
            seed: 7,
            iterations: 12,
            special: (0.01, 0.75),
            pareto_h: 0.2,
            zipfian_exponent: 0.8,
        };
        Source::new(draws, 0)
    }

    #[test]
    fn every_distribution_keeps_to_its_range() {
        use Distribution::{Gaussian, Pareto, Special, Uniform, Zipfian};
        for by in [Uniform, Gaussian, Special, Pareto, Zipfian] {
            let mut source = source(by);
            for (low, high) in [(1, 10), (5, 5), (9, 3), (0, u32::MAX)] {
                for _ in 0..200 {
                    let drawn = source.by(by, low, high);
                    assert!((low..=high.max(low)).contains(&drawn), "{by:?}: {drawn}");
                }
            }
        }
    }

    #[test]
    fn distributions_have_the_shares_that_they_promise() {
        let share = |by, inside: std::ops::RangeInclusive<u32>| {
            let mut source = source(by);
            let hits = (0..20_000).filter(|_| inside.contains(&source.by(by, 1, 1000)));
            hits.count() as f64 / 20_000.0
        };
        // A bell of twelve draws has a deviation of 1/12 of the range.
        assert!((share(Distribution::Gaussian, 418..=583) - 0.68).abs() < 0.02);
        // 75 % in the upper three quarters of the middle, and the bell's share of 9 values.
        assert!((share(Distribution::Special, 498..=506) - 0.76).abs() < 0.02);
        assert!((share(Distribution::Special, 1..=497) - 0.12).abs() < 0.02);
        // 20 % of the values get 80 % of the draws.
        assert!((share(Distribution::Pareto, 1..=200) - 0.8).abs() < 0.02);
        assert!((share(Distribution::Uniform, 1..=200) - 0.2).abs() < 0.02);
        assert!(share(Distribution::Zipfian, 1..=200) > 0.5);
    }

    #[test]
    fn templates_are_filled_and_nothing_else_changes() {
        let text = source(Distribution::Uniform).fill(b"##-@@x");
        assert!(text[..2].iter().all(u8::is_ascii_digit));
        assert!(text[3..5].iter().all(u8::is_ascii_lowercase));
        assert_eq!((text[2], text[5]), (b'-', b'x'));
        let text = source(Distribution::Uniform).varying(3, 3);
        assert!(text.len() == 3 && text.iter().all(|byte| (b'0'..=b'z').contains(byte)));
    }

    #[test]
    fn no_unique_number_comes_twice() {
        let found: HashSet<u32> = (0..100_000).map(|index| unique(99, index)).collect();
        assert_eq!(found.len(), 100_000);
    }
}
