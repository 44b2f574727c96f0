//! The dense form of published tables: ratios test by test, then every cost per operation.

use super::Format;
use crate::{
    Report,
    document::Document,
    escape, number, page,
    words::{self, THROUGHPUT},
};
use analysis::{Comparison, PhaseResult};
use model::metric::Part;

/// The columns beside CPU time and context switches: published name and metric.
const COLUMNS: [(&str, &str); 4] = [
    ("r/o", "reads_per_op"),
    ("rKB/o", "read_kib_per_op"),
    ("wKB/o", "write_kib_per_op"),
    ("o/s", THROUGHPUT),
];

pub(super) const FORMAT: Format = Format {
    name: "dense",
    help: "the dense text of published results: relative throughput, then costs per operation",
    // Its warnings are those that bare values need: there are no sentences beside them.
    page: page::RECORDS,
    holds_warnings: false,
    shows_details: false,
    any_document: false,
    text,
};

fn text(report: &Report, _: &Document) -> String {
    let mut lines = Vec::new();
    for comparison in &report.comparisons {
        relative(comparison, &mut lines);
        lines.extend(cpu_of_host(comparison));
        for phase in &comparison.phases {
            costs(comparison, phase, &mut lines);
        }
    }
    lines.join("\n") + "\n"
}

/// A column per variant, the test's name last.
fn relative(comparison: &Comparison, lines: &mut Vec<String>) {
    let is_base = |subject: &&String| comparison.bases.contains(subject);
    let compared: Vec<&String> = comparison.subjects.iter().filter(|s| !is_base(s)).collect();
    lines.push(format!("Relative to: {}", escape::terminal(&comparison.bases.join(", "))));
    for (index, subject) in compared.iter().enumerate() {
        lines.push(format!("col-{} : {}", index + 1, escape::terminal(subject)));
    }
    lines.push(String::new());
    lines.push((1..=compared.len()).map(|n| format!("col-{n}")).collect::<Vec<_>>().join("\t"));
    for phase in &comparison.phases {
        let ratio = |subject: &&String| {
            let cell = phase.cell(subject, THROUGHPUT);
            let known = cell.and_then(|cell| missed(cell).or(cell.ratio.map(number::ratio)));
            known.unwrap_or_else(|| "-".to_owned())
        };
        let ratios: Vec<String> = compared.iter().map(ratio).collect();
        lines.push(format!("{}\t{}", ratios.join("\t"), escape::terminal(&phase.phase)));
    }
}

/// All columns: published name and metric. CPU time is that of the server in microseconds of one
/// CPU, or what [`cpu_of_host`] says.
fn columns(comparison: &Comparison) -> impl Iterator<Item = (&'static str, &'static str)> {
    let first = [("cpu/o", words::cpu(comparison)), ("cs/o", words::switches(comparison))];
    first.into_iter().chain(COLUMNS)
}

/// What CPU time is if it is not that of the server.
fn cpu_of_host(comparison: &Comparison) -> Vec<String> {
    let metric = analysis::metric(words::cpu(comparison)).filter(|m| m.part == Part::Host);
    let said = metric.map(|metric| format!("cpu/o : {} ({})", metric.help, metric.unit));
    said.into_iter().flat_map(|line| [String::new(), line]).collect()
}

/// One test: absolute values of all variants, then those of the others relative to their bases.
fn costs(comparison: &Comparison, phase: &PhaseResult, lines: &mut Vec<String>) {
    let heads: Vec<&str> = columns(comparison).map(|(head, _)| head).collect();
    lines.extend([String::new(), escape::terminal(&phase.phase), "--- absolute".to_owned()]);
    lines.push(format!("{}\tdbms", heads.join("\t")));
    let line = |subject: &String, value: fn(&analysis::Cell) -> Option<String>| {
        let cells = columns(comparison).map(|(_, metric)| phase.cell(subject, metric));
        let texts: Vec<String> =
            cells.map(|cell| cell.and_then(value).unwrap_or_else(|| "-".to_owned())).collect();
        format!("{}\t{}", texts.join("\t"), escape::terminal(subject))
    };
    let absolute = |cell: &analysis::Cell| {
        let number = |value| match cell.metric.unit {
            // As published: a share of all CPUs per operation is small.
            "% s/op" => format!("{value:.6}"),
            _ => number::value(value),
        };
        missed(cell).or(cell.value.map(number))
    };
    lines.extend(comparison.subjects.iter().map(|subject| line(subject, absolute)));
    let compared = comparison.subjects.iter().filter(|s| !comparison.bases.contains(s));
    let relative: Vec<String> = compared.map(|subject| line(subject, ratio)).collect();
    if !relative.is_empty() {
        lines.push("--- relative to the base".to_owned());
        lines.extend(relative);
    }
}

/// Less was done than was asked for, so no number stands for it.
fn missed(cell: &analysis::Cell) -> Option<String> {
    cell.missed().map(|_| "missed".to_owned())
}

/// As published: nothing relative to nothing is 1, something relative to nothing is infinite.
fn ratio(cell: &analysis::Cell) -> Option<String> {
    if cell.missed().is_some() {
        return missed(cell);
    }
    match (cell.base_value?, cell.value?) {
        // The reason for a missing ratio is elsewhere.
        _ if cell.ratio.is_none() && cell.reason.is_some() => None,
        (0.0, 0.0) => Some("1".to_owned()),
        (0.0, _) => Some("inf".to_owned()),
        _ => cell.ratio.map(number::ratio),
    }
}
