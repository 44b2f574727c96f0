//! How fast the processor was in a slice, told by the load engine: its own work for an operation is
//! the same in every slice of a test, so that its CPU time per operation is a clock. On a virtual
//! machine the speed changes without a trace in any counter, when another guest uses the other
//! thread of a core.

use crate::{
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
};

/// What is said of a slice in which it was slow.
pub const SLOW: &str = "the processor was slower than in the fastest slices";

/// In less CPU time of the load engine than this, single events count too much [ns].
const LEAST_NS: f64 = 5e6;
/// Slices from which the usual speed is known, at least: two do not show which of them is unusual,
/// and a run of four blocks of one round has no more than four.
const FEWEST: usize = 3;
/// A slice this much slower than the fastest quarter is slow, as a logarithm: 3 %.
const SLOWER: f64 = 0.03;

/// CPU time of the load engine per operation [ns]. None if it is too short to tell, or if the
/// engine is part of the database, as with an embedded one: then it would tell the result.
pub fn client_cost(slice: &SliceRecord) -> Option<f64> {
    let operations = slice.work.as_ref()?.succeeded;
    cpu_ns(slice, Scope::Foreground)?;
    let used = cpu_ns(slice, Scope::Client)?;
    let counts = slice.state == SliceState::Measured && operations > 0 && used >= LEAST_NS;
    counts.then(|| used / operations as f64)
}

/// CPU time of a scope in a slice [ns], if it was read.
pub fn cpu_ns(slice: &SliceRecord, scope: Scope) -> Option<f64> {
    let own = |one: &&Reading| one.scope == scope && one.counter == "cpu_ns";
    slice.readings.iter().find(own).map(Reading::delta)
}

/// The costs of an operation for the load engine up to which the processor was fast, in one test of
/// one variant: logarithms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fast {
    /// Beyond the fastest quarter.
    quarter: f64,
    /// The same, but half of the slices are fast whatever they cost.
    half: f64,
}

impl Fast {
    /// What is fast among these costs; none if they are too few to tell.
    pub fn of(costs: &[f64]) -> Option<Self> {
        if costs.len() < FEWEST {
            return None;
        }
        let mut logs: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
        logs.sort_by(f64::total_cmp);
        let quarter = logs[(logs.len() - 1) / 4];
        let median = (logs[(logs.len() - 1) / 2] + logs[logs.len() / 2]) / 2.0;
        let quarter = quarter + SLOWER;
        Some(Self { quarter, half: median.max(quarter) })
    }

    /// Whether the processor was slow in a slice with this cost; it is in no more than a half of
    /// them. What else uses a core only slows it, so that speeds gather at the fastest one.
    pub fn is_exceeded(self, cost: f64) -> bool {
        self.slowness(cost) > 0.0
    }

    /// By how much the processor was slower than where it is slow from: a logarithm.
    pub fn slowness(self, cost: f64) -> f64 {
        cost.ln() - self.half
    }

    /// Whether a slice with this cost is slower than the fastest ones, in however many that is.
    pub fn is_missed(self, cost: f64) -> bool {
        cost.ln() > self.quarter
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::StretchReport;

    #[test]
    fn what_the_load_engine_needs_tells_the_speed_where_it_is_apart_from_the_server() {
        let reading = |scope, ns| {
            let counter = "cpu_ns".to_owned();
            Reading { scope, counter, start: 0.0, end: ns }
        };
        let mut slice = SliceRecord {
            work: Some(StretchReport { succeeded: 1000, ..StretchReport::default() }),
            readings: vec![reading(Scope::Client, 10e6), reading(Scope::Foreground, 20e6)],
            ..SliceRecord::default()
        };
        assert_eq!(client_cost(&slice), Some(10_000.0));
        slice.readings[0].end = 4e6;
        assert_eq!(client_cost(&slice), None, "too short");
        slice.readings = vec![reading(Scope::Client, 10e6)];
        assert_eq!(client_cost(&slice), None, "embedded");
    }

    #[test]
    fn the_slower_half_is_slow_and_nothing_where_all_are_alike() {
        let slow = |costs: &[f64]| {
            let fast = Fast::of(costs).unwrap();
            costs.iter().copied().filter(|cost| fast.is_exceeded(*cost)).collect::<Vec<_>>()
        };
        assert_eq!(Fast::of(&[10.0, 14.0]), None, "two do not show which of them is slow");
        assert_eq!(slow(&[10.0, 10.1, 10.2, 10.2, 10.1, 10.0]), [0.0; 0]);
        assert_eq!(slow(&[10.0, 10.1, 14.0, 10.2, 11.0]), [14.0, 11.0]);
        // However many are: the faster half stays.
        assert_eq!(slow(&[10.0, 12.0, 13.0, 14.0, 15.0]), [14.0, 15.0]);
        assert!(Fast::of(&[10.0, 12.0, 13.0, 14.0, 15.0]).unwrap().is_missed(13.0));
        assert_eq!(slow(&[7.0, 10.0, 10.1, 10.2, 10.1]), [0.0; 0], "one that is faster stays");
    }
}
