//! A log-linear histogram with the buckets of HdrHistogram at three significant digits.
//!
//! Recording costs about ten instructions: one leading-zero count, two shifts and one addition. The
//! buckets are those of the crate `hdrhistogram`, into which it is turned when the stretch is over.

use hdrhistogram::Histogram as Hdr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Largest recorded latency, nanoseconds: 73 minutes. Longer ones count as this.
pub const LATENCY_NS_MAX: u64 = (1 << 42) - 1;

/// Three significant digits need 2 * 10^3 linear steps, rounded up to a power of two: 2^11.
const STEP_BITS: u32 = 11;
const LENGTH: usize = index_of(LATENCY_NS_MAX) + 1;

/// Counts of latencies in nanoseconds, to which several threads may add.
#[derive(Debug)]
pub struct Histogram {
    counts: Box<[AtomicU64]>,
}

/// Bucket of a value: below 2^11 the value itself, then 2^10 steps for each power of two.
#[inline]
const fn index_of(value: u64) -> usize {
    let magnitude = (64 - STEP_BITS) - (value | ((1 << STEP_BITS) - 1)).leading_zeros();
    ((magnitude as usize) << (STEP_BITS - 1)) + (value >> magnitude) as usize
}

/// Least value of a bucket.
const fn value_of(index: usize) -> u64 {
    let half = 1 << (STEP_BITS - 1);
    if index < 2 * half {
        return index as u64;
    }
    let magnitude = index / half - 1;
    ((index - magnitude * half) as u64) << magnitude
}

impl Histogram {
    /// An empty histogram. All of its memory is used at once, 264 KiB, and none later.
    pub fn new() -> Self {
        Self { counts: (0..LENGTH).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Counts one latency, nanoseconds.
    #[inline]
    pub fn record(&self, latency_ns: u64) {
        let index = index_of(latency_ns.min(LATENCY_NS_MAX));
        if let Some(count) = self.counts.get(index) {
            count.fetch_add(1, Relaxed);
        }
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine.get_mut() += theirs.load(Relaxed);
        }
    }

    /// The same counts in the exchange format's own type.
    ///
    /// # Errors
    /// None in practice: the bounds are valid and every bucket is inside them.
    pub fn to_hdr(&self) -> Result<Hdr<u64>, hdrhistogram::CreationError> {
        let mut hdr = Hdr::new_with_bounds(1, LATENCY_NS_MAX, 3)?;
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        for (index, count) in counts.enumerate().filter(|(_, count)| *count > 0) {
            hdr.saturating_record_n(value_of(index), count);
        }
        Ok(hdr)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use values::Random;

    #[test]
    fn buckets_are_those_of_the_exchange_format() {
        let own = Histogram::new();
        let mut hdr = Hdr::<u64>::new_with_bounds(1, LATENCY_NS_MAX, 3).unwrap();
        let mut random = Random::new(1, 0);
        let edges = (0..42).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let spread = (0..100_000).map(|_| random.bits() >> (22 + random.below(40)));
        for value in edges.chain(spread).chain([LATENCY_NS_MAX]) {
            own.record(value);
            hdr.record(value).unwrap();
        }
        let converted = own.to_hdr().unwrap();
        assert_eq!(converted, hdr);
        assert_eq!(converted.max(), hdr.max());
        assert_eq!(converted.value_at_quantile(0.99), hdr.value_at_quantile(0.99));
    }

    #[test]
    fn nothing_is_lost_that_threads_record_at_the_same_time() {
        let own = Histogram::new();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..50_000).for_each(|value| own.record(value % 3)));
            }
        });
        assert_eq!(own.to_hdr().unwrap().len(), 200_000);
    }

    #[test]
    fn merging_equals_recording_into_one() {
        let mut random = Random::new(2, 0);
        let (one, mut left, right) = (Histogram::new(), Histogram::new(), Histogram::new());
        for _ in 0..10_000 {
            let value = random.below(1_000_000_000);
            one.record(value);
            if random.below(2) == 0 { left.record(value) } else { right.record(value) }
        }
        left.merge(&right);
        assert_eq!(left.to_hdr().unwrap(), one.to_hdr().unwrap());
    }

    #[test]
    fn every_bucket_holds_its_own_least_value() {
        for index in 0..LENGTH {
            assert_eq!(index_of(value_of(index)), index);
        }
    }

    #[test]
    fn a_latency_beyond_the_range_counts_as_the_largest() {
        let own = Histogram::new();
        own.record(u64::MAX);
        assert_eq!(own.to_hdr().unwrap().len(), 1);
    }
}
