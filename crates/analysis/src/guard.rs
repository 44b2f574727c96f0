//! Rounds that something beside the servers disturbed. They are left out for all variants alike,
//! without a look at what they would say; a test that lost too many is not judged.

use crate::{Input, PhaseFacts, observe::Round, slow::Slow};
use model::{
    disturbance::disturbance,
    metric::{Kind, Metric},
    number::counted,
    record::SliceState,
};
use std::collections::{BTreeMap, BTreeSet};

/// Share of the planned rounds that a test needs undisturbed, those that repeat disturbed ones
/// included.
const LEAST_KEPT: f64 = 0.75;

/// The rounds that are left out, the slices that are slow, and the tests that are not judged.
#[derive(Debug, Default)]
pub(crate) struct Guard<'a> {
    left_out: BTreeMap<Round<'a>, &'static str>,
    /// Slices of the other rounds.
    pub(crate) slow: Slow<'a>,
    /// What disturbed more of a test's rounds than may be left out, by phase.
    pub(crate) disturbed: BTreeMap<&'a str, Disturbed>,
}

/// Why a test is not judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disturbed {
    /// What disturbed it.
    pub what: &'static str,
    /// Rounds that it disturbed.
    pub rounds: usize,
    /// All measured rounds of the test.
    pub of: usize,
}

impl<'a> Guard<'a> {
    /// Looks at the measured slices of all variants; `facts` gives a phase's facts by run and name.
    pub(crate) fn of(slices: &[Input<'a>], facts: &dyn Fn(&str, &str) -> PhaseFacts) -> Self {
        // Each round with whether it was planned, and does not only repeat another one.
        // Those of all runs together: where several are pooled, they are one test.
        let mut tests: BTreeMap<&str, BTreeSet<(Round<'_>, bool)>> = BTreeMap::new();
        let mut disturbed = BTreeMap::new();
        for input in slices.iter().filter(|one| one.slice.state == SliceState::Measured) {
            let slice = input.slice;
            let round = input.round();
            let is_planned = slice.repeats.is_none();
            tests.entry(&slice.phase).or_default().insert((round, is_planned));
            if let Some(what) = disturbance(slice) {
                disturbed.entry(round).or_insert(what);
            }
        }
        let slow = Slow::of(slices, &disturbed, facts);
        let mut guard = Self { slow, ..Self::default() };
        for (phase, rounds) in tests {
            let own = |(round, _): &(Round<'a>, bool)| disturbed.get(round).copied();
            // Pieces of one work are not repetitions: without one of them it is another work, so
            // that a block is left out as a whole.
            let of_block = |(run, _, block, _): Round<'_>| {
                let mut pieces = rounds.iter().filter(|((other, _, of, _), _)| {
                    (*other, *of) == (run, block) && facts(run, phase).has_pieces
                });
                pieces.find_map(own)
            };
            let lost =
                |one: &(Round<'a>, bool)| Some((one.0, own(one).or_else(|| of_block(one.0))?));
            let lost: Vec<(Round<'a>, &'static str)> = rounds.iter().filter_map(lost).collect();
            let planned = rounds.iter().filter(|(_, is_planned)| *is_planned).count();
            let is_enough = (rounds.len() - lost.len()) as f64 >= LEAST_KEPT * planned as f64;
            if !lost.is_empty() && !is_enough {
                let (what, count) = (lost[0].1, rounds.iter().filter_map(own).count());
                guard.disturbed.insert(phase, Disturbed { what, rounds: count, of: rounds.len() });
                continue;
            }
            guard.left_out.extend(lost);
        }
        guard
    }

    /// Why the round of a slice is left out, if it is.
    pub(crate) fn reason(&self, input: &Input<'_>) -> Option<&'static str> {
        let is_measured = input.slice.state == SliceState::Measured;
        self.left_out.get(&input.round()).filter(|_| is_measured).copied()
    }
}

/// One sentence for all tests that the same disturbed, with the one that it disturbed most.
pub(crate) fn sentence<'a>(tests: impl Iterator<Item = &'a Disturbed>, what: &str) -> String {
    let share = |test: &Disturbed| test.rounds as f64 / test.of as f64;
    let same = tests.filter(|test| test.what == what);
    let most = same.max_by(|one, other| share(one).total_cmp(&share(other)));
    let of = |test: &Disturbed| counted(test.of, "round");
    let rounds = most.map(|test| format!(" in up to {} of {}", test.rounds, of(test)));
    let rounds = rounds.unwrap_or_default();
    format!("rates and times are not judged: {what}{rounds}; repeat the run on a quiet host")
}

/// Whether what disturbs a round moves a metric: counts of instructions stay what they are.
pub(crate) fn moves(metric: &Metric) -> bool {
    matches!(metric.kind, Kind::Rate | Kind::Time | Kind::CpuTime | Kind::Cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tests::slice;
    use model::{
        reading::{Reading, Scope},
        record::SliceRecord,
    };

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
        let disturbed = guard.disturbed.values().next();
        let disturbed = disturbed.map(|found| sentence(guard.disturbed.values(), found.what));
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
        let expected = "rates and times are not judged: other processes used the CPUs in up to \
                        1 of 3 rounds; repeat the run on a quiet host";
        assert_eq!(disturbed.as_deref(), Some(expected));
        let pieces = PhaseFacts { has_pieces: true, ..facts };
        let second = |slice| SliceRecord { round: 1, ..slice };
        let mut slices: Vec<SliceRecord> = (1..4).map(calm).chain((0..4).map(calm)).collect();
        slices[3..].iter_mut().for_each(|slice| slice.round = 1);
        slices.push(busy(0));
        assert_eq!(guarded(&pieces, &slices), (vec![0, 0], None), "its other piece, too");
        slices.push(second(busy(1)));
        assert_eq!(
            guarded(&pieces, &slices).1.as_deref(),
            Some(&*expected.replace("1 of 3", "2 of 8"))
        );
    }

    /// A slice of 100 operations, for each of which the load engine needed so many microseconds.
    fn at_speed(block: u32, round: u32, client_us: f64) -> SliceRecord {
        let mut slice = SliceRecord { round, ..with(block, "steal_ns", 0.0) };
        let work = slice.work.get_or_insert_default();
        work.succeeded = 100;
        let used = client_us * 1e3 * 100.0;
        for (scope, end) in [(Scope::Client, used), (Scope::Foreground, 1e9)] {
            let counter = "cpu_ns".to_owned();
            slice.readings.push(Reading { scope, counter, start: 0.0, end });
        }
        slice
    }

    #[test]
    fn rounds_that_are_repeated_undisturbed_replace_those_that_are_lost() {
        let busy = |block| with(block, "steal_ns", 0.5);
        let calm =
            |block, round, repeats| SliceRecord { round, repeats, ..with(block, "steal_ns", 0.0) };
        let planned = [busy(0), busy(1), calm(2, 0, None), calm(3, 0, None)];
        let facts = PhaseFacts::default();
        assert!(guarded(&facts, &planned).1.is_some(), "two of four");
        let mut repeated = planned.to_vec();
        repeated.push(calm(0, 1, Some(0)));
        assert_eq!(guarded(&facts, &repeated), (vec![0, 1], None), "three of four are left");
        repeated.push(SliceRecord { round: 1, repeats: Some(0), ..busy(1) });
        assert_eq!(guarded(&facts, &repeated).0, [0, 1, 1]);
    }

    #[test]
    fn rounds_of_pooled_runs_count_together() {
        let one = |run, block, seconds| (run, with(block, "steal_ns", seconds));
        let slices = [one("r", 0, 0.5), one("r", 1, 0.0), one("s", 0, 0.0), one("s", 1, 0.0)];
        let inputs = slices.iter().map(|(run, slice)| Input { experiment: "e", run, slice });
        let inputs: Vec<Input<'_>> = inputs.collect();
        let guard = Guard::of(&inputs, &|_, _| PhaseFacts::default());
        assert!(guard.disturbed.is_empty(), "three of four are left");
        let out = inputs.iter().filter(|input| guard.reason(input).is_some());
        let out: Vec<(&str, u32)> = out.map(|input| (input.run, input.slice.block)).collect();
        assert_eq!(out, [("r", 0)]);
    }

    #[test]
    fn what_disturbs_one_run_leaves_the_other_one_its_rounds() {
        let calm = |block| at_speed(block, 0, 500.0);
        let mut busy = calm(1);
        busy.readings[0].end = 0.5e9;
        let observed = |run: &str, slices: &[SliceRecord]| {
            let input = |slice| Input { experiment: "e", run, slice };
            crate::observe(slices.iter().map(input), &|_, _| PhaseFacts::default())
        };
        let repeats = SliceRecord { round: 1, repeats: Some(0), ..calm(1) };
        let base = [calm(0), busy, repeats, calm(2), calm(3)];
        let later = [calm(0), calm(1), calm(2), calm(3)];
        let both = observed("r", &base).beside(observed("s", &later), "r");
        let rates = both.measurements.iter().filter(|one| one.metric == "foreground_cpu_us_per_op");
        let rates: Vec<(&str, u32, u32)> =
            rates.map(|one| (&*one.run, one.block, one.round)).collect();
        let of_base = [("r", 0, 0), ("r", 1, 1), ("r", 2, 0), ("r", 3, 0)];
        // Their rounds have numbers of their own: those of two runs are no pairs.
        let of_later = [("r", 0, 2), ("r", 1, 2), ("r", 2, 2), ("r", 3, 2)];
        assert_eq!(rates, [of_base, of_later].concat());
    }
}
