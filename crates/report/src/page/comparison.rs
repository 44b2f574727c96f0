//! The tables for people: throughput at a glance, then every phase with its costs.

use super::Page;
use crate::{
    Names, Report,
    document::{Cell, Column, Document, Item, Row, Table},
    layout::{self, PAGE_WIDTH},
    number, status,
    words::{self, groups},
};
use analysis::{Comparison, PhaseResult, geometric_mean};
use model::metric::Metric;

/// The metric of the overview.
const OVERVIEW: &str = "ops_per_second";

/// The metrics of the details if none are asked for.
fn usual(comparison: &Comparison) -> [&'static str; 8] {
    [
        OVERVIEW,
        "foreground_user_instructions_per_op",
        "server_user_instructions_per_op",
        words::cpu(comparison),
        "client_cpu_us_per_op",
        words::switches(comparison),
        "read_kib_per_op",
        "write_kib_per_op",
    ]
}

/// What is shown beside the usual metrics: in words, the metric that decides for which phases, and
/// all of them.
const BESIDE: [(&str, &str, &[&str]); 2] = [
    (
        "Statements that may find no row to change; effective are those that changed one:",
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

/// Longest label for which the details still fit a page.
const LABEL_WIDTH: usize = 30;

/// Columns of numbers beside the names that fit a page.
const DETAILS_WIDE: usize = 8;

pub(super) struct ComparisonPage;

impl Page for ComparisonPage {
    fn name(&self) -> &'static str {
        "comparison"
    }

    fn document(&self, report: &Report) -> Document {
        let mut document = Document::default();
        if report.comparisons.is_empty() {
            document.paragraph("nothing is recorded yet");
        }
        for comparison in &report.comparisons {
            let short = Names::of(&comparison.subjects, &report.view.aliases);
            let comparison = &*short.comparison(comparison);
            head(comparison, &mut document);
            short.legend().into_iter().for_each(|said| document.paragraph(said));
            let names = names(comparison, &mut document);
            overview(comparison, &names, &mut document);
            details(comparison, &names, &report.metrics, &mut document);
            let warnings = comparison.warnings.iter().cloned().map(Item::Warning);
            document.items.extend(warnings);
        }
        document
    }
}

/// The question, and an answer in one sentence per variant.
fn head(comparison: &Comparison, document: &mut Document) {
    let question = [&comparison.question, &comparison.experiment];
    let title = question.into_iter().find(|text| !text.is_empty());
    document.heading(1, title.map_or("", String::as_str));
    status::line(comparison).into_iter().for_each(|line| document.paragraph(line));
    for subject in &comparison.subjects {
        document.items.extend(answer(comparison, subject).into_iter().map(Item::Paragraph));
    }
    words::trust(comparison).into_iter().for_each(|said| document.paragraph(said));
    let warnings = comparison.warnings.len();
    if warnings > 0 {
        document.paragraph(format!("Warnings: {warnings}, at the end."));
    }
}

/// How a variant stands to its base, and how often it broke.
fn answer(comparison: &Comparison, subject: &str) -> Vec<String> {
    let mut ratios = Vec::new();
    let mut base = None;
    let counted = comparison.counted();
    for cell in counted.iter().filter_map(|phase| phase.cell(subject, OVERVIEW)) {
        ratios.extend(cell.ratio);
        base = base.or(cell.base.as_ref());
    }
    let broken = status::broken(comparison, subject);
    let (Some(base), Some(mean)) = (base, geometric_mean(&ratios)) else {
        // A base is told too, since nothing compares where it broke.
        return match broken.as_str() {
            "" => Vec::new(),
            broken => vec![format!("`{subject}` {broken}: nothing of that can be compared.")],
        };
    };
    let low = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut said = vec![format!(
        "`{subject}` does {} of the throughput of `{base}`: geometric mean of {} of {} phases, \
         from {} to {}.",
        number::ratio(mean),
        ratios.len(),
        counted.len(),
        number::ratio(low),
        number::ratio(high),
    )];
    said.extend(
        comparison
            .mean_interval(subject, OVERVIEW)
            .map(|ends| format!("`{subject}`: {} for that mean.", words::interval(ends))),
    );
    if !broken.is_empty() {
        said.push(format!("`{subject}` {broken}."));
    }
    said
}

/// Throughput: phases by variants, each group under its geometric mean.
fn overview(comparison: &Comparison, names: &[String], document: &mut Document) {
    if comparison.phases.is_empty() {
        document.paragraph("No slice was measured.");
        return;
    }
    document.heading(2, "Throughput: operations per second of a base, then ratios to it (rQPS)");
    let mut table = Table { columns: vec![Column::words("phase")], ..Table::default() };
    for (subject, title) in comparison.subjects.iter().zip(names) {
        let unit = if comparison.bases.contains(subject) { "1/s" } else { "ratio" };
        table.columns.push(Column::numbers(title, unit));
    }
    for (group, phases) in groups(comparison) {
        table.rows.push(Row::Section(group.to_owned()));
        let several = phases.len() > 1 && comparison.subjects.len() > comparison.bases.len();
        if several {
            let name = Cell::Text(format!("  geometric mean of {}", phases.len()));
            let means = comparison.subjects.iter().map(|subject| mean(&phases, subject));
            table.rows.push(Row::Cells(std::iter::once(name).chain(means).collect()));
            table.rows.extend(intervals(comparison, &phases));
        }
        for phase in phases {
            let name = Cell::Text(format!("  {}", phase.phase));
            let cells = comparison.subjects.iter().map(|subject| glance(phase, subject));
            table.rows.push(Row::Cells(std::iter::once(name).chain(cells).collect()));
        }
    }
    document.items.extend(layout::parts(&table).into_iter().map(Item::Table));
}

/// What tables call the variants: their labels, or numbers with a legend if labels leave no room.
fn names(comparison: &Comparison, document: &mut Document) -> Vec<String> {
    let lengths = |texts: &mut dyn Iterator<Item = &String>| -> Vec<usize> {
        texts.map(|text| text.chars().count()).collect()
    };
    let labels = lengths(&mut comparison.subjects.iter());
    let phases = lengths(&mut comparison.phases.iter().map(|phase| &phase.phase));
    let side_by_side: usize = labels.iter().map(|length| length.max(&RATIO_WIDTH) + 2).sum();
    let longest = |lengths: &[usize]| lengths.iter().copied().max().unwrap_or(0);
    let fits = longest(&phases).max(GROUP_WIDTH) + 2 + side_by_side <= PAGE_WIDTH;
    if fits && longest(&labels) <= LABEL_WIDTH {
        return comparison.subjects.clone();
    }
    let number = |index: usize| format!("#{}", index + 1);
    for (index, subject) in comparison.subjects.iter().enumerate() {
        document.paragraph(format!("{} : `{subject}`", number(index)));
    }
    (0..comparison.subjects.len()).map(number).collect()
}

/// A base's value or a variant's ratio.
fn glance(phase: &PhaseResult, subject: &str) -> Cell {
    let Some(cell) = phase.cell(subject, OVERVIEW) else { return Cell::Missing };
    match (&cell.base, cell.value, cell.ratio) {
        (_, Some(value), _) if cell.missed().is_some() => Cell::Missed(Some(value)),
        (None, Some(value), _) => Cell::Number(value),
        (Some(_), Some(_), Some(ratio)) => Cell::judged(ratio, cell.verdict.name()),
        _ => broken(cell),
    }
}

fn broken(cell: &analysis::Cell) -> Cell {
    if words::is_failed(cell) { Cell::Failed } else { Cell::Missing }
}

/// Geometric mean of a variant's ratios in a group. A group that lacks some says how many it has.
fn mean(phases: &[&PhaseResult], subject: &str) -> Cell {
    let cells = phases.iter().filter_map(|phase| phase.cell(subject, OVERVIEW));
    let ratios: Vec<f64> = cells.filter_map(|cell| cell.ratio).collect();
    match geometric_mean(&ratios) {
        None => Cell::Text(String::new()),
        Some(ratio) if ratios.len() == phases.len() => Cell::Ratio(ratio),
        Some(ratio) => Cell::PartialRatio { ratio, count: ratios.len(), all: phases.len() },
    }
}

/// The intervals of a group's means, if there are any.
fn intervals(comparison: &Comparison, phases: &[&PhaseResult]) -> Option<Row> {
    let ends = |subject: &String| {
        analysis::mean_interval(phases.iter().copied(), subject, OVERVIEW).map(words::ends)
    };
    let ends: Vec<Option<String>> = comparison.subjects.iter().map(ends).collect();
    let known = ends.iter().any(Option::is_some);
    let name = Cell::Text(format!("  {}", words::interval_title()));
    let cells = ends.into_iter().map(|ends| Cell::Text(ends.unwrap_or_default()));
    known.then(|| Row::Cells(std::iter::once(name).chain(cells).collect()))
}

/// Every phase with its costs: a line per variant, and its ratios under it.
fn details(
    comparison: &Comparison,
    names: &[String],
    asked: &[&'static Metric],
    document: &mut Document,
) {
    let metrics: Vec<&'static Metric> = if asked.is_empty() {
        usual(comparison).into_iter().filter_map(analysis::metric).collect()
    } else {
        asked.to_vec()
    };
    for (group, phases) in groups(comparison) {
        let heading = if group.is_empty() { "Phases".to_owned() } else { format!("Group {group}") };
        document.heading(2, heading);
        for part in metrics.chunks(DETAILS_WIDE) {
            let mut table = Table { columns: vec![Column::words("variant")], ..Table::default() };
            table.columns.extend(part.iter().map(|metric| column(metric)));
            for phase in &phases {
                table.rows.push(Row::Section(title(phase)));
                for (subject, name) in comparison.subjects.iter().zip(names) {
                    table.rows.extend(rows(phase, (subject, name), part));
                }
            }
            document.items.push(Item::Table(table));
        }
        if asked.is_empty() {
            beside(&phases, (comparison, names), document);
        }
    }
}

/// Under the usual tables, for the phases that have such: another definition of the rate, and what
/// it costs by that.
fn beside(
    phases: &[&PhaseResult],
    (comparison, names): (&Comparison, &[String]),
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
        let mut table = Table { columns: vec![Column::words("variant")], ..Table::default() };
        table.columns.extend(known.iter().map(|metric| column(metric)));
        for phase in having {
            table.rows.push(Row::Section(title(phase)));
            for (subject, name) in comparison.subjects.iter().zip(names) {
                table.rows.extend(rows(phase, (subject, name), &known));
            }
        }
        document.items.push(Item::Table(table));
    }
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
    Column { short: metric.short.to_owned(), ..Column::numbers(words::title(metric), metric.unit) }
}

fn rows(phase: &PhaseResult, (subject, name): (&str, &str), metrics: &[&Metric]) -> Vec<Row> {
    let cells: Vec<_> = metrics.iter().map(|metric| phase.cell(subject, metric.name)).collect();
    let value = |cell: &Option<&analysis::Cell>| match cell {
        // The rate says how much was done; of the costs of less work nothing is to be said.
        Some(cell) if cell.missed().is_some() => {
            Cell::Missed(cell.value.filter(|_| cell.metric.name == OVERVIEW))
        }
        Some(cell) => cell.value.map_or_else(|| broken(cell), Cell::Number),
        None => phase.failure(subject).map_or(Cell::Missing, |_| Cell::Failed),
    };
    let line = |name: &str, cells: &mut dyn Iterator<Item = Cell>| {
        Row::Cells(std::iter::once(Cell::Text(name.to_owned())).chain(cells).collect())
    };
    let mut rows = vec![line(&format!("  {name}"), &mut cells.iter().map(value))];
    let ratio = |cell: &Option<&analysis::Cell>| {
        let judged = |cell: &analysis::Cell| Some(Cell::judged(cell.ratio?, cell.verdict.name()));
        cell.and_then(judged).unwrap_or(Cell::Missing)
    };
    if cells.iter().flatten().any(|cell| cell.ratio.is_some()) {
        rows.push(line("    relative", &mut cells.iter().map(ratio)));
    }
    rows.extend(told(phase.cells_of(subject)).map(Row::Note));
    rows
}

/// Why a subject has no value or no ratio in its cells, beyond that nothing was measured.
fn told(cells: &[analysis::Cell]) -> Option<String> {
    let said = |cell: &analysis::Cell| {
        let reason = cell.failed().or_else(|| cell.missed());
        reason
            .or_else(|| cell.reason.as_deref().filter(|r| r.starts_with("the base")))
            .map(str::to_owned)
    };
    cells.iter().find_map(said)
}
