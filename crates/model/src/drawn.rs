//! Counts of random draws, held against what is expected of them.

use serde::{Deserialize, Serialize};

/// How often something happened among the draws of coded transactions, or the sum of what was
/// drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Drawn {
    /// What is counted.
    pub name: String,
    /// How often, or the sum.
    pub count: u64,
    /// Among how many draws.
    pub draws: u64,
    /// What is expected; absent where it depends on the tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
}

/// Mean and standard deviation of one draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

impl Expected {
    /// Of what happens with a probability.
    pub fn share(probability: f64) -> Self {
        Self { mean: probability, deviation: (probability * (1.0 - probability)).sqrt() }
    }
}

/// Standard deviations by which a count may differ from what is expected.
pub const SIGMAS: f64 = 4.0;

/// What a count of rare events may differ more, because its distribution is skewed: the second term
/// of its Cornish-Fisher expansion at [`SIGMAS`] (Cornish and Fisher 1937).
const SKEWED: f64 = (SIGMAS * SIGMAS - 1.0) / 6.0;

impl Drawn {
    /// Adds the counts of other draws.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.draws += other.draws;
    }

    /// One sentence where the count differs from what is expected by more than chance explains.
    pub fn unlikely(&self) -> Option<String> {
        let Expected { mean, deviation } = self.expected?;
        let (count, draws) = (self.count as f64, self.draws as f64);
        let (expected, sigma) = (draws * mean, deviation * draws.sqrt());
        let allowed = if sigma > 0.0 { SIGMAS * sigma + SKEWED } else { 0.0 };
        ((count - expected).abs() > allowed).then(|| {
            format!(
                "{}: {count} in {draws} draws, where {expected:.1} are expected with a standard \
                 deviation of {sigma:.1}",
                self.name
            )
        })
    }

    /// Adds counts to those of the same names.
    pub fn merge(into: &mut Vec<Self>, others: &[Self]) {
        for other in others {
            match into.iter_mut().find(|known| known.name == other.name) {
                Some(known) => known.add(other),
                None => into.push(other.clone()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_unlikely_beyond_four_standard_deviations() {
        let check = |count, draws, mean, unlikely| {
            let expected = Some(Expected::share(mean));
            let drawn = Drawn { name: "remote".to_owned(), count, draws, expected };
            assert_eq!(drawn.unlikely().is_some(), unlikely, "{drawn:?}");
        };
        // 10,000 draws of one percent: 100, with a standard deviation of 9.95.
        check(142, 10_000, 0.01, false);
        check(143, 10_000, 0.01, true);
        check(57, 10_000, 0.01, true);
        check(0, 10_000, 0.0, false);
        check(1, 10_000, 0.0, true);
        check(3, 100, 0.01, false);
    }
}
