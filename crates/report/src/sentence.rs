//! The answer in one sentence per variant: numbers first, then how far they can be trusted.

use crate::{
    number, status,
    words::{self, Standing, THROUGHPUT},
};
use analysis::{Cell, Comparison, FEWEST_BLOCKS, Overall, Verdict};
use model::number::counted;

/// Metrics of the answer with their words; of each row the first that a variant has.
const METRICS: [&[(&str, &str)]; 3] = [
    &[(THROUGHPUT, "throughput")],
    &[
        ("foreground_user_instructions_per_op", "instructions"),
        ("server_user_instructions_per_op", "instructions"),
    ],
    &[
        ("server_cpu_us_per_op", "CPU time"),
        ("host_cpu_us_per_op", "CPU time of the host"),
        ("host_cpu_percent_per_op", "CPU time of the host"),
    ],
];

/// What tables call a variant, and what its sentence calls it.
pub(crate) struct Label {
    /// Title of its columns and rows: its name, or a number.
    pub(crate) short: String,
    /// The name, behind the number if there is one.
    pub(crate) full: String,
}

/// The sentences of some variants; `labels` are those of all. Where variants are numbered, each
/// base is named once above its variants, and every number is explained.
pub(crate) fn answers(
    comparison: &Comparison,
    labels: &[Label],
    wanted: &dyn Fn(&str) -> bool,
) -> Vec<String> {
    let listed = labels.iter().any(|label| label.short != label.full.trim_matches('`'));
    let lead = comparison.lead().name;
    let mut said = Vec::new();
    let mut above: Option<String> = None;
    let full = |subject: &str| {
        let index = comparison.subjects.iter().position(|known| known == subject);
        index.and_then(|index| labels.get(index)).map_or("", |label| label.full.as_str())
    };
    let all = comparison.subjects.iter().zip(labels);
    for (subject, label) in all.filter(|(subject, _)| wanted(subject)) {
        let is_base = comparison.bases.contains(subject);
        let broken = status::broken(comparison, subject);
        let overall = comparison.overall(subject, lead);
        let base = overall.as_ref().map(|overall| full(&overall.base).to_owned());
        match (overall, base) {
            (Some(throughput), Some(base)) => {
                if listed && above.as_ref() != Some(&base) {
                    said.push(format!(
                        "Compared with {base}, geometric means over all tests (smallest to \
                         largest test), costs per operation:"
                    ));
                    above = Some(base.clone());
                }
                let known = known(comparison, subject);
                let parts = known.iter().map(|one| one.said(throughput.phases));
                let parts: Vec<String> = parts.collect();
                let (parts, tests) = (parts.join("; "), tests(comparison, &known));
                let tail = match (listed, comparison.counted().len()) {
                    (true, all) if all == throughput.phases => ".".to_owned(),
                    (true, all) => format!("; {} of {all} tests.", throughput.phases),
                    (false, all) => {
                        let tests = counted(all, "test");
                        format!("; geometric mean of {} of {tests}.", throughput.phases)
                    }
                };
                let against = if listed { String::new() } else { format!(" compared with {base}") };
                let answer = format!("{}{against}: {parts}{tail}", label.full);
                match listed {
                    // One line a variant.
                    true => said.push(words::joined(&[vec![answer], tests].concat(), " ")),
                    false => said.extend([answer].into_iter().chain(tests)),
                }
            }
            _ if !broken.is_empty() => {
                said.push(format!("{} {broken}: nothing of that can be compared.", label.full));
                continue;
            }
            _ if is_base && listed && !has_variants(comparison, subject) => {
                said.push(format!("{} is a base without variants.", label.full));
            }
            _ if !is_base => said.push(format!("{} has no test to compare.", label.full)),
            _ => {}
        }
        if !broken.is_empty() {
            said.push(format!("{} {broken}.", label.full));
        }
    }
    said
}

/// Whether a sentence of a variant names this base.
fn has_variants(comparison: &Comparison, base: &str) -> bool {
    let lead = comparison.lead().name;
    let named = |subject: &String| {
        let overall = comparison.overall(subject, lead);
        overall.is_some_and(|overall| overall.base.as_str() == base)
    };
    comparison.subjects.iter().any(named)
}

/// A metric of the answer: its mean, its words, and the tests that compare it, by name.
struct Known<'a> {
    overall: Overall,
    what: String,
    tests: Vec<(&'a str, &'a Cell)>,
}

impl Known<'_> {
    /// Its mean; of how many tests, where these are not the `usual` ones, which the sentence says
    /// at its end.
    fn said(&self, usual: usize) -> String {
        let changed = self.tests.iter().any(|(_, cell)| cell.verdict.is_change());
        let what = match self.overall.phases {
            own if own == usual => self.what.clone(),
            own => format!("{} of {}", self.what, words::tests(own)),
        };
        match self.overall.verdict {
            // Tests that changed in both directions.
            Verdict::Equivalent | Verdict::SmallChange if changed => {
                let [ratio, low, high] =
                    [self.overall.ratio, self.overall.range.0, self.overall.range.1]
                        .map(number::change);
                format!("{ratio}x {what} in the mean, but {low}x to {high}x in single tests")
            }
            _ => part(&self.overall, &what),
        }
    }
}

/// The metrics of the answer that a variant has: throughput first, then what it costs; before them
/// that of the answer, where a page is about another one.
fn known<'a>(comparison: &'a Comparison, subject: &str) -> Vec<Known<'a>> {
    let tests = |metric: &str| {
        let cells = comparison.phases.iter();
        let cells = cells.filter_map(|phase| Some((&*phase.phase, phase.cell(subject, metric)?)));
        cells.filter(|(_, cell)| cell.ratio.is_some()).collect()
    };
    let one = |metric: &str, what: String| {
        let overall = comparison.overall(subject, metric)?;
        Some(Known { overall, what, tests: tests(metric) })
    };
    let lead = comparison.lead();
    let is_lead = |(metric, _): &(&str, &str)| *metric == lead.name;
    let is_named = METRICS.iter().any(|row| row.iter().any(is_lead));
    let own = (!is_named).then(|| one(lead.name, words::noun(lead))).flatten();
    let named = METRICS.iter().filter_map(|row| {
        let mut known = row.iter();
        known.find_map(|(metric, what)| one(metric, (*what).to_owned()))
    });
    own.into_iter().chain(named).collect()
}

/// What single tests show, beside the means: a mean can hide a test that changed, and can show a
/// change that no test alone shows. Nothing where nothing is judged.
fn tests(comparison: &Comparison, known: &[Known<'_>]) -> Vec<String> {
    let list = |word: &str, wanted: Standing| {
        let all = known.iter().filter_map(|one| Some((changed(&one.tests, wanted)?, &*one.what)));
        let all: Vec<_> = all.collect();
        let alike = all.chunk_by(|(tests, _), (other, _)| tests == other).map(|metrics| {
            let names: Vec<&str> = metrics.iter().map(|(_, what)| *what).collect();
            format!("{} of {}", words::joined(&names, ", "), metrics[0].0)
        });
        let alike = words::joined(&alike.collect::<Vec<_>>(), "; ");
        (!alike.is_empty()).then(|| format!("{word} in single tests: {alike}."))
    };
    let listed = [list("Worse", Standing::Worse), list("Better", Standing::Better)];
    let listed: Vec<String> = listed.into_iter().flatten().collect();
    let is_alone = |one: &Known<'_>| {
        let shown = one.tests.iter().any(|(_, cell)| cell.verdict.is_change());
        one.overall.verdict.is_change() && !shown
    };
    match listed.is_empty() {
        _ if comparison.phases.len() == 1 => Vec::new(),
        true if known.iter().any(is_alone) => vec!["No test alone shows a change.".to_owned()],
        _ => listed,
    }
}

/// The tests that verdicts call changed in this direction: few are named, the largest change first.
fn changed(cells: &[(&str, &Cell)], wanted: Standing) -> Option<String> {
    let size = |cell: &Cell| cell.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    let is_wanted = |cell: &Cell| cell.verdict.is_change() && Standing::of_one(cell) == wanted;
    let mut found: Vec<_> = cells.iter().filter(|(_, cell)| is_wanted(cell)).collect();
    found.sort_by(|(_, a), (_, b)| size(b).total_cmp(&size(a)));
    let named = |(phase, cell): &&(&str, &Cell)| {
        cell.ratio.map(|ratio| format!("`{phase}` {}x", number::change(ratio)))
    };
    let names: Vec<String> = found.iter().take(NAMED).filter_map(named).collect();
    match found.len() {
        0 => None,
        count if count <= NAMED => Some(words::joined(&names, " and ")),
        count if count == cells.len() => Some(format!("all {count}")),
        count => Some(format!("{count} of {}, most of all {}", cells.len(), names[0])),
    }
}

/// Changed tests that an answer names per metric.
const NAMED: usize = 2;

/// Behind a mean that cannot be tested.
const UNEVEN: &str = ", not tested as a whole: tests have different blocks";

/// One metric.
fn part(overall: &Overall, what: &str) -> String {
    let ratio = match overall.verdict.is_change() {
        true => number::change(overall.ratio),
        false => number::ratio(overall.ratio),
    };
    let (low, high) = (number::ratio(overall.range.0), number::ratio(overall.range.1));
    let range = (low != high).then(|| format!("tests {low}x to {high}x"));
    match (overall.verdict, overall.p) {
        (Verdict::Inconclusive, _) if overall.blocks < FEWEST_BLOCKS => {
            let blocks = counted(overall.blocks, "block");
            format!("{what} {ratio}x, not judged: {blocks} of at least {FEWEST_BLOCKS}")
        }
        (Verdict::Inconclusive, _) => {
            let interval = overall.interval.map(|ends| format!(", {}", words::interval(ends)));
            format!("{what} inconclusive ({ratio}x{})", interval.unwrap_or_default())
        }
        (Verdict::Invalid, _) => {
            format!("{what} not judged, because the host was disturbed ({ratio}x)")
        }
        (Verdict::Equivalent, _) => format!("{ratio}x {what} (equivalent)"),
        (Verdict::SmallChange, _) => format!("{ratio}x {what} (a small change)"),
        (Verdict::Unreplicated | Verdict::Unassessed, _) | (_, None) => {
            let range = range.map(|range| format!(" ({range})")).unwrap_or_default();
            let why = if overall.uneven { UNEVEN } else { "" };
            format!("{ratio}x {what}{range}{why}")
        }
        (_, Some(p)) => {
            let chance = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
            let range = range.map(|range| format!(", {range}")).unwrap_or_default();
            format!("{ratio}x {what} ({chance}{range})")
        }
    }
}
