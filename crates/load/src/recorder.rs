//! What one worker remembers of a stretch: histograms per operation and counters per interval.
//!
//! Everything is allocated before the start barrier and merged after the end.

mod histogram;
mod series;

pub use histogram::{Histogram, LATENCY_NS_MAX};
pub use series::Series;

use model::drive::Percentiles;

/// Histograms and intervals of one connection.
#[derive(Debug, Clone)]
pub struct Recorder {
    /// From send to reply, per operation.
    pub service: Vec<Histogram>,
    /// From the intended start to the reply, per operation; empty in a closed loop.
    pub response: Vec<Histogram>,
    /// Counters per interval.
    pub series: Series,
}

impl Recorder {
    /// A recorder for `ops` operations; `series` starts at the barrier.
    pub fn new(ops: usize, open_loop: OpenLoop, series: Series) -> Self {
        let histograms = |n| (0..n).map(|_| Histogram::new()).collect();
        let responses = if open_loop == OpenLoop::Yes { ops } else { 0 };
        Self { service: histograms(ops), response: histograms(responses), series }
    }

    /// Adds what another connection recorded.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.service.iter_mut().zip(&other.service) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.response.iter_mut().zip(&other.response) {
            mine.merge(theirs);
        }
        self.series.merge(&other.series);
    }
}

/// Whether operations have intended start times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenLoop {
    /// They have.
    Yes,
    /// Closed loop.
    No,
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
