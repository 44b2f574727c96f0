//! Curves over the number of users.

use super::{add, axis};
use crate::{
    chart::{Line, Lines, Scale},
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    number,
    words::{self, THROUGHPUT},
};
use analysis::{Bend, KNEE_SHARE, PhaseResult, Scalability};
use model::{grouped, number::counted};

/// Charts over the number of clients, for tests that were measured with several. A load is the same
/// whatever number of users comes after it.
pub(super) fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let phases = inputs.comparison.phases.iter().filter(|phase| phase.workload != words::LOAD);
    let mut tests = grouped(phases.map(|phase| (test(phase), phase)));
    tests.retain(|(_, phases)| phases.iter().any(|p| p.clients != phases[0].clients));
    let charts = charts(inputs, &tests);
    add(document, "What changes with the number of users; the peak is marked.", charts);
    if let Some(table) = bends(inputs, &tests) {
        document.paragraph(format!(
            "Peak: the measured number of users with the largest throughput. Knee: the least \
             number of users with {} % of it; more of them mostly wait.",
            100.0 * KNEE_SHARE
        ));
        document.items.push(Item::Table(table));
    }
    if let Some(table) = scalability(inputs, &tests) {
        document.paragraph(
            "The Universal Scalability Law, X(N) = λN / (1 + σ(N − 1) + κN(N − 1)), fitted to the \
             throughput of each test. λ: throughput of one user. σ: the share of an operation for \
             which users wait for each other. κ: what each pair of users costs each other, as a \
             share of an operation. Peak: the number of users with the largest throughput by this \
             law. A deviation of more than some percent says that the law does not describe the \
             test, as where users share few processors with what serves them.",
        );
        document.items.push(Item::Table(table));
    }
}

/// Phases of one test with different numbers of users.
type Test<'a> = (String, Vec<&'a PhaseResult>);

fn charts(inputs: &Inputs<'_>, tests: &[Test<'_>]) -> Vec<Lines> {
    let per_operation = |metric: &'static str, what: &str| Ladder {
        metric,
        what: format!("{what}{} per operation", words::whose(metric)),
    };
    let kinds = [
        Ladder { metric: THROUGHPUT, what: "throughput".to_owned() },
        Ladder { metric: "latency_us_p95", what: "95th percentile".to_owned() },
        per_operation("foreground_user_instructions_per_op", "user instructions"),
        per_operation(words::cpu(inputs.comparison), "CPU time"),
        per_operation(words::switches(inputs.comparison), "context switches"),
    ];
    let charts = tests.iter().flat_map(|(name, phases)| {
        kinds.iter().map(move |kind| ladder(inputs, name, phases, kind))
    });
    charts.filter(|chart| !chart.lines.is_empty() && differ(&chart.lines)).collect()
}

/// Whether lines lie apart anywhere: of lines upon each other only the last would be seen. One line
/// alone is seen.
fn differ(lines: &[Line]) -> bool {
    let others = lines.iter().skip(1);
    lines.len() == 1 || others.into_iter().any(|line| line.segments != lines[0].segments)
}

/// What a phase is called without its number of users: one workload may be measured at several
/// places of a suite, and each of them has a curve of its own.
fn test(phase: &PhaseResult) -> String {
    phase.name_without("clients", &phase.clients.to_string())
}

/// A metric over the number of clients.
struct Ladder {
    metric: &'static str,
    what: String,
}

fn ladder(inputs: &Inputs<'_>, name: &str, phases: &[&PhaseResult], kind: &Ladder) -> Lines {
    let Ladder { metric, what } = kind;
    let mut cells = phases.iter().flat_map(|phase| &phase.cells);
    // Archives may have a metric in another unit.
    let unit = cells.find(|cell| cell.metric.name == *metric).map_or("", |cell| cell.metric.unit);
    let line = |subject: &String| {
        let point = |phase: &&PhaseResult| {
            Some((f64::from(phase.clients), phase.cell(subject, metric)?.value?))
        };
        let mut points: Vec<(f64, f64)> = phases.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        // Of equal ones the first, as in the table of peaks.
        let peak = points.iter().rev().copied().max_by(|a, b| a.1.total_cmp(&b.1));
        Line {
            name: subject.clone(),
            class: inputs.palette.class(subject),
            segments: vec![points],
            peak: peak.filter(|_| *metric == THROUGHPUT),
        }
    };
    let lines = inputs.comparison.subjects.iter().map(line);
    let lines: Vec<Line> = lines.filter(|line| !line.segments[0].is_empty()).collect();
    let peaks = lines.iter().filter_map(|line| {
        let (clients, value) = line.peak?;
        let users = counted(clients as u64, "user");
        Some(format!("{} peaks at {} with {users}", line.name, number::value(value)))
    });
    Lines {
        milestones: Vec::new(),
        title: format!("{name}: {what}"),
        description: format!("{what} over users. {}", peaks.collect::<Vec<_>>().join("; ")),
        x: axis("users", Scale::Log2),
        y: axis(unit, Scale::Zero),
        lines,
    }
}

/// Throughput of a subject over users.
fn throughput(phases: &[&PhaseResult], subject: &str) -> Vec<(f64, f64)> {
    let point = |phase: &&PhaseResult| {
        Some((f64::from(phase.clients), phase.cell(subject, THROUGHPUT)?.value?))
    };
    phases.iter().filter_map(point).collect()
}

/// Peak and knee of each curve of throughput; none where there is no curve.
fn bends(inputs: &Inputs<'_>, tests: &[Test<'_>]) -> Option<Table> {
    let row = |name: &str, phases: &[&PhaseResult], subject: &String| {
        let bend = Bend::of(&throughput(phases, subject))?;
        let cells = [bend.peak, bend.knee].map(|users| TableCell::Text(format!("{users:.0}")));
        Some(Row::named(format!("{name}, {subject}"), cells))
    };
    let columns = ["peak", "knee"].map(|title| Column::numbers(title, "users"));
    table(inputs, tests, columns.into(), row)
}

/// A row for each curve that has one; none where there is no row.
fn table(
    inputs: &Inputs<'_>,
    tests: &[Test<'_>],
    columns: Vec<Column>,
    row: impl Fn(&str, &[&PhaseResult], &String) -> Option<Row>,
) -> Option<Table> {
    let subjects = &inputs.comparison.subjects;
    let rows = tests.iter().flat_map(|(name, phases)| {
        let row = &row;
        subjects.iter().filter_map(move |one| row(name, phases, one))
    });
    let rows: Vec<Row> = rows.collect();
    let columns = [Column::words("test, variant")].into_iter().chain(columns).collect();
    (!rows.is_empty()).then_some(Table { columns, rows })
}

/// What the law says of each curve of throughput; none where no test has enough points.
fn scalability(inputs: &Inputs<'_>, tests: &[Test<'_>]) -> Option<Table> {
    let row = |name: &str, phases: &[&PhaseResult], subject: &String| {
        let law = Scalability::fit(&throughput(phases, subject))?;
        let percent = |share: f64| TableCell::Text(format!("{:.3} %", 100.0 * share));
        let peak =
            law.peak().map_or(TableCell::Missing, |users| TableCell::Text(number::value(users)));
        let cells = [
            TableCell::Number(law.one),
            percent(law.contention),
            percent(law.coherency),
            peak,
            percent(law.residual),
        ];
        Some(Row::named(format!("{name}, {subject}"), cells))
    };
    let numbers = ["λ", "σ", "κ", "peak", "largest deviation"];
    let units = ["1/s", "", "", "users", ""];
    let columns = numbers.into_iter().zip(units).map(|(title, unit)| Column::numbers(title, unit));
    table(inputs, tests, columns.collect(), row)
}
