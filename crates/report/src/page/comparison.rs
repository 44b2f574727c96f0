//! The tables for people: throughput at a glance, then every phase with its costs.

use super::Page;
use crate::{
    Details, Names, Report,
    document::{Column, Document, Item, Row, Table, TableCell},
    first_screen::FirstScreen,
    layout, screen, section,
    sentence::Label,
    trust,
    words::{self, THROUGHPUT, groups},
};
use analysis::{Comparison, PhaseResult, Reason};
use model::{metric::Metric, number::counted};

/// The metrics of the details if none are asked for.
fn usual(comparison: &Comparison) -> Vec<&'static Metric> {
    let names = [
        THROUGHPUT,
        "latency_us_p50",
        "latency_us_p99",
        "foreground_user_instructions_per_op",
        "server_user_instructions_per_op",
        words::cpu(comparison),
        "client_cpu_us_per_op",
        words::switches(comparison),
        "read_kib_per_op",
        "write_kib_per_op",
    ];
    let known =
        |name: &&str| *name == THROUGHPUT || comparison.phases.iter().any(|phase| has(phase, name));
    let mut names: Vec<&str> = names.into_iter().filter(known).collect();
    if !names.iter().any(|name| name.starts_with(LATENCY)) {
        // Archives have the percentiles that their tool prints.
        let others = analysis::METRICS.iter().map(|metric| metric.name);
        let found = others.filter(|name| name.starts_with(LATENCY)).filter(known).take(2);
        names.splice(1..1, found.collect::<Vec<_>>());
    }
    names.into_iter().filter_map(analysis::metric).collect()
}

const LATENCY: &str = "latency_us_";

/// What is shown beside the usual metrics: in words, the metric that decides for which phases, and
/// all of them.
const BESIDE: [(&str, &str, &[&str]); 2] = [
    (
        "Statements that may match no row; effective statements changed one:",
        "server_cpu_us_per_effective_op",
        &[
            "queries_per_second",
            "effective_ops_per_second",
            "rows_changed_per_op",
            "foreground_user_instructions_per_effective_op",
            "server_user_instructions_per_effective_op",
            "server_cpu_us_per_effective_op",
        ],
    ),
    (
        "Rows by all clients, and by one of them, as published before and since April 2025:",
        "rows_per_client_per_second",
        &["rows_per_second", "rows_per_client_per_second"],
    ),
];

/// Room for a ratio in the overview, with the number of phases that it covers.
const RATIO_WIDTH: usize = 8;

/// Room for the words before a group's mean.
const GROUP_WIDTH: usize = 22;

/// Longest label that stands in the head of a column.
const LABEL_WIDTH: usize = 30;

/// Lines of costs and of the overview that are printed unless they are asked for: about two screens
/// each.
const COST_LINES: usize = 70;
const OVERVIEW_LINES: usize = 140;

/// Stacked tables from which on numbers are more readable than labels.
const STACKED: usize = 3;

pub(super) const PAGE: Page = Page { name: "comparison", document };

fn document(report: &Report) -> Document {
    let mut document = Document::default();
    if report.comparisons.is_empty() {
        document.paragraph("nothing is recorded yet");
    }
    let nothing = Details::default();
    for (index, comparison) in report.comparisons.iter().enumerate() {
        let details = report.details.get(index).unwrap_or(&nothing);
        let short = Names::of(&comparison.subjects, &report.view.aliases);
        let comparison = &*short.comparison(comparison);
        let labels = labels(comparison, report.screen.columns);
        let metrics = printed(comparison, &report.metrics);
        let screen = FirstScreen { comparison, details, names: &short, labels: &labels };
        screen.write(&metrics, &mut document);
        short.legend().into_iter().for_each(|said| document.paragraph(said));
        let names: Vec<String> = labels.into_iter().map(|label| label.short).collect();
        overview(comparison, &names, report, &mut document);
        if report.metrics.is_empty() {
            recalls(comparison, &mut document);
        }
        self::details(comparison, &names, &report.metrics, &mut document);
        let method = trust::behind_ratios(comparison).into_iter().map(Item::Paragraph);
        document.items.extend(method);
        let warnings = comparison.warnings.iter().cloned().map(Item::Warning);
        document.items.extend(warnings);
    }
    document
}

/// Vector indexes: rates where variants find the same share of the nearest rows.
fn recalls(comparison: &Comparison, document: &mut Document) {
    let Some(table) = section::recall::table(comparison) else { return };
    document.heading(2, section::recall::TITLE);
    document.items.push(Item::Table(table));
}

/// The metric of the answer: phases by variants, each group under its geometric mean.
fn overview(comparison: &Comparison, names: &[String], report: &Report, document: &mut Document) {
    if comparison.phases.is_empty() {
        document.paragraph("No slice was measured.");
        return;
    }
    let lead = comparison.lead();
    let is_asked = report.metrics.iter().any(|metric| metric.name == lead.name);
    if !is_asked && !report.metrics.is_empty() {
        return;
    }
    let base_unit = lead.unit;
    let what = words::capitalized(&words::noun(lead));
    let title = match comparison.subjects.len() > comparison.bases.len() {
        _ if base_unit == "ratio" => "Throughput: the archive has only ratios to the base (rQPS)",
        true if lead.name == THROUGHPUT => {
            "Throughput: operations per second of the base, ratios of the variants (rQPS)"
        }
        false if lead.name == THROUGHPUT => "Throughput: operations per second",
        true => &format!("{what}: values of the base, ratios of the variants"),
        false => &what,
    };
    document.heading(2, title);
    let mut table = Table { columns: vec![Column::words("test")], ..Table::default() };
    for (subject, title) in comparison.subjects.iter().zip(names) {
        let unit = if comparison.bases.contains(subject) { base_unit } else { "ratio" };
        table.columns.push(Column::numbers(title, unit));
    }
    let lines = comparison.phases.len() * stacked(comparison, names, report.screen.columns);
    let is_short = report.metrics.is_empty() && lines > OVERVIEW_LINES;
    for (group, phases) in groups(comparison) {
        table.rows.push(Row::Section(words::group(group).to_owned()));
        let several = phases.len() > 1 && comparison.subjects.len() > comparison.bases.len();
        if several {
            let means = comparison.subjects.iter().map(|subject| {
                let mean = section::answer::mean_cell(&phases, subject, lead);
                mean.unwrap_or_else(|| TableCell::Text(String::new()))
            });
            table.rows.push(Row::named(format!("  geometric mean of {}", phases.len()), means));
            table.rows.extend(intervals(comparison, &phases));
        }
        for phase in phases.into_iter().filter(|_| !(is_short && several)) {
            let cells = comparison.subjects.iter().map(|subject| glance(phase, subject, lead));
            table.rows.push(Row::named(format!("  {}", phase.phase), cells));
        }
    }
    document.items.push(Item::Table(table));
    if is_short {
        document.paragraph(format!(
            "{what} per test: left out ({}), `--metric {}` prints it.",
            counted(lines, "line"),
            lead.name
        ));
    }
}

/// What tables call the variants: their labels, or numbers if labels leave no room.
fn labels(comparison: &Comparison, columns: Option<usize>) -> Vec<Label> {
    let subjects = &comparison.subjects;
    let longest = subjects.iter().map(|subject| length(subject)).max().unwrap_or(0);
    let named = longest <= LABEL_WIDTH.min(columns.unwrap_or(usize::MAX) / 2)
        && stacked(comparison, subjects, columns) < STACKED;
    let label = |(index, subject): (usize, &String)| match named {
        true => Label { short: subject.clone(), full: format!("`{subject}`") },
        false => {
            let short = format!("#{}", index + 1);
            Label { full: format!("{short} `{subject}`"), short }
        }
    };
    subjects.iter().enumerate().map(label).collect()
}

fn length(text: &str) -> usize {
    screen::width(text)
}

/// How many tables under each other the overview is with these names of variants.
fn stacked(comparison: &Comparison, names: &[String], columns: Option<usize>) -> usize {
    let widths: Vec<usize> = names.iter().map(|name| length(name).max(RATIO_WIDTH)).collect();
    let phases = comparison.phases.iter().map(|phase| length(&phase.phase) + 2).max();
    layout::stacked(phases.unwrap_or(0).max(GROUP_WIDTH), &widths, columns)
}

/// A base's value or a variant's ratio.
fn glance(phase: &PhaseResult, subject: &str, lead: &Metric) -> TableCell {
    let Some(cell) = phase.cell(subject, lead.name) else { return TableCell::Missing };
    match (&cell.base, cell.value, cell.ratio) {
        (_, Some(value), _) if cell.missed().is_some() => TableCell::Missed(Some(value)),
        (None, Some(value), _) => TableCell::Number(value),
        (Some(_), Some(_), Some(ratio)) => TableCell::judged(ratio, cell.verdict),
        _ => broken(cell),
    }
}

fn broken(cell: &analysis::Cell) -> TableCell {
    if words::is_failed(cell) { TableCell::Failed } else { TableCell::Missing }
}

/// The intervals of a group's means, if there are any.
fn intervals(comparison: &Comparison, phases: &[&PhaseResult]) -> Option<Row> {
    let lead = comparison.lead().name;
    let ends = |subject: &String| {
        analysis::mean_interval(phases.iter().copied(), subject, lead, &comparison.looks)
            .map(words::ends)
    };
    let ends: Vec<Option<String>> = comparison.subjects.iter().map(ends).collect();
    let known = ends.iter().any(Option::is_some);
    let cells = ends.into_iter().map(|ends| TableCell::Text(ends.unwrap_or_default()));
    known.then(|| Row::named(format!("  {}", words::interval_title()), cells))
}

/// The metrics whose values are printed.
fn shown(comparison: &Comparison, asked: &[&'static Metric]) -> Vec<&'static Metric> {
    match asked {
        [] if are_too_many(comparison) => vec![comparison.lead()],
        [] => usual(comparison),
        asked => asked.to_vec(),
    }
}

/// The same with those that are shown beside them.
fn printed(comparison: &Comparison, asked: &[&'static Metric]) -> Vec<&'static Metric> {
    let mut metrics = shown(comparison, asked);
    if asked.is_empty() && !are_too_many(comparison) {
        let is_there = |own: &str| comparison.phases.iter().any(|phase| has(phase, own));
        let beside = BESIDE.iter().filter(|(_, own, _)| is_there(own));
        let beside = beside.flat_map(|(_, _, metrics)| *metrics);
        metrics.extend(beside.filter_map(|name| analysis::metric(name)));
    }
    metrics
}

fn cost_lines(comparison: &Comparison) -> usize {
    comparison.phases.len() * (2 * comparison.subjects.len() + 1)
}

fn are_too_many(comparison: &Comparison) -> bool {
    cost_lines(comparison) > COST_LINES
}

/// Every phase with its costs: a line per variant, and its ratios under it. Where these
/// are more than two screens, they have to be asked for.
fn details(
    comparison: &Comparison,
    names: &[String],
    asked: &[&'static Metric],
    document: &mut Document,
) {
    if asked.is_empty() && are_too_many(comparison) {
        let lines = counted(cost_lines(comparison), "line");
        document.paragraph(format!(
            "Costs per test are left out ({lines}): `--variant` chooses variants, \
             `--metric` prints a metric of all, and `dbdyno report` writes everything as a page."
        ));
        return;
    }
    let metrics = shown(comparison, asked);
    for (group, phases) in groups(comparison) {
        let heading = match group {
            "" => words::UNGROUPED.to_owned(),
            group => format!("Group {group}"),
        };
        document.heading(2, heading);
        document.items.push(Item::Table(costs(&phases, comparison, names, &metrics)));
        if asked.is_empty() {
            beside(&phases, comparison, names, document);
        }
    }
}

/// Under the usual tables, for the phases that have such: another definition of the rate, and what
/// it costs by that.
fn beside(
    phases: &[&PhaseResult],
    comparison: &Comparison,
    names: &[String],
    document: &mut Document,
) {
    for (words, own, metrics) in BESIDE {
        let having = phases.iter().filter(|phase| has(phase, own));
        let known = metrics.iter().filter(|name| having.clone().any(|phase| has(phase, name)));
        let known: Vec<&Metric> = known.filter_map(|name| analysis::metric(name)).collect();
        if known.is_empty() {
            continue;
        }
        document.paragraph(words);
        let having: Vec<&PhaseResult> = having.copied().collect();
        document.items.push(Item::Table(costs(&having, comparison, names, &known)));
    }
}

/// Metrics of some phases, a line per variant and one for its ratios.
fn costs(
    phases: &[&PhaseResult],
    comparison: &Comparison,
    names: &[String],
    metrics: &[&Metric],
) -> Table {
    let mut table = Table { columns: vec![Column::words("variant")], ..Table::default() };
    table.columns.extend(metrics.iter().map(|metric| column(metric)));
    for phase in phases {
        table.rows.push(Row::Section(title(phase)));
        for (subject, name) in comparison.subjects.iter().zip(names) {
            table.rows.extend(rows(phase, subject, name, metrics));
        }
    }
    table
}

/// Whether a phase has a value of a metric, of any subject.
fn has(phase: &PhaseResult, metric: &str) -> bool {
    let mut cells = phase.cells.iter().filter(|cell| cell.metric.name == metric);
    cells.any(|cell| cell.value.is_some())
}

fn title(phase: &PhaseResult) -> String {
    let range = phase.range.map(|range| format!("range {range}"));
    let parts = [Some(phase.phase.clone()), range, words::clients(phase.clients)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn column(metric: &Metric) -> Column {
    Column { short: metric.short.to_owned(), ..Column::numbers(metric.title, metric.unit) }
}

fn rows(phase: &PhaseResult, subject: &str, name: &str, metrics: &[&Metric]) -> Vec<Row> {
    let cells: Vec<_> = metrics.iter().map(|metric| phase.cell(subject, metric.name)).collect();
    let value = |cell: &Option<&analysis::Cell>| match cell {
        // The rate says how much was done; of the costs of less work nothing is to be said.
        Some(cell) if cell.missed().is_some() => {
            TableCell::Missed(cell.value.filter(|_| cell.metric.name == THROUGHPUT))
        }
        Some(cell) => cell.value.map_or_else(|| broken(cell), TableCell::Number),
        None => phase.failure(subject).map_or(TableCell::Missing, |_| TableCell::Failed),
    };
    let mut rows = vec![Row::named(format!("  {name}"), cells.iter().map(value))];
    let ratio = |cell: &Option<&analysis::Cell>| {
        let judged = |cell: &analysis::Cell| Some(TableCell::judged(cell.ratio?, cell.verdict));
        cell.and_then(judged).unwrap_or(TableCell::Missing)
    };
    if cells.iter().flatten().any(|cell| cell.ratio.is_some()) {
        rows.push(Row::named("    relative", cells.iter().map(ratio)));
    }
    let failure = || phase.failure(subject).filter(|reason| **reason != Reason::NotMeasured);
    let told = cells.iter().flatten().find_map(|cell| told(cell));
    rows.extend(told.or_else(|| failure().map(words::reason)).map(Row::Note));
    rows
}

/// Why a cell has no value or no ratio, beyond that nothing was measured.
fn told(cell: &analysis::Cell) -> Option<String> {
    let failed = cell.failed().map(words::reason);
    let own = failed.or_else(|| cell.missed().map(ToString::to_string));
    let other = || match cell.reason.as_ref()? {
        // A warning says it once for all tests.
        Reason::NotMeasured | Reason::Disturbed(_) => None,
        // Of several metrics one was not measured: which one must be said.
        reason if *reason.itself() == Reason::NotMeasured => {
            Some(format!("{}: {}", cell.metric.title, words::reason(reason)))
        }
        reason => Some(words::reason(reason)),
    };
    own.or_else(other)
}
