//! How fast the processor was in a slice, told by the load engine: its own work for an operation is
//! the same in every slice of a test, so that its CPU time per operation is a clock. On a virtual
//! machine the speed changes without a trace in any counter, when another guest uses the other
//! thread of a core.

use crate::{
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
};

/// What is said of a slice at another speed.
pub const OTHER_SPEED: &str = "the processor was slower or faster than usual";

/// In less CPU time of the load engine than this, single events count too much [ns].
const LEAST_NS: f64 = 5e6;
/// Slices from which the usual speed is known, at least: two do not show which of them is unusual,
/// and a run of four blocks of one round has no more than four.
const FEWEST: usize = 3;
/// A smaller change of speed is not worth a slice, as a logarithm: 5 %.
const LEAST_CHANGE: f64 = 0.049;
/// Standard deviations within which speeds are usual, where they vary more.
const DEVIATIONS: f64 = 4.0;
/// The median of absolute deviations of normal values, times this, is their standard deviation
/// (Hampel, "The influence curve and its role in robust estimation", 1974).
const OF_NORMAL: f64 = 1.4826;

/// CPU time of the load engine per operation [ns]. None if it is too short to tell, or if the
/// engine is part of the database, as with an embedded one: then it would tell the result.
pub fn client_cost(slice: &SliceRecord) -> Option<f64> {
    let operations = slice.work.as_ref()?.succeeded;
    let of = |scope: Scope| {
        let own = move |one: &&Reading| one.scope == scope && one.counter == "cpu_ns";
        slice.readings.iter().find(own)
    };
    of(Scope::Foreground)?;
    let used = of(Scope::Client)?.delta();
    let counts = slice.state == SliceState::Measured && operations > 0 && used >= LEAST_NS;
    counts.then(|| used / operations as f64)
}

/// The usual cost of an operation for the load engine, in one test of one variant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usual {
    /// Logarithm of the median.
    center: f64,
    /// How far from it a cost is usual.
    limit: f64,
}

impl Usual {
    /// What is usual among these costs; none if they are too few to tell.
    pub fn of(costs: &[f64]) -> Option<Self> {
        if costs.len() < FEWEST {
            return None;
        }
        let logs: Vec<f64> = costs.iter().map(|cost| cost.ln()).collect();
        let center = median(logs.clone());
        let spread = OF_NORMAL * median(logs.iter().map(|log| (log - center).abs()).collect());
        Some(Self { center, limit: LEAST_CHANGE.max(DEVIATIONS * spread) })
    }

    /// Whether a slice with this cost was executed at another speed.
    pub fn is_other(&self, cost: f64) -> bool {
        (cost.ln() - self.center).abs() > self.limit
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    (low + high) / 2.0
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
    fn what_is_usual_follows_the_spread() {
        assert_eq!(Usual::of(&[10.0, 10.1]), None);
        let few = Usual::of(&[10.0, 13.2, 10.1]).unwrap();
        assert!(few.is_other(13.2) && !few.is_other(10.0));
        let calm = Usual::of(&[10.0, 10.1, 9.9, 10.0, 10.2, 14.4]).unwrap();
        assert!(calm.is_other(14.4) && calm.is_other(9.1) && !calm.is_other(10.4));
        let varied = Usual::of(&[10.0, 12.0, 8.0, 9.0, 11.0, 14.4]).unwrap();
        assert!(!varied.is_other(14.4) && !varied.is_other(8.0));
    }
}
