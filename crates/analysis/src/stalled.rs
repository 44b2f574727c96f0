//! Slices that something stalled: the server, the driver or the host. Their numbers are of the
//! stall, so they are left out, with the reason.

use crate::{Input, PhaseFacts, curve::INTERVAL};
use model::{drive::StretchReport, mark, record::SliceState};
use std::collections::BTreeMap;

/// How many times as long as the other slices of a test on a variant a slice has to take.
const TIMES_OTHERS: f64 = 3.0;
/// How many times as long as planned a slice has to take.
const TIMES_PLANNED: f64 = 5.0;
/// The least length of a stall [s]: on a busy host short slices vary by more than a second.
const STALL_SECONDS: f64 = 3.0;
/// The least share of a slice in which nothing was answered.
const STALL_SHARE: f64 = 1.0 / 3.0;
/// How many times as long as the median operation nothing was answered, at least: slow operations
/// leave gaps too.
const TIMES_MEDIAN: f64 = 1000.0;
/// How many operations the rest of the slice answered per second, at least: rare ones leave gaps
/// too.
const RATE: f64 = 10.0;

/// A test has shorter slices than planned below this share of their length.
const SHORT_SHARE: f64 = 1.0 / 3.0;
/// Why they are.
pub(crate) const SHORT: &str = "slices took less than a third of their planned length, because \
                                the servers were slower when the run chose the work of a slice: \
                                intervals are wider than they need be, and another run chooses \
                                anew";

/// Lengths of slices [s] by run and phase, then by subject, in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Stalled<'a> {
    lengths: BTreeMap<(&'a str, &'a str), BTreeMap<&'a str, Vec<f64>>>,
}

impl<'a> Stalled<'a> {
    /// The lengths of all measured slices.
    pub(crate) fn of(slices: &[Input<'a>]) -> Self {
        let mut found = Self::default();
        for input in slices {
            let Some(length) = length(input) else { continue };
            let test = found.lengths.entry((input.run, &input.slice.phase)).or_default();
            test.entry(&input.slice.subject).or_default().push(length);
        }
        let all = found.lengths.values_mut().flat_map(BTreeMap::values_mut);
        all.for_each(|lengths| lengths.sort_by(f64::total_cmp));
        found
    }

    /// Why a slice is left out, if it is.
    ///
    /// A variant that takes five times the planned length in all its slices is slow, and not
    /// stalled, as long as another one keeps that length: the plan is made on the base.
    pub(crate) fn reason(&self, input: &Input<'_>, facts: &PhaseFacts) -> Option<&'static str> {
        let length = length(input)?;
        if input.slice.marks.iter().any(|found| found == mark::STOPPED) {
            return Some(mark::STOPPED);
        }
        // Pieces are parts of one work and differ by what it does to the tables: stalls count.
        if facts.has_pieces {
            return None;
        }
        if input.slice.work.as_ref().is_some_and(|work| has_stood_still(work, length)) {
            return Some("no operation was answered during a third of their time or more");
        }
        let test = self.lengths.get(&(input.run, input.slice.phase.as_str()))?;
        let own = test.get(input.slice.subject.as_str())?;
        let exceeds =
            |usual: f64, times| length >= times * usual && length - usual >= STALL_SECONDS;
        if exceeds(usual(own), TIMES_OTHERS) {
            return Some("they took 3 times as long as other slices of the same test, or longer");
        }
        let planned = facts.slice_seconds;
        let is_slow = |lengths: &Vec<f64>| usual(lengths) >= TIMES_PLANNED * planned;
        let steady = own.len() > 1 && !test.values().all(is_slow);
        if planned > 0.0 && exceeds(planned, TIMES_PLANNED) && !steady {
            return Some("they took 5 times their planned length, or longer");
        }
        None
    }

    /// Whether the slices of a test are much shorter than planned: those of all variants, as one
    /// may be that much faster than the base, on which the plan is made.
    pub(crate) fn is_short(&self, input: &Input<'_>, facts: &PhaseFacts) -> bool {
        let test = self.lengths.get(&(input.run, input.slice.phase.as_str()));
        let median = |lengths: &Vec<f64>| lengths.get(lengths.len() / 2).copied();
        let limit = SHORT_SHARE * facts.slice_seconds;
        !facts.has_pieces
            && test.is_some_and(|test| test.values().filter_map(median).all(|one| one < limit))
    }
}

/// The usual one of some lengths: up to two thirds of them may be stalled.
fn usual(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len().saturating_sub(1) / 3).copied().unwrap_or(0.0)
}

/// Whether nothing was answered during a large part of the work, which took `length` [s], though
/// its operations are short and frequent.
fn has_stood_still(work: &StretchReport, length: f64) -> bool {
    let runs = work.series.split(|interval| interval.operations > 0);
    let longest = runs.map(<[_]>::len).max().unwrap_or(0) as f64 * INTERVAL;
    let answered = work.series.iter().map(|interval| interval.operations).sum::<u64>() as f64;
    longest >= STALL_SECONDS.max(STALL_SHARE * length)
        && longest * 1e6 >= TIMES_MEDIAN * work.service_us.p50
        && answered >= RATE * (length - longest)
}

/// Length of a slice that counts [s].
fn length(input: &Input<'_>) -> Option<f64> {
    let work = input.slice.work.as_ref()?;
    let seconds = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    (input.slice.state == SliceState::Measured && seconds > 0.0).then_some(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::tests::slice;
    use model::record::SliceRecord;

    /// Slices of these lengths [s] by subject.
    fn slices(lengths: &[(&str, &[f64])]) -> Vec<SliceRecord> {
        let of = |(subject, lengths): &(&str, &[f64])| {
            let slices = lengths.iter().map(|seconds| slice(subject, *seconds, &[1]));
            slices.collect::<Vec<_>>()
        };
        lengths.iter().flat_map(of).collect()
    }

    /// Lengths of the slices that are left out where `facts` hold.
    fn left_out(facts: &PhaseFacts, lengths: &[(&str, &[f64])]) -> Vec<f64> {
        let slices = slices(lengths);
        let input = |slice| Input { experiment: "e", run: "r", slice };
        let inputs: Vec<Input<'_>> = slices.iter().map(input).collect();
        let stalled = Stalled::of(&inputs);
        let out = inputs.iter().filter(|input| stalled.reason(input, facts).is_some());
        out.filter_map(length).collect()
    }

    #[test]
    fn slices_that_take_much_longer_than_others_or_than_planned_are_left_out() {
        let facts = PhaseFacts { slice_seconds: 1.0, ..PhaseFacts::default() };
        let check = |lengths: &[(&str, &[f64])], expected: &[f64]| {
            assert_eq!(left_out(&facts, lengths), expected, "{lengths:?}");
        };
        check(&[("a", &[1.0, 1.1, 0.9]), ("b", &[1.2, 1.0, 1.4])], &[]);
        check(&[("a", &[1.0, 21.0, 0.9]), ("b", &[1.2, 1.0, 1.4])], &[21.0]);
        check(&[("a", &[21.0, 21.0, 0.9]), ("b", &[1.2, 1.0, 1.4])], &[21.0, 21.0]);
        check(&[("a", &[1.0]), ("b", &[21.0])], &[21.0]);
        check(&[("a", &[21.0])], &[21.0]);
        // A variant that is six times slower in all slices is what is to be found.
        check(&[("a", &[1.0, 1.1]), ("b", &[6.0, 6.1])], &[]);
        check(&[("a", &[1.0, 1.1]), ("b", &[6.0, 26.1])], &[26.1]);
        // A disk under load slows all.
        check(&[("a", &[9.0, 9.5]), ("b", &[12.0, 12.5])], &[9.0, 9.5, 12.0, 12.5]);
        check(&[("a", &[0.01, 0.9]), ("b", &[0.02, 0.01])], &[]);
    }

    #[test]
    fn slices_are_short_if_those_of_all_variants_are() {
        let facts = PhaseFacts { slice_seconds: 3.0, ..PhaseFacts::default() };
        let check = |facts: &PhaseFacts, lengths: &[(&str, &[f64])], expected: bool| {
            let slices = slices(lengths);
            let input = |slice| Input { experiment: "e", run: "r", slice };
            let inputs: Vec<Input<'_>> = slices.iter().map(input).collect();
            let found = Stalled::of(&inputs).is_short(&inputs[0], facts);
            assert_eq!(found, expected, "{lengths:?}");
        };
        check(&facts, &[("a", &[4.0, 0.9, 0.4, 0.2, 0.9]), ("b", &[0.5])], true);
        check(&facts, &[("a", &[0.9, 1.1, 1.2]), ("b", &[0.5])], false);
        check(&facts, &[("a", &[3.0]), ("b", &[0.5])], false);
        check(&PhaseFacts { has_pieces: true, ..facts }, &[("a", &[0.5])], false);
        // An index build has no planned length.
        check(&PhaseFacts::default(), &[("a", &[0.5])], false);
    }

    #[test]
    fn pieces_differ_by_what_they_do_to_the_tables() {
        let facts = PhaseFacts { slice_seconds: 2.0, has_pieces: true, ..PhaseFacts::default() };
        assert_eq!(left_out(&facts, &[("a", &[1.0, 40.0]), ("b", &[1.0, 5.0])]), [0.0; 0]);
        let unknown = PhaseFacts::default();
        assert_eq!(left_out(&unknown, &[("a", &[100.0]), ("b", &[1.0])]), [0.0; 0]);
    }

    #[test]
    fn a_slice_that_answered_nothing_for_a_third_of_its_time_is_left_out() {
        let check = |operations: &[u64], median_us: f64, expected: bool| {
            let mut slice = slice("a", operations.len() as f64, operations);
            slice.work.as_mut().unwrap().service_us.p50 = median_us;
            let inputs = [Input { experiment: "e", run: "r", slice: &slice }];
            let reason = Stalled::of(&inputs).reason(&inputs[0], &PhaseFacts::default());
            assert_eq!(reason.is_some(), expected, "{operations:?} {median_us}");
        };
        check(&[900, 0, 0, 0, 0, 800, 900, 850, 900], 900.0, true);
        check(&[900, 0, 0, 0, 0], 900.0, true);
        check(&[900, 0, 0, 800, 900, 850], 900.0, false);
        check(&[900, 0, 0, 0, 800, 900, 850, 900, 850, 900], 900.0, false);
        // Operations of some seconds, and one that is due every few seconds.
        check(&[60, 0, 0, 0, 60], 3e6, false);
        check(&[1, 0, 0, 0, 1, 0, 0, 0, 1], 900.0, false);
    }

    #[test]
    fn a_slice_whose_counters_ran_on_without_work_is_left_out() {
        let mut slices = slices(&[("a", &[1.0])]);
        slices[0].marks.push(mark::STOPPED.to_owned());
        let input = Input { experiment: "e", run: "r", slice: &slices[0] };
        let stalled = Stalled::of(&[input]);
        assert_eq!(stalled.reason(&input, &PhaseFacts::default()), Some(mark::STOPPED));
    }
}
