//! Slices to measurements, failures and warnings.

use crate::{
    Outcome, PhaseFacts, ServiceLevel, derive,
    derive::{denominator, marks, slice_marks},
    drained,
    guard::{self, Disturbed, Guard},
    host_load::HostLoad,
    missed::mark_of,
    noise::Noise,
    parts::Parts,
    rate,
    sla::RULES,
    slow::Use,
    stalled::{SHORT, Stalled},
    warning::{Location, Warnings},
};
use model::{
    mark::{self, Mark},
    measurement::Measurement,
    record::{SliceRecord, SliceState},
    shared::Name,
    speed::SLOW,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A slice with where it came from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Experiment name.
    pub experiment: &'a str,
    /// Run, by its identifier.
    pub run: &'a str,
    /// The slice.
    pub slice: &'a SliceRecord,
}

/// A round of a test: run, phase, block and round.
pub(crate) type Round<'a> = (&'a str, &'a str, u32, u32);

impl<'a> Input<'a> {
    pub(crate) fn round(&self) -> Round<'a> {
        let slice = self.slice;
        (self.run, &slice.phase, slice.block, slice.round)
    }

    /// The same with another record of the slice, if there is one.
    fn with(self, record: Option<&'a SliceRecord>) -> Self {
        Self { slice: record.unwrap_or(self.slice), ..self }
    }
}

/// Everything that slices tell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observations {
    /// Values of the slices that count, without those that something stalled.
    pub measurements: Vec<Measurement>,
    /// Slices that broke.
    pub failures: Vec<Failure>,
    /// What is known of the noise of the host.
    pub noise: Option<Arc<Noise>>,
    pub(crate) warnings: Warnings,
    /// Phases in which too many rounds were disturbed to judge rates and times.
    pub(crate) disturbed: BTreeMap<String, Disturbed>,
    /// Values of slices in which the processor was slow, for blocks where there are no others.
    pub(crate) spare: Vec<Measurement>,
    /// Phases of which blocks may be left out because the processor was slow in them.
    pub(crate) selected: BTreeSet<String>,
}

impl Observations {
    /// Those of two runs of the same work as if all were of `run`, so that their blocks are pairs.
    /// Their rounds are none: they were not measured in turn, and repeated ones have other numbers.
    #[must_use]
    pub fn beside(self, mut other: Self, run: &str) -> Self {
        let beyond = self.values().map(|one| one.round + 1).max().unwrap_or(0);
        let others = other.measurements.iter_mut().chain(&mut other.spare);
        others.for_each(|one| one.round += beyond);
        let mut both = self.and(other);
        let run = Name::from(run);
        let failed = both.failures.iter_mut().map(|failure| &mut failure.at);
        let all = both.measurements.iter_mut().chain(&mut both.spare).chain(failed);
        all.for_each(|one| one.run = run.clone());
        both
    }

    /// These and others, of other slices.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.measurements.extend(other.measurements);
        self.spare.extend(other.spare);
        self.failures.extend(other.failures);
        self.warnings.extend(other.warnings);
        self.disturbed.extend(other.disturbed);
        self.selected.extend(other.selected);
        self
    }
}

/// A slice that broke: it has no values, and its cell shows none.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Where: a measurement without metric and value.
    pub at: Measurement,
    /// Why; for a dead server, the last lines of its log.
    pub reason: String,
}

impl Failure {
    /// The first line of the reason, which may quote a log.
    pub fn line(&self) -> &str {
        self.reason.lines().next().unwrap_or_default()
    }
}

impl Observations {
    /// The first failure of each cell that has one, in the slices' order.
    pub fn failed_cells(&self) -> Vec<&Failure> {
        let mut seen = BTreeSet::new();
        let mut found: Vec<&Failure> = self.failures.iter().collect();
        found.retain(|failure| seen.insert((&failure.at.phase, &failure.at.subject)));
        found
    }

    /// Phases whose rates and times are not judged, because too many of their rounds were
    /// disturbed.
    pub fn unjudged(&self) -> impl Iterator<Item = &str> {
        self.disturbed.keys().map(String::as_str)
    }

    /// All values, also those of slow slices that a block may have beside others.
    pub fn values(&self) -> impl Iterator<Item = &Measurement> {
        self.measurements.iter().chain(&self.spare)
    }

    /// The values of cells in which nothing failed: those that may be shown. What is left of a cell
    /// in which a block failed is no value of that cell.
    pub fn sound_measurements(self) -> Vec<Measurement> {
        let failed = self.failures.iter().map(|f| (f.at.phase.as_str(), f.at.subject.as_str()));
        let failed: BTreeSet<(&str, &str)> = failed.collect();
        let sound = |m: &Measurement| !failed.contains(&(m.phase.as_str(), m.subject.as_str()));
        let block = |m: &Measurement| {
            [&m.run, &m.phase, &m.subject, &m.metric].map(|name| (name.clone(), m.block))
        };
        // Where the processor was slow in all of a block, its values are those of a comparison too.
        let known: BTreeSet<_> = self.measurements.iter().map(block).collect();
        let slow = self.spare.into_iter().filter(|one| !known.contains(&block(one)));
        self.measurements.into_iter().chain(slow).filter(sound).collect()
    }

    /// What readers of any table of these values must know, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.sentences()
    }
}

/// Derives all values of `slices`; `facts` gives a phase's facts by run and phase name.
pub fn observe<'a>(
    slices: impl IntoIterator<Item = Input<'a>>,
    facts: &dyn Fn(&str, &str) -> PhaseFacts,
) -> Observations {
    let mut found = Observations::default();
    let mut load = HostLoad::default();
    let slices: Vec<Input<'a>> = slices.into_iter().collect();
    let shared = drained::shared(&slices);
    let with_shares = slices.into_iter().zip(&shared);
    let slices: Vec<Input<'_>> =
        with_shares.map(|(input, record)| input.with(record.as_ref())).collect();
    let stalled = Stalled::of(&slices);
    let guard = Guard::of(&slices, facts);
    found.selected = guard.slow.phases();
    for input in slices {
        let slice = input.slice;
        let facts = facts(input.run, &slice.phase);
        let stall = stalled.reason(&input, &facts);
        if let Some(reason) = stall.or_else(|| guard.reason(&input)) {
            let text = format!("{{count}} slices left out: {reason}");
            found.warnings.add(place(slice), &text, 1);
            // What disturbs the host leaves counts as they are; a stall does not.
            if stall.is_none() && broken(slice, &facts).is_none() {
                found.measurements.extend(counted(measure(&input, &facts, &[])).0);
            }
            continue;
        }
        match (slice.state, broken(slice, &facts), guard.slow.of_slice(&input)) {
            // Without a reason it was planned: every phase begins with work that does not count.
            (SliceState::Discarded, ..) => {
                if let Some(reason) = &slice.reason {
                    let text = format!("{{count}} slices left out: {}", one_line(reason));
                    found.warnings.add(place(slice), &text, 1);
                }
            }
            (_, Some(reason), _) => found.failures.push(Failure { at: keys(&input), reason }),
            (_, None, Some(used)) => {
                let missed = missed_rules(slice, &facts);
                let (counts, others) = counted(measure(&input, &facts, &missed));
                found.measurements.extend(counts);
                if used != Use::Never {
                    found.spare.extend(others);
                }
                if used == Use::Instead {
                    warn(slice, &missed, &mut found.warnings);
                    load.add(slice);
                } else {
                    let text = format!("{{count}} slices left out: {SLOW}");
                    found.warnings.add(place(slice), &text, 1);
                }
            }
            (_, None, None) => {
                let missed = missed_rules(slice, &facts);
                warn(slice, &missed, &mut found.warnings);
                if let Some(disturbed) = guard.disturbed.get(slice.phase.as_str()) {
                    let text = guard::sentence(guard.disturbed.values(), disturbed.what);
                    found.warnings.add(place(slice), &text, 1);
                    found.disturbed.insert(slice.phase.clone(), *disturbed);
                }
                found.warnings.add(place(slice), SHORT, stalled.is_short(&input, &facts).into());
                load.add(slice);
                found.measurements.extend(measure(&input, &facts, &missed));
            }
        }
    }
    // Blocks after the one in which the counts were decided have none.
    found.warnings.prefer(mark::NO_HARDWARE_BUT_EMULATED, mark::NO_HARDWARE);
    load.tell(&mut found.warnings);
    found
}

/// Why a slice has no values, if it has none.
fn broken(slice: &SliceRecord, facts: &PhaseFacts) -> Option<String> {
    if slice.state == SliceState::Failed {
        return Some(slice.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()));
    }
    let nothing = slice.work.as_ref().is_some_and(|work| denominator(work, facts) <= 0.0);
    nothing.then(|| "no operation was completed".to_owned())
}

fn place(slice: &SliceRecord) -> Location<'_> {
    Location { subject: &slice.subject, phase: &slice.phase, position: slice.position }
}

fn warn(slice: &SliceRecord, missed: &[ServiceLevel], warnings: &mut Warnings) {
    let marks = slice_marks(slice);
    // What an embedded engine's costs mean holds in every phase: `marks::untold` tells it once.
    for mark in marks.iter().filter(|found| *found != mark::EMBEDDED) {
        warnings.add(place(slice), &one_line(mark), 1);
    }
    let known = marks.iter().any(|mark| mark.contains("foreground"));
    if Parts::new(slice, 0.0).lacks_foreground() && !known {
        warnings.add(place(slice), "foreground missing", 1);
    }
    if !missed.is_empty() {
        let rules: Vec<&str> = missed.iter().map(|level| level.rule).collect();
        let text = format!(
            "{}: {{count}} slices missed their target rate, by the {} rule",
            mark::SLA_MISSED,
            rules.join(" and the ")
        );
        warnings.add(place(slice), &text, 1);
    }
    let Some(work) = &slice.work else { return };
    let errors: u64 = work.errors.iter().map(|error| error.count).sum();
    let cases = [
        ("{count} statements had rows outside what the workload expects", work.unexpected),
        ("{count} errors were reported", errors),
        ("{count} operations due but never started", work.dropped),
        ("{count} operations started late", work.late),
    ];
    for (text, count) in cases {
        warnings.add(place(slice), text, count);
    }
}

/// Values that what disturbs rates and times leaves as they are, and the others.
fn counted(all: Vec<Measurement>) -> (Vec<Measurement>, Vec<Measurement>) {
    let is_count =
        |one: &Measurement| crate::metric(&one.metric).is_some_and(|m| m.kind.is_instructions());
    all.into_iter().partition(is_count)
}

/// What identifies the values of a slice, without any.
fn keys(input: &Input<'_>) -> Measurement {
    let slice = input.slice;
    Measurement {
        experiment: input.experiment.into(),
        run: input.run.into(),
        subject: Name::from(&slice.subject),
        phase: Name::from(&slice.phase),
        workload: Name::from(&slice.workload),
        group: Name::from(&slice.group),
        position: slice.position,
        range: slice.range,
        clients: slice.clients,
        levels: Arc::new(slice.levels.clone()),
        block: slice.block,
        round: slice.round,
        state: slice.state,
        ..Measurement::default()
    }
}

fn measure(input: &Input<'_>, facts: &PhaseFacts, missed: &[ServiceLevel]) -> Vec<Measurement> {
    let slice = input.slice;
    let told = marks(slice).into_iter().map(|text| Mark::Note(text.into()));
    let marks: Vec<Mark> = told.chain(mark_of(missed)).collect();
    let keys = keys(input);
    let of_metric = |(metric, value): (&'static str, f64)| {
        let piece = || Some(derive::piece(crate::metric(metric)?, slice, facts));
        let piece = if facts.has_pieces { piece() } else { None };
        Measurement { metric: metric.into(), value, marks: marks.clone(), piece, ..keys.clone() }
    };
    derive(slice, facts).into_iter().map(of_metric).collect()
}

/// The rules that a slice missed with its set rate.
fn missed_rules(slice: &SliceRecord, facts: &PhaseFacts) -> Vec<ServiceLevel> {
    let Some(work) = &slice.work else { return Vec::new() };
    let paced = facts.roles.as_ref().and_then(|roles| roles.paced(work));
    let levels = paced.iter().flat_map(|paced| RULES.iter().map(|rule| (rule.judge)(paced)));
    let of_rows = levels.filter(|level| level.outcome == Outcome::Missed);
    of_rows.chain(rate::missed(work, facts.roles.as_ref())).collect()
}

/// The first line: reasons may quote logs.
pub(crate) fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        drive::StretchReport,
        reading::{Reading, Scope},
    };

    /// A slice in which the load engine needed so many microseconds for an operation, and other
    /// processes so many seconds.
    fn slice(block: u32, round: u32, us: f64, others: f64) -> SliceRecord {
        let reading = |scope, counter: &str, end: f64| {
            let counter = counter.to_owned();
            Reading { scope, counter, start: 0.0, end }
        };
        let work = StretchReport {
            end_ns: 1_000_000_000,
            succeeded: 1000,
            unexpected: 1,
            ..StretchReport::default()
        };
        SliceRecord {
            subject: "new".to_owned(),
            block,
            round,
            state: SliceState::Measured,
            work: Some(work),
            readings: vec![
                reading(Scope::Client, "cpu_ns", us * 1e6),
                reading(Scope::Foreground, "cpu_ns", 1e8),
                reading(Scope::Foreground, "user_instructions", 1e8),
                reading(Scope::Host, "others_cpu_ns", others * 1e9),
            ],
            ..SliceRecord::default()
        }
    }

    fn observed(slices: &[SliceRecord]) -> Observations {
        let input = |slice| Input { experiment: "e", run: "r", slice };
        observe(slices.iter().map(input), &|_, _| PhaseFacts::default())
    }

    #[test]
    fn what_is_wrong_in_a_slow_slice_that_counts_is_told() {
        let costs = [[10.0, 10.1], [10.2, 14.0], [13.0, 12.0], [10.0, 10.1]];
        let of_block = |(block, [one, other]): (u32, [f64; 2])| {
            [slice(block, 0, one, 0.0), slice(block, 1, other, 0.0)]
        };
        let slices: Vec<SliceRecord> = (0..).zip(costs).flat_map(of_block).collect();
        let told = observed(&slices).warnings();
        // The third block has slow slices alone; that of the second is left out.
        assert!(told.iter().any(|one| one.contains("7 statements had rows")), "{told:?}");
        assert!(told.iter().any(|one| one.contains("1 slice left out")), "{told:?}");
    }

    #[test]
    fn what_stalled_has_no_counts_even_where_the_host_was_disturbed() {
        let counts = |marks: &[&str]| {
            let mut slices: Vec<SliceRecord> =
                (0..5).map(|block| slice(block, 0, 10.0, 0.0)).collect();
            slices[0] = slice(0, 0, 10.0, 0.5);
            slices[0].marks = marks.iter().map(|mark| (*mark).to_owned()).collect();
            let found = observed(&slices).measurements.into_iter();
            found.filter(|one| one.metric == "foreground_user_instructions_per_op").count()
        };
        assert_eq!((counts(&[]), counts(&[mark::STOPPED])), (5, 4));
    }

    #[test]
    fn a_phase_of_disturbed_rounds_has_values_that_are_not_judged() {
        let phases = |others: f64| {
            let mut slices = [slice(0, 0, 10.0, others), slice(1, 0, 10.0, 0.0)];
            slices.iter_mut().for_each(|slice| slice.phase = "scan".to_owned());
            let found = observed(&slices);
            assert!(!found.measurements.is_empty());
            found.unjudged().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!((phases(0.5), phases(0.0)), (vec!["scan".to_owned()], Vec::new()));
    }

    #[test]
    fn a_block_of_slow_slices_alone_has_their_values() {
        let of = |(block, round)| Measurement { block, round, ..Measurement::default() };
        let found = Observations {
            measurements: [(0, 0), (2, 0)].map(of).into(),
            spare: [(0, 1), (1, 0), (1, 1)].map(of).into(),
            ..Observations::default()
        };
        assert_eq!(found.values().count(), 5);
        let sound = found.sound_measurements();
        let places: Vec<(u32, u32)> = sound.iter().map(|one| (one.block, one.round)).collect();
        assert_eq!(places, [(0, 0), (2, 0), (1, 0), (1, 1)]);
    }
}
