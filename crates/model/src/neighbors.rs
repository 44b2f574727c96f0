//! What searches for the nearest rows found.

use serde::{Deserialize, Serialize};

/// How many of the nearest rows searches found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Neighbors {
    /// How many searches found none of them, one, two and so on up to all that they asked for.
    pub searches: Vec<u64>,
}

impl Neighbors {
    /// Adds what another connection found.
    pub fn merge(into: &mut Option<Self>, other: Option<&Self>) {
        let Some(other) = other else { return };
        let own = &mut into.get_or_insert_default().searches;
        own.resize(own.len().max(other.searches.len()), 0);
        own.iter_mut().zip(&other.searches).for_each(|(own, other)| *own += other);
    }

    /// The mean share of the nearest rows that a search found.
    pub fn recall(&self) -> Option<f64> {
        let searches: u64 = self.searches.iter().sum();
        let found: u64 = (0..).zip(&self.searches).map(|(found, count)| found * count).sum();
        let wanted = self.searches.len().checked_sub(1)? as u64 * searches;
        (wanted > 0).then(|| found as f64 / wanted as f64)
    }

    /// The share that at most so many of all searches fell below: the lower quantile of `part`.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let searches: u64 = self.searches.iter().sum();
        let most = self.searches.len().checked_sub(1).filter(|most| *most > 0)?;
        let rank = (part * searches as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let found = self.searches.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(found as f64 / most as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recall_is_a_mean_and_a_quantile_of_searches() {
        let check = |searches: &[u64], mean: Option<f64>, low: Option<f64>| {
            let found = Neighbors { searches: searches.to_vec() };
            assert_eq!((found.recall(), found.quantile(0.05)), (mean, low), "{searches:?}");
        };
        check(&[0, 0, 0], None, None);
        check(&[], None, None);
        check(&[0, 0, 10], Some(1.0), Some(1.0));
        check(&[1, 0, 1], Some(0.5), Some(0.0));
        // Of 100 searches, the fifth worst one.
        check(&[4, 6, 90], Some(0.93), Some(0.5));
        check(&[5, 5, 90], Some(0.925), Some(0.0));
    }

    #[test]
    fn what_connections_found_is_added() {
        let mut all = None;
        Neighbors::merge(&mut all, None);
        assert_eq!(all, None);
        for searches in [vec![1, 2], vec![0, 1, 3]] {
            Neighbors::merge(&mut all, Some(&Neighbors { searches }));
        }
        assert_eq!(all.unwrap().searches, [1, 3, 3]);
    }
}
