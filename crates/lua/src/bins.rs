//! Histograms as sysbench prints them.

use std::fmt::Write;

/// Width of the longest bar, characters.
const WIDTH: usize = 40;

/// Counts in bins whose middles grow by the same factor from the least value to the greatest.
pub(crate) struct Bins {
    counts: Vec<u64>,
    /// Logarithm of the first bin's middle, and bins to a unit of the logarithm.
    first: f64,
    density: f64,
}

impl Bins {
    /// None where the values make no sense: two bins or more and `0 < min < max` are expected.
    pub(crate) fn new(size: usize, min: f64, max: f64) -> Option<Self> {
        let makes_sense = (2..=1 << 20).contains(&size) && min > 0.0 && max > min;
        let density = (size.saturating_sub(1)) as f64 / (max.ln() - min.ln());
        let counts = if makes_sense { vec![0; size] } else { return None };
        density.is_finite().then_some(Self { counts, first: min.ln(), density })
    }

    /// Adds a value so many times; what is beyond the ends is in the bins there.
    pub(crate) fn add(&mut self, value: f64, times: u64) {
        let bin = ((value.ln() - self.first) * self.density + 0.5).floor();
        let last = self.counts.len() - 1;
        // A cast of what is below 0, or no number, is 0.
        self.counts[(bin as usize).min(last)] += times;
    }

    /// A line for each bin that has a count.
    pub(crate) fn text(&self) -> String {
        let mut text = "       value  ------------- distribution ------------- count\n".to_owned();
        let most = self.counts.iter().copied().max().unwrap_or_default().max(1);
        for (bin, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let value = (bin as f64 / self.density + self.first).exp();
            let width = (*count as f64 * WIDTH as f64 / most as f64 + 0.5).floor() as usize;
            let bar = "*".repeat(width);
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{value:12.3} |{bar:<WIDTH$} {count}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_the_nearest_bin_and_those_beyond_at_the_ends() {
        let mut bins = Bins::new(3, 1.0, 100.0).unwrap();
        for value in [0.0, -1.0, f64::NAN, 1.0, 3.0, 4.0, 10.0, 1e9] {
            bins.add(value, 1);
        }
        bins.add(100.0, 3);
        assert_eq!(bins.counts, [5, 2, 4]);
        let text = bins.text();
        assert!(text.contains("\n       1.000 |**********"), "{text}");
        assert!(text.ends_with(" 4\n"), "{text}");
    }

    #[test]
    fn bins_that_make_no_sense_are_none() {
        for (size, min, max) in [(1, 1.0, 2.0), (10, 0.0, 1.0), (10, 2.0, 2.0), (10, 1.0, f64::NAN)]
        {
            assert!(Bins::new(size, min, max).is_none(), "{size} {min} {max}");
        }
    }
}
