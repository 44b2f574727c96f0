//! Latencies of the operations of a role.
//!
//! Each connection could have its own histograms, which no other writes to. A thousand connections
//! would then use hundreds of megabytes, and ever more, as pages of a histogram are used when a
//! latency first falls on them. So some share them; the first ones still have theirs alone.

use super::Histogram;

/// Connections with histograms of their own; each further one shares those of one of them. More
/// threads hardly ever add to the same histogram at the same moment on any number of processors.
pub const OWN_MAX: u32 = 16;

/// Histograms per operation.
#[derive(Debug)]
pub struct Latencies {
    /// From send to reply.
    pub service: Vec<Histogram>,
    /// From the intended start to the reply; empty in a closed loop.
    pub response: Vec<Histogram>,
}

impl Latencies {
    /// So many empty histograms of each kind.
    pub fn new(service: usize, response: usize) -> Self {
        let histograms = |n| (0..n).map(|_| Histogram::new()).collect();
        Self { service: histograms(service), response: histograms(response) }
    }

    /// Response times; those of a closed role beside an open one are its service times.
    pub fn responses(&self) -> &[Histogram] {
        if self.response.is_empty() { &self.service } else { &self.response }
    }

    /// Adds what others recorded of the same operations.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.service.iter_mut().zip(&other.service) {
            mine.merge(theirs);
        }
        for (mine, theirs) in self.response.iter_mut().zip(&other.response) {
            mine.merge(theirs);
        }
    }
}
