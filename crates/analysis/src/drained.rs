//! What a server finishes after several slices belongs to all of them.
//!
//! The rounds of a writing phase follow each other without a pause, and the server finishes its
//! pending background work after the last one. Each slice since the drain before has done the same
//! work and gets an equal share of that. A round that was disturbed is repeated right after it, and
//! has a number behind all planned ones: what follows what is not the order of the numbers.
//!
//! Where a run was stopped within a block, the drain is missing: a cost without it is no repetition
//! of those of the other blocks.

use crate::{Input, METRICS, parts::find};
use model::{
    metric::Per,
    reading::Reading,
    record::{SliceRecord, SliceState},
};
use std::collections::{BTreeMap, BTreeSet};

/// Why a slice is left out whose block lacks the drain that others have.
const UNDRAINED: &str = "the record of their block ends before the drain";

/// Slices of one run, block, phase and subject since its last drain, by their places.
type Waiting<'a> = BTreeMap<(&'a str, u32, &'a str, &'a str), Vec<usize>>;

/// Blocks with a drain, by run, phase and subject.
type Drained<'a> = BTreeMap<(&'a str, &'a str, &'a str), BTreeSet<u32>>;

/// For each slice its record with a share of the drain that followed, where it has to share it with
/// others; and with the reason why it is left out, where none followed in this block alone.
pub(crate) fn shared(slices: &[Input<'_>]) -> Vec<Option<SliceRecord>> {
    let mut found = vec![None; slices.len()];
    let mut waiting = Waiting::new();
    let mut drained = Drained::new();
    let mut in_time: Vec<(usize, &Input<'_>)> = slices.iter().enumerate().collect();
    in_time.sort_by_key(|(_, one)| (one.slice.repeats.unwrap_or(one.slice.round), one.slice.round));
    for (place, Input { run, slice, .. }) in in_time {
        if slice.state != SliceState::Measured {
            continue;
        }
        let key = (*run, slice.block, slice.phase.as_str(), slice.subject.as_str());
        waiting.entry(key).or_default().push(place);
        if slice.drained.is_empty() {
            continue;
        }
        let test = (*run, slice.phase.as_str(), slice.subject.as_str());
        drained.entry(test).or_default().insert(slice.block);
        let of_drain = waiting.remove(&key).unwrap_or_default();
        if of_drain.len() > 1 {
            for &one in &of_drain {
                found[one] = Some(with_share(slices[one].slice, slice, of_drain.len() as f64));
            }
        }
    }
    for ((run, block, phase, subject), places) in waiting {
        let blocks = drained.get(&(run, phase, subject));
        if blocks.is_some_and(|blocks| blocks.iter().any(|other| *other != block)) {
            for place in places {
                found[place] = Some(left_out(slices[place].slice));
            }
        }
    }
    found
}

/// The record of a slice that does not count, because no drain followed it.
fn left_out(slice: &SliceRecord) -> SliceRecord {
    let reason = Some(UNDRAINED.to_owned());
    SliceRecord { state: SliceState::Discarded, reason, ..slice.clone() }
}

/// The record of one of so many slices, the `last` of which the drain followed.
fn with_share(slice: &SliceRecord, last: &SliceRecord, slices: f64) -> SliceRecord {
    let share = |whole: &Reading| {
        if is_level(&whole.counter) {
            return std::ptr::eq(slice, last).then(|| whole.clone());
        }
        let [own, of_last] =
            [slice, last].map(|one| find(&one.readings, whole.scope, &whole.counter));
        let (own, rest) = (own?, whole.delta() - of_last?.delta());
        Some(Reading { end: own.end + rest / slices, ..own.clone() })
    };
    SliceRecord { drained: last.drained.iter().filter_map(share).collect(), ..slice.clone() }
}

/// Whether a counter is a level at a time, such as memory, which a drain adds to no earlier slice.
fn is_level(counter: &str) -> bool {
    let levels = METRICS.iter().filter(|metric| metric.per == Per::Whole);
    let mut known = levels.flat_map(|metric| &metric.sources).flat_map(|source| &source.counters);
    known.any(|known| *known == counter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::reading::Scope;

    fn reading(start: f64, end: f64) -> Reading {
        Reading { scope: Scope::Server, counter: "cpu_ns".to_owned(), start, end }
    }

    fn slice(round: u32, window: Reading, drained: &[Reading]) -> SliceRecord {
        SliceRecord {
            round,
            readings: vec![window],
            drained: drained.to_vec(),
            ..crate::curve::tests::slice("a", 1.0, &[])
        }
    }

    fn deltas(slices: &[SliceRecord]) -> Vec<Option<f64>> {
        let inputs = slices.iter().map(|slice| Input { experiment: "e", run: "r", slice });
        let found = shared(&inputs.collect::<Vec<_>>());
        found.iter().map(|one| one.as_ref().map(|one| one.drained[0].delta())).collect()
    }

    #[test]
    fn slices_share_the_drain_that_follows_them() {
        let pair = [
            slice(0, reading(100.0, 110.0), &[]),
            slice(1, reading(120.0, 140.0), &[reading(120.0, 200.0)]),
        ];
        // The drain alone took 60.
        assert_eq!(deltas(&pair), [Some(40.0), Some(50.0)]);
        let mut discarded = pair.clone();
        discarded[0].state = SliceState::Discarded;
        assert_eq!(deltas(&discarded), [None, None]);
    }

    #[test]
    fn a_level_after_the_drain_is_of_the_last_slice_alone() {
        let level = |end| Reading { counter: "rss_kib".to_owned(), ..reading(5.0, end) };
        let slices = [slice(0, level(10.0), &[]), slice(1, level(20.0), &[level(60.0)])];
        let inputs = slices.iter().map(|slice| Input { experiment: "e", run: "r", slice });
        let found = shared(&inputs.collect::<Vec<_>>());
        let ends = |one: &SliceRecord| one.drained.iter().map(|level| level.end).collect();
        let ends: Vec<Vec<f64>> = found.iter().flatten().map(ends).collect();
        assert_eq!(ends, [vec![], vec![60.0]]);
    }

    #[test]
    fn a_repeated_round_shares_the_drain_that_followed_it() {
        let repeated = slice(2, reading(112.0, 122.0), &[]);
        let slices = [
            slice(0, reading(100.0, 110.0), &[]),
            slice(1, reading(130.0, 150.0), &[reading(130.0, 210.0)]),
            SliceRecord { repeats: Some(0), ..repeated.clone() },
        ];
        assert_eq!(deltas(&slices), [Some(30.0), Some(40.0), Some(30.0)]);
        // The last round once more has a drain of its own.
        let drained = vec![reading(212.0, 252.0)];
        let last = SliceRecord { repeats: Some(1), drained, ..repeated };
        let slices = [slices[0].clone(), slices[1].clone(), last];
        assert_eq!(deltas(&slices), [Some(40.0), Some(50.0), None]);
    }

    #[test]
    fn a_slice_with_a_drain_of_its_own_keeps_it() {
        let own = [reading(0.0, 30.0)];
        let slices = [slice(0, reading(0.0, 10.0), &own), slice(1, reading(30.0, 40.0), &[])];
        assert_eq!(deltas(&slices), [None, None]);
    }

    #[test]
    fn slices_of_a_block_that_lacks_the_drain_of_the_others_do_not_count() {
        let check = |slices: &[SliceRecord], expected: &[Option<SliceState>]| {
            let inputs = slices.iter().map(|slice| Input { experiment: "e", run: "r", slice });
            let found = shared(&inputs.collect::<Vec<_>>());
            let states = found.iter().map(|one| one.as_ref().map(|one| one.state));
            assert_eq!(states.collect::<Vec<_>>(), expected);
        };
        let whole = slice(0, reading(0.0, 10.0), &[reading(0.0, 30.0)]);
        let cut = SliceRecord { block: 1, ..slice(0, reading(0.0, 10.0), &[]) };
        check(&[whole.clone(), cut.clone()], &[None, Some(SliceState::Discarded)]);
        // What is never drained is none of it.
        check(&[SliceRecord { block: 2, ..cut.clone() }, cut.clone()], &[None, None]);
        let other = SliceRecord { subject: "b".to_owned(), ..cut };
        check(&[whole, other], &[None, None]);
    }
}
