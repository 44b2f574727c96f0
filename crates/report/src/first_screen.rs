//! The first screen of a comparison for people: the question, the answer, its reasons, and where
//! the numbers come from.

use crate::{
    Details, Names,
    document::Document,
    explained, number,
    sentence::{self, Label},
    status, trust, words,
};
use analysis::{Comparison, Diagnosis, Finding, PhaseResult};
use model::{
    metric::{Kind, Metric},
    number::counted,
    quoted,
};
use std::collections::BTreeSet;

/// A comparison with what its first screen needs beside it.
pub(crate) struct FirstScreen<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) details: &'a Details,
    pub(crate) names: &'a Names,
    pub(crate) labels: &'a [Label],
}

impl FirstScreen<'_> {
    /// The question, an answer in one sentence per variant, and where the numbers come from;
    /// `shown` are the metrics whose values follow.
    pub(crate) fn write(&self, shown: &[&'static Metric], document: &mut Document) {
        let Self { comparison, details, names, labels } = *self;
        let question = [&comparison.question, &comparison.experiment];
        let title = question.into_iter().find(|text| !text.is_empty());
        document.heading(1, title.map_or("", String::as_str));
        let mut said = sentence::answers(comparison, labels, &|_| true);
        said.extend(reasons(comparison, details, names));
        said.push(origin(comparison, details));
        said.extend(servers(comparison, details, names));
        said.extend(status::line(comparison));
        let is_shown = |metric: &Metric| shown.iter().any(|one| one.name == metric.name);
        said.extend(trust::before_ratios(comparison, &is_shown));
        let warnings = comparison.warnings.len();
        if warnings > 0 {
            let warnings = counted(warnings, "warning");
            said.push(format!("{warnings}, below the tables or on stderr."));
        }
        said.into_iter().for_each(|one| document.paragraph(one));
    }
}

/// Changes whose reasons are said at the top; the report has all.
const REASONS: usize = 3;

/// The first reason of the largest decided changes, a sentence each: of each variant one for each
/// kind of reason.
fn reasons(comparison: &Comparison, details: &Details, names: &Names) -> Vec<String> {
    let of_phase = |phase| {
        let decided = analysis::diagnoses(phase).into_iter();
        decided.filter(|found| found.verdict.is_assessed()).map(move |found| (phase, found))
    };
    let mut all: Vec<(&PhaseResult, Diagnosis)> =
        comparison.phases.iter().flat_map(of_phase).collect();
    // What an operation takes longer counts before what it costs.
    let place = |found: &Diagnosis| match found.metric.kind {
        Kind::Rate => 0,
        Kind::CpuTime | Kind::Cycles => 1,
        _ => 2,
    };
    let size = |found: &Diagnosis| found.effect.ln().abs();
    all.sort_by(|(_, a), (_, b)| place(a).cmp(&place(b)).then_with(|| size(b).total_cmp(&size(a))));
    let mut told: Vec<(String, &str)> = Vec::new();
    let said = all.into_iter().filter_map(|(phase, found)| {
        let reason = found.findings.first()?;
        let kind = (found.subject.clone(), reason.rule);
        if told.contains(&kind) {
            return None;
        }
        told.push(kind);
        let (ratio, what) = (number::change(found.ratio), words::long_title(found.metric));
        // Details have the labels.
        let subjects = [names.full(&found.base), names.full(&found.subject)];
        let areas = explained::instructions_added(details, phase, subjects);
        let (phase, variant, sentence) = (&phase.phase, &found.subject, &reason.sentence);
        let areas = areas.filter(|_| reason.rule == "code").map(|areas| format!(" {areas}"));
        let more = areas.or_else(|| by_function(comparison, details, phase, reason));
        // Where the cost itself is what changed, its functions are the reason.
        if reason.evidence.first().is_some_and(|first| first.metric.kind == found.metric.kind) {
            let more = more?;
            return Some(format!("`{phase}` has {ratio}x the {what} with `{variant}`.{more}"));
        }
        let more = more.unwrap_or_default();
        Some(format!("Why `{phase}` has {ratio}x the {what} with `{variant}`: {sentence}{more}"))
    });
    said.take(REASONS).collect()
}

/// The command that names the functions behind a reason, where there is one: of the run's only two
/// variants.
fn by_function(
    comparison: &Comparison,
    details: &Details,
    phase: &str,
    reason: &Finding,
) -> Option<String> {
    let is_counted = reason.evidence.iter().any(|one| one.metric.kind == Kind::UserInstructions);
    let how = match reason.rule {
        "code" if is_counted => "",
        "code" | "stalls" => " --by time",
        _ => return None,
    };
    let [run] = comparison.runs.as_slice() else { return None };
    // A shell would read other names as more than one word.
    let is_plain = phase.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let is_known = details.explanations.iter().any(|known| known.phase == phase);
    // Levels of a factor that are compared on one server are no variants of its run.
    let own: BTreeSet<&str> =
        details.trials.iter().map(|trial| trial.header.subject.as_str()).collect();
    let folder = &details.folder;
    (comparison.subjects.len() == 2 && own.len() == 2 && !is_known && is_plain)
        .then(|| format!(" By function: `dbdyno explain {run}{folder} --phase {phase}{how}`."))
}

/// Imported paths that are named.
const PATHS: usize = 2;

/// Runs that are named: those of a lab would fill the screen.
const RUNS: usize = 8;

/// Runs by their identifiers, of many the first ones.
fn named(runs: &[String]) -> String {
    let first = runs[..runs.len().min(RUNS)].join(", ");
    let more = runs.len().saturating_sub(RUNS);
    if more > 0 { format!("{first} and {more} more") } else { first }
}

/// Run, date and host, as far as they are known.
fn origin(comparison: &Comparison, details: &Details) -> String {
    // Before the first complete block no measurement names the run.
    let runs = match named(&comparison.runs) {
        none if none.is_empty() => details.run.clone(),
        runs => runs,
    };
    let several = if comparison.runs.len() > 1 { "Runs" } else { "Run" };
    let mut parts = vec![match details.imported {
        _ if runs.is_empty() => "Run without measurements".to_owned(),
        Some(_) => format!("Imported as run {runs}"),
        None => format!("{several} {runs}"),
    }];
    // Of runs that are compared as one, these are those of the first.
    let of_first = if comparison.runs.len() > 1 { "the first of " } else { "" };
    parts.extend(details.started_us.map(|at| format!("{of_first}{}", words::date(at))));
    if let Some(trial) = details.trials.first() {
        let host = &trial.environment;
        let cpus = counted(host.cpus, "CPU");
        let model = if host.cpu.is_empty() { String::new() } else { format!(" ({})", host.cpu) };
        let name = match details.hosts() {
            0 | 1 if of_first.is_empty() => format!("host {}", host.host),
            0 | 1 => format!("on host {}", host.host),
            several => format!("{several} hosts, the first {}", host.host),
        };
        parts.push(format!("{name}: {cpus}{model}, kernel {}", host.kernel));
    }
    if let Some(imported) = &details.imported {
        let paths = imported.header.paths.iter().take(PATHS);
        let paths = quoted(paths);
        let more = imported.header.paths.len().saturating_sub(PATHS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.extend((!paths.is_empty()).then(|| format!("from {paths}{more}")));
    }
    format!("{}.", parts.join(", "))
}

/// Version and binary of each variant, if the names of some do not hold their versions.
fn servers(comparison: &Comparison, details: &Details, names: &Names) -> Option<String> {
    let mut said: Vec<String> = Vec::new();
    let mut headers: Vec<_> = details.trials.iter().map(|trial| &trial.header).collect();
    if headers.iter().all(|header| header.subject.contains(&header.server_version)) {
        return None;
    }
    // Blocks start them in orders of their own.
    headers.sort_by_key(|header| {
        let name = names.short(&header.subject);
        comparison.subjects.iter().position(|subject| subject == name)
    });
    for header in headers {
        let version = &header.server_version;
        if version.is_empty() {
            continue;
        }
        let binary = match header.short_sha256() {
            "" => String::new(),
            short => format!(", binary {short}"),
        };
        let one = format!("`{}`: {version}{binary}", header.subject);
        if !said.contains(&one) {
            said.push(one);
        }
    }
    (!said.is_empty()).then(|| format!("{}.", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_runs_the_first_are_named() {
        let check = |count: usize, expected: &str| {
            let runs: Vec<String> = (1..=count).map(|number| format!("r{number}")).collect();
            assert_eq!(named(&runs), expected);
        };
        check(0, "");
        check(1, "r1");
        check(8, "r1, r2, r3, r4, r5, r6, r7, r8");
        check(240, "r1, r2, r3, r4, r5, r6, r7, r8 and 232 more");
    }
}
