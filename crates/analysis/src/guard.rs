//! Rounds that something beside the servers disturbed. They are left out for all variants alike,
//! without a look at what they would say; a test that lost too many is not judged.

use crate::{Input, PhaseFacts};
use model::{
    mark,
    metric::{Kind, Metric},
    reading::{Reading, Scope},
    record::{SliceRecord, SliceState},
};
use std::collections::{BTreeMap, BTreeSet};

/// Largest share of its rounds that a test may lose.
const MOST_LOST: f64 = 0.25;

/// What disturbs a slice: a counter, and how much of it in a window.
struct Limit {
    scope: Scope,
    counter: &'static str,
    /// Share of the window.
    share: f64,
    /// The kernel counts in ticks of 10 ms: less than a few of them mean nothing [ns].
    least_ns: f64,
    /// Whether the servers cannot be the cause themselves.
    applies: fn(&SliceRecord) -> bool,
    what: &'static str,
}

/// A server waits for its only client alone, if they share a processor.
fn has_its_own_processor(slice: &SliceRecord) -> bool {
    slice.clients == 1 && !slice.marks.iter().any(|mark| mark == mark::PAIRED)
}

const LIMITS: [Limit; 3] = [
    Limit {
        scope: Scope::Host,
        counter: "steal_ns",
        share: 0.01,
        least_ns: 30e6,
        applies: |_| true,
        what: "the hypervisor gave CPU time to other guests",
    },
    Limit {
        scope: Scope::Host,
        counter: "others_cpu_ns",
        share: 0.05,
        least_ns: 40e6,
        applies: |_| true,
        what: "other processes used the CPUs",
    },
    Limit {
        scope: Scope::Foreground,
        counter: "runqueue_wait_ns",
        share: 0.1,
        least_ns: 0.0,
        applies: has_its_own_processor,
        what: "the server waited for a CPU",
    },
];

/// A round of a test: run, phase, block and round.
type Round<'a> = (&'a str, &'a str, u32, u32);

/// The rounds that are left out, and the tests that are not judged.
#[derive(Debug, Default)]
pub(crate) struct Guard<'a> {
    left_out: BTreeMap<Round<'a>, &'static str>,
    /// What disturbed more of a test's rounds than may be left out, by phase.
    pub(crate) disturbed: BTreeMap<&'a str, Disturbed>,
}

/// Why a test is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Disturbed {
    what: &'static str,
    rounds: usize,
    of: usize,
}

impl<'a> Guard<'a> {
    /// Looks at the measured slices of all variants; `facts` gives a phase's facts by run and name.
    pub(crate) fn of(slices: &[Input<'a>], facts: &dyn Fn(&str, &str) -> PhaseFacts) -> Self {
        let mut tests: BTreeMap<(&str, &str), BTreeSet<Round<'_>>> = BTreeMap::new();
        let mut disturbed = BTreeMap::new();
        for input in slices.iter().filter(|one| one.slice.state == SliceState::Measured) {
            let slice = input.slice;
            let round = (input.run, slice.phase.as_str(), slice.block, slice.round);
            tests.entry((input.run, &slice.phase)).or_default().insert(round);
            if let Some(what) = disturbance(slice) {
                disturbed.entry(round).or_insert(what);
            }
        }
        let mut guard = Self::default();
        for ((run, phase), rounds) in tests {
            let of_test = |round: &Round<'a>| disturbed.get(round).map(|what| (*round, *what));
            let lost: Vec<(Round<'a>, &'static str)> = rounds.iter().filter_map(of_test).collect();
            let Some((_, what)) = lost.first().copied() else { continue };
            // Pieces of one work are not repetitions: without one of them it is another work.
            let keeps_all = facts(run, phase).has_pieces;
            let (count, of) = (lost.len(), rounds.len());
            match keeps_all || count as f64 > MOST_LOST * of as f64 {
                true => drop(guard.disturbed.insert(phase, Disturbed { what, rounds: count, of })),
                false => guard.left_out.extend(lost),
            }
        }
        guard
    }

    /// Why a slice is left out, if it is.
    pub(crate) fn reason(&self, input: &Input<'_>) -> Option<&'static str> {
        let slice = input.slice;
        let round = (input.run, slice.phase.as_str(), slice.block, slice.round);
        let is_measured = slice.state == SliceState::Measured;
        self.left_out.get(&round).filter(|_| is_measured).copied()
    }
}

impl Disturbed {
    /// One sentence without the name of the test.
    pub(crate) fn sentence(self) -> String {
        let Self { what, rounds, of } = self;
        format!("rates and times are not judged: {what} in {rounds} of {of} rounds")
    }
}

/// Whether what disturbs a round moves a metric: counts of instructions stay what they are.
pub(crate) fn moves(metric: &Metric) -> bool {
    matches!(metric.kind, Kind::Rate | Kind::Time | Kind::CpuTime | Kind::Cycles)
}

fn disturbance(slice: &SliceRecord) -> Option<&'static str> {
    let work = slice.work.as_ref()?;
    let window = work.end_ns.saturating_sub(work.start_ns) as f64;
    let exceeds = |limit: &&Limit| {
        let own = |one: &&Reading| one.scope == limit.scope && one.counter == limit.counter;
        let used = slice.readings.iter().find(own).map_or(0.0, Reading::delta);
        (limit.applies)(slice) && used > limit.least_ns.max(limit.share * window)
    };
    LIMITS.iter().find(exceeds).map(|limit| limit.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tests::slice;

    /// A slice of a second in which `counter` of the host grew by so many seconds.
    fn with(block: u32, counter: &str, seconds: f64) -> SliceRecord {
        let mut slice = slice("new", 1.0, &[]);
        let (counter, end) = (counter.to_owned(), seconds * 1e9);
        slice.block = block;
        slice.readings = vec![Reading { scope: Scope::Host, counter, start: 0.0, end }];
        slice
    }

    /// Blocks left out, and whether the test is not judged.
    fn guarded(facts: &PhaseFacts, slices: &[SliceRecord]) -> (Vec<u32>, Option<String>) {
        let input = |slice| Input { experiment: "e", run: "r", slice };
        let inputs: Vec<Input<'_>> = slices.iter().map(input).collect();
        let guard = Guard::of(&inputs, &|_, _| facts.clone());
        let out = inputs.iter().filter(|input| guard.reason(input).is_some());
        let disturbed = guard.disturbed.values().next().map(|found| found.sentence());
        (out.map(|input| input.slice.block).collect(), disturbed)
    }

    #[test]
    fn a_disturbed_round_is_left_out_for_all_and_too_many_are_not_judged() {
        let calm = |block| with(block, "others_cpu_ns", 0.03);
        let busy = |block| with(block, "others_cpu_ns", 0.5);
        let facts = PhaseFacts::default();
        let (out, disturbed) = guarded(&facts, &[busy(0), calm(0), calm(1), calm(2), calm(3)]);
        assert_eq!((out, disturbed), (vec![0, 0], None), "both slices of the round");
        let (out, disturbed) = guarded(&facts, &[busy(0), calm(1), calm(2)]);
        assert!(out.is_empty());
        let expected = "rates and times are not judged: other processes used the CPUs in 1 of 3 \
                        rounds";
        assert_eq!(disturbed.as_deref(), Some(expected));
        let pieces = PhaseFacts { has_pieces: true, ..facts };
        let (out, disturbed) = guarded(&pieces, &[busy(0), calm(1), calm(2), calm(3), calm(4)]);
        assert!(out.is_empty() && disturbed.is_some());
    }

    #[test]
    fn a_tick_of_the_kernels_clock_and_the_only_clients_turn_disturb_nothing() {
        let facts = PhaseFacts::default();
        assert_eq!(guarded(&facts, &[with(0, "steal_ns", 0.02)]), (vec![], None));
        assert!(guarded(&facts, &[with(0, "steal_ns", 0.05)]).1.is_some());
        let mut waits = with(0, "runqueue_wait_ns", 0.2);
        waits.readings[0].scope = Scope::Foreground;
        waits.clients = 1;
        assert!(guarded(&facts, &[waits.clone()]).1.is_some());
        let paired = SliceRecord { marks: vec![mark::PAIRED.to_owned()], ..waits.clone() };
        assert_eq!(guarded(&facts, &[paired]), (vec![], None));
        waits.clients = 8;
        assert_eq!(guarded(&facts, &[waits]), (vec![], None));
    }
}
