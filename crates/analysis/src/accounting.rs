//! Where the time of a run went.

use model::record::{SliceRecord, SliceState};

/// Seconds of a run by what they were for; they add up to the whole.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Accounting {
    /// From the first slice's start to the last slice's end.
    pub whole: f64,
    /// In slices that count.
    pub measured: f64,
    /// In slices that were discarded, such as warm-up.
    pub discarded: f64,
    /// In slices that failed.
    pub failed: f64,
    /// In drains, in which a server finishes pending background work.
    pub drained: f64,
    /// The rest, loading among it: slices do not tell what it was.
    pub other: f64,
}

/// Accounts for the time of the slices of one run.
pub fn account<'a>(slices: impl IntoIterator<Item = &'a SliceRecord>) -> Accounting {
    let mut found = Accounting::default();
    let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
    for slice in slices {
        let work = slice.work.as_ref();
        let seconds =
            work.map_or(0.0, |work| work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9);
        let drained = slice.drain_seconds.max(0.0);
        match slice.state {
            SliceState::Measured => found.measured += seconds,
            SliceState::Discarded => found.discarded += seconds,
            SliceState::Failed => found.failed += seconds,
        }
        found.drained += drained;
        let start = slice.wall_start_us as f64 / 1e6;
        first = first.min(start);
        last = last.max(start + seconds + drained);
    }
    let known = found.measured + found.discarded + found.failed + found.drained;
    found.whole = (last - first).max(known);
    found.other = found.whole - known;
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::drive::StretchReport;

    #[test]
    fn the_parts_are_the_whole() {
        let slice = |state, start: u64, seconds: u64, drain_seconds: f64| {
            let work = StretchReport { end_ns: seconds * 1_000_000_000, ..Default::default() };
            SliceRecord {
                state,
                wall_start_us: start * 1_000_000,
                work: Some(work),
                drain_seconds,
                ..crate::curve::tests::slice("a", 0.0, &[])
            }
        };
        let slices = [
            slice(SliceState::Discarded, 100, 3, 0.0),
            slice(SliceState::Measured, 105, 2, 1.5),
            slice(SliceState::Failed, 110, 1, 0.0),
        ];
        let found = account(&slices);
        let expected = Accounting {
            whole: 11.0,
            measured: 2.0,
            discarded: 3.0,
            failed: 1.0,
            drained: 1.5,
            other: 3.5,
        };
        assert_eq!(found, expected);
        assert_eq!(account(&[]), Accounting { whole: 0.0, other: 0.0, ..Accounting::default() });
    }
}
