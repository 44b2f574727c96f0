//! Identifiers that sort by time: UTC to the millisecond, then four random digits.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    time::{Duration, SystemTime},
};

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
    let seconds = elapsed.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!(
        "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{:03}Z-{:04x}",
        elapsed.subsec_millis(),
        entropy & 0xffff,
    )
}

/// Year, month and day of a day number since 1970 in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut rest = days;
    let mut year = 1970;
    while rest >= 365 + u64::from(leap(year)) {
        rest -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if rest < length {
            break;
        }
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        let check = |days: u64, expected: (u64, u64, u64)| assert_eq!(civil(days), expected);
        check(0, (1970, 1, 1));
        check(59, (1970, 3, 1));
        check(11_016, (2000, 2, 29));
        check(11_017, (2000, 3, 1));
        check(20_453, (2025, 12, 31));
        check(20_454, (2026, 1, 1));
    }

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
