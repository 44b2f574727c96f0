//! How many tests there are numbers of, and why not of the others.

use crate::words::THROUGHPUT;
use analysis::{Cell, Comparison, PhaseResult, Reason};

/// What became of one test of one variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// There is a ratio, or a value where there is nothing to compare with.
    Compared,
    /// There is a ratio, and something disturbed the host too much to judge it.
    NotJudged,
    /// Something broke, of the variant or of its base.
    Failed,
    /// A set rate was missed, by the variant or by its base.
    Missed,
    /// There is no value, or none of its base.
    NotMeasured,
}

/// The line at the top of tables and reports: every test of every variant is counted once.
pub(crate) fn line(comparison: &Comparison) -> Option<String> {
    let is_base = |subject: &&String| comparison.bases.contains(subject);
    let (bases, variants): (Vec<&String>, Vec<&String>) =
        comparison.subjects.iter().partition(is_base);
    let alone = variants.is_empty();
    let subjects = if alone { bases } else { variants };
    let states =
        comparison.phases.iter().flat_map(|phase| subjects.iter().map(|s| state(phase, s)));
    let states: Vec<State> = states.collect();
    if states.is_empty() {
        return None;
    }
    let count = |wanted| states.iter().filter(|state| **state == wanted).count();
    let of =
        if subjects.len() > 1 { format!(" of {} variants", subjects.len()) } else { "".into() };
    let done = if alone { "measured" } else { "compared" };
    let mut parts = vec![
        format!("{} {done}", count(State::Compared) + count(State::NotJudged)),
        format!("{} failed", count(State::Failed)),
    ];
    let rare = [
        (State::Missed, "missed their target rate"),
        (State::NotMeasured, "not measured"),
        (State::NotJudged, &*format!("of the {done} not judged")),
    ];
    let rare = rare.into_iter().map(|(state, words)| (count(state), words));
    parts.extend(
        rare.filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")),
    );
    Some(format!("Tests{of}: {}{}.", parts.join(", "), missed_rates(comparison)))
}

/// Target and reached rate of the first test that missed its rate, as the end of the line.
fn missed_rates(comparison: &Comparison) -> String {
    let cells = comparison.phases.iter().flat_map(|phase| {
        let cells = phase.cells.iter().filter(|cell| cell.metric.name == THROUGHPUT);
        cells.map(|cell| (phase.phase.as_str(), cell))
    });
    let mut missed =
        cells.filter_map(|(phase, cell)| Some((phase, cell, &cell.missed_rate()?.why)));
    let Some((phase, cell, words)) = missed.next() else { return String::new() };
    let more = match missed.count() {
        0 => String::new(),
        more => format!("; {more} more below"),
    };
    format!(" (`{phase}` of `{}`: {words}{more})", cell.subject)
}

/// How often a variant failed or missed its target rate, as the end of a sentence about it: empty
/// if never.
pub(crate) fn broken(comparison: &Comparison, subject: &str) -> String {
    // A variant is not blamed for its base.
    let own = |phase: &PhaseResult| match cell_of(phase, subject).map(|cell| &cell.reason) {
        Some(Some(Reason::OfBase(_))) => State::NotMeasured,
        _ => state(phase, subject),
    };
    let states: Vec<State> = comparison.phases.iter().map(own).collect();
    let all = crate::words::tests(states.len());
    let said = |wanted, words: &str| {
        let count = states.iter().filter(|state| **state == wanted).count();
        (count > 0).then(|| format!("{words} in {count} of {all}"))
    };
    let parts = [said(State::Failed, "failed"), said(State::Missed, "missed its target rate")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// The cell that tells what became of a test.
fn cell_of<'a>(phase: &'a PhaseResult, subject: &str) -> Option<&'a Cell> {
    let own = phase.cells_of(subject);
    own.iter().find(|cell| cell.metric.name == THROUGHPUT).or_else(|| own.first())
}

fn state(phase: &PhaseResult, subject: &str) -> State {
    let Some(cell) = cell_of(phase, subject) else { return State::NotMeasured };
    match cell.reason.as_ref().map(Reason::itself) {
        Some(Reason::Failed(_)) => return State::Failed,
        Some(Reason::Missed(_)) => return State::Missed,
        Some(Reason::Disturbed(_)) => return State::NotJudged,
        _ if cell.missed().is_some() => return State::Missed,
        _ => {}
    }
    let is_there =
        |cell: &Cell| cell.ratio.is_some() || cell.base.is_none() && cell.value.is_some();
    if is_there(cell) { State::Compared } else { State::NotMeasured }
}
