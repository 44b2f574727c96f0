//! What workers remember of a stretch: histograms per operation and counters per interval.
//!
//! Everything is allocated before the start barrier and merged after the end; only a stretch of
//! more than nine hours makes more room for its intervals.

mod detail;
mod histogram;
mod latencies;
mod series;
mod tally;

pub use detail::{Detail, OpSeries, OpTimeline};
pub use histogram::{Histogram, LATENCY_NS_MAX};
pub use latencies::{Latencies, OWN_MAX};
pub use series::{Series, Timeline};
pub use tally::Tally;

use model::drive::Percentiles;
use std::sync::Arc;

/// Histograms and intervals of one connection.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// Latencies, perhaps with those of other connections.
    pub latencies: Arc<Latencies>,
    /// More about each operation; empty where it would tell nothing that the totals do not.
    pub details: Vec<Detail>,
    /// Counters per interval, with those of all other connections.
    pub series: Series,
}

/// Whose intervals a recorder has, beside those of all operations together.
#[derive(Debug, Clone)]
pub enum Intervals {
    /// Nobody's.
    Common,
    /// Those of every operation, with those of all other connections of the role.
    ByOperation(Arc<[OpTimeline]>),
}

impl Recorder {
    /// A recorder that has recorded nothing of the operations of `latencies`.
    pub fn new(latencies: Arc<Latencies>, intervals: Intervals, series: Series) -> Self {
        let (ops, is_open) = (latencies.service.len(), !latencies.response.is_empty());
        let all: &[OpTimeline] = match &intervals {
            Intervals::ByOperation(all) => all,
            Intervals::Common => &[],
        };
        let detailed = is_open || !all.is_empty() || ops > 1;
        let of_operation = |op: usize| match all.get(op) {
            Some(own) => OpSeries::new(own.clone(), series.width()),
            None => OpSeries::none(),
        };
        let details = 0..if detailed { ops } else { 0 };
        let details = details.map(|op| Detail::new(of_operation(op))).collect();
        Self { latencies, details, series }
    }

    /// The first intervals begin at `start_ns`.
    pub fn start(&mut self, start_ns: u64) {
        self.series.start(start_ns);
        for detail in &mut self.details {
            detail.series.start(start_ns);
        }
    }

    /// Puts the unfinished intervals away.
    pub fn finish(&mut self) {
        self.series.finish();
        for detail in &mut self.details {
            detail.series.finish();
        }
    }

    /// Adds what another connection counted of each operation; latencies and intervals are shared.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.details.iter_mut().zip(&other.details) {
            mine.merge(theirs);
        }
    }
}

/// The percentiles of a histogram of nanoseconds, in microseconds; zeros if it is empty.
pub fn percentiles(histogram: &hdrhistogram::Histogram<u64>) -> Percentiles {
    let us = |ns: u64| ns as f64 / 1000.0;
    let at = |quantile| us(histogram.value_at_quantile(quantile));
    Percentiles {
        mean: histogram.mean() / 1000.0,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        p999: at(0.999),
        max: us(histogram.max()),
        min: us(histogram.min()),
    }
}
