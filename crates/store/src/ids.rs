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

/// The same, but it sorts behind those of all `others`, wherever the clock has been set back since:
/// the run that began last is the latest.
pub(crate) fn fresh_after<'a>(others: impl Iterator<Item = &'a str>) -> String {
    let entropy = RandomState::new().build_hasher().finish();
    after(SystemTime::now(), others, entropy)
}

fn after<'a>(now: SystemTime, others: impl Iterator<Item = &'a str>, entropy: u64) -> String {
    let next = others.filter_map(time_of).max().map(|last| last + Duration::from_millis(1));
    identifier(next.map_or(now, |next| now.max(next)), entropy)
}

/// The time in an identifier; none in another name.
fn time_of(id: &str) -> Option<SystemTime> {
    let (date, rest) = id.split_once('T')?;
    let (time, rest) = rest.split_once('.')?;
    let (milliseconds, _) = rest.split_once("Z-")?;
    let civil = Civil::parse(&format!(
        "{}-{}-{} {}:{}:{}",
        date.get(0..4)?,
        date.get(4..6)?,
        date.get(6..)?,
        time.get(0..2)?,
        time.get(2..4)?,
        time.get(4..)?,
    ))?;
    let milliseconds = milliseconds.parse::<u64>().ok().filter(|number| *number < 1000)?;
    let since = Duration::from_secs(civil.seconds()) + Duration::from_millis(milliseconds);
    Some(SystemTime::UNIX_EPOCH + since)
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

    #[test]
    fn an_identifier_sorts_behind_others_though_the_clock_was_set_back() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_000_123);
        let check = |others: &[&str], expected: &str| {
            assert_eq!(after(now, others.iter().copied(), 0xabcd), expected, "{others:?}");
        };
        let own = "20010909T014640.123Z-abcd";
        check(&[], own);
        check(&["20010909T014640.122Z-ffff", "lost+found", "20019999T990000.000Z-0000"], own);
        let others = ["20311231T235959.999Z-ffff", "19991231T235959.999Z-ffff"];
        check(&others, "20320101T000000.000Z-abcd");
    }
}
