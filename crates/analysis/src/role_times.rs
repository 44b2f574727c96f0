//! Response times of a role: percentiles, and how many fell into the published buckets.

use crate::curve::{merged, points_of};
use model::reading::LatencyCounts;
use std::collections::BTreeMap;

/// Upper ends of the published buckets of response times [ns]; what is above the last one has a
/// bucket of its own.
const BUCKETS_NS: [u64; 9] = [
    256_000,
    1_000_000,
    4_000_000,
    16_000_000,
    64_000_000,
    256_000_000,
    1_000_000_000,
    4_000_000_000,
    16_000_000_000,
];

/// The names of the published buckets.
pub const BUCKETS: [&str; 10] =
    ["256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt"];

/// Response times of one role of one phase of one subject. In a closed loop they are the service
/// times.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleTimes {
    /// Label of the subject.
    pub subject: String,
    /// Phase.
    pub phase: String,
    /// Name of the role.
    pub role: String,
    /// Operations.
    pub operations: u64,
    /// Median, 95th, 99th and 99.9th percentile [us].
    pub percentiles_us: [f64; 4],
    /// The largest [us].
    pub max_us: f64,
    /// Operations by bucket, as in [`BUCKETS`].
    pub buckets: [u64; 10],
    /// Nines against microseconds, as in [`crate::latency_points`].
    pub points: Vec<(f64, f64)>,
}

impl RoleTimes {
    /// The times that the histograms of a role's operations hold; all zero without any.
    pub fn of<'a>(counts: impl IntoIterator<Item = &'a LatencyCounts>) -> Self {
        let merged = merged(counts);
        let mut found = Self { points: points_of(&merged), ..Self::default() };
        found.operations = merged.values().fold(0, |sum: u64, count| sum.saturating_add(*count));
        for (value, count) in &merged {
            let bucket = BUCKETS_NS.iter().position(|end| value <= end);
            let bucket = bucket.unwrap_or(BUCKETS_NS.len());
            found.buckets[bucket] = found.buckets[bucket].saturating_add(*count);
        }
        found.percentiles_us =
            [0.5, 0.95, 0.99, 0.999].map(|share| at(&merged, share, found.operations));
        found.max_us = merged.keys().next_back().map_or(0.0, |ns| *ns as f64 / 1e3);
        found
    }
}

/// The least time [us] that at least a share of all operations does not exceed.
fn at(merged: &BTreeMap<u64, u64>, share: f64, all: u64) -> f64 {
    let needed = (all as f64 * share).ceil().max(1.0) as u64;
    let mut below = 0_u64;
    for (value, count) in merged {
        below = below.saturating_add(*count);
        if below >= needed {
            return *value as f64 / 1e3;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::LatencyTime;

    #[test]
    fn percentiles_and_buckets_of_several_operations_together() {
        let counts = |counts: &[(u64, u64)]| LatencyCounts {
            wall_start_ms: 0,
            operation: "a".into(),
            time: LatencyTime::Service,
            counts: counts.to_vec(),
        };
        let both = [
            counts(&[(100_000, 400), (256_000, 500)]),
            counts(&[(256_001, 60), (900_000, 30), (2_000_000, 9), (20_000_000_000, 1)]),
        ];
        let found = RoleTimes::of(&both);
        assert_eq!(found.operations, 1000);
        assert_eq!(found.buckets, [900, 90, 9, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!(found.percentiles_us, [256.0, 256.001, 900.0, 2000.0]);
        assert_eq!((found.max_us, found.points.last()), (2e7, Some(&(3.0, 2e7))));
        assert_eq!(RoleTimes::of(&[]), RoleTimes::default());
    }
}
