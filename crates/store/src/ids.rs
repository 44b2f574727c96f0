//! Identifiers that sort by time: UTC to the millisecond, then four random digits.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, SystemTime},
};
use values::civil::Civil;

/// A new identifier for a run or a trial that begins now.
pub(crate) fn fresh() -> String {
    // A fresh `RandomState` differs between processes and between calls, which is all that is
    // needed: two writers that begin in the same millisecond must not agree on a name.
    let entropy = RandomState::new().build_hasher().finish();
    identifier(SystemTime::now(), entropy)
}

/// Microseconds since 1970.
pub(crate) fn wall_us() -> u64 {
    u64::try_from(since_epoch(SystemTime::now()).as_micros()).unwrap_or(u64::MAX)
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn identifier(time: SystemTime, entropy: u64) -> String {
    let elapsed = since_epoch(time);
    let Civil { year, month, day, hour, minute, second } = Civil::of(elapsed.as_secs());
    format!(
        "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{:03}Z-{:04x}",
        elapsed.subsec_millis(),
        entropy & 0xffff,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_sort_by_time() {
        let at = |ms: u64, entropy| {
            identifier(SystemTime::UNIX_EPOCH + Duration::from_millis(ms), entropy)
        };
        assert_eq!(at(1_000_000_000_123, 0xab_cdef), "20010909T014640.123Z-cdef");
        assert!(at(999, 0xffff) < at(1000, 0));
        assert!(at(86_399_999, 0xffff) < at(86_400_000, 0));
    }
}
