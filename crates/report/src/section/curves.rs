//! Curves: load, time, latency and memory.

mod memory;

use super::Section;
use crate::{
    chart::{Axis, Chart, Line, Lines, Scale, thinned},
    document::{Document, Item},
    inputs::Inputs,
    number,
    words::{self, THROUGHPUT},
};
use analysis::{Curve, PhaseColumn, PhaseResult, RoleTimes};
use model::grouped;

/// A kind of charts, one chart per phase: what they are called and what their axes are.
struct Form {
    what: &'static str,
    x: Axis,
    y: Axis,
}

pub(super) const SECTION: Section = Section { name: "curves", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let details = inputs.details;
    let mut inner = Document::default();
    let ladders = ladders(inputs);
    let told = analysis::phase_columns(inputs.comparison);
    add(&mut inner, "Throughput and latency over users; the peak is marked.", ladders);
    let time = || axis("measured seconds of all slices, one after the other", Scale::Zero);
    let form = Form { what: "throughput over time", x: time(), y: axis("1/s", Scale::Zero) };
    let text = "The metric of the table, second by second, all variants on one axis.";
    add(&mut inner, text, charts(inputs, &untold(&told, &details.throughput), &form));
    let form = Form { what: "largest latency over time", x: time(), y: axis("ms", Scale::Log10) };
    let text = "The largest service time of each second; peaks are stalls.";
    fold(&mut inner, text, charts(inputs, &untold(&told, &details.stalls), &form));
    let shares = axis("cumulative share of operations", Scale::Nines);
    let form = Form { what: "latency", x: shares, y: axis("us", Scale::Log10) };
    let text = "Service times of all measured slices by percentile; of roles, the response times.";
    let mut latency = details.latency.clone();
    latency.extend(by_role(&told, &details.role_times));
    add(&mut inner, text, charts(inputs, &latency, &form));
    memory::write(inputs, &mut inner);
    if !inner.items.is_empty() {
        document.section("curves", "Curves");
        document.items.extend(inner.items);
    }
}

/// The curves of phases that are not told step by step.
fn untold(told: &[PhaseColumn], curves: &[Curve]) -> Vec<Curve> {
    let told = |curve: &&Curve| told.iter().any(|column| column.phase == curve.phase);
    curves.iter().filter(|curve| !told(curve)).cloned().collect()
}

/// Response times by percentile of each role, of the phases that are not told step by step.
fn by_role(told: &[PhaseColumn], times: &[RoleTimes]) -> Vec<Curve> {
    let curve = |times: &RoleTimes| Curve {
        subject: times.subject.clone(),
        phase: format!("{}: {}", times.phase, times.role),
        segments: vec![times.points.clone()],
    };
    let own = times.iter().filter(|times| told.iter().all(|column| column.phase != times.phase));
    own.filter(|times| !times.points.is_empty()).map(curve).collect()
}

fn add(document: &mut Document, text: &str, charts: Vec<Lines>) {
    if !charts.is_empty() {
        document.paragraph(text);
        document.chart(Chart::Lines(charts));
    }
}

fn fold(document: &mut Document, text: &str, charts: Vec<Lines>) {
    if !charts.is_empty() {
        document.fold(text, vec![Item::Chart(Box::new(Chart::Lines(charts)))]);
    }
}

/// One chart per phase in the order of the curves.
fn charts(inputs: &Inputs<'_>, curves: &[Curve], form: &Form) -> Vec<Lines> {
    let charts = grouped(curves.iter().map(|curve| (curve.phase.as_str(), curve)));
    let order = |curve: &&Curve| {
        inputs.comparison.subjects.iter().position(|subject| *subject == curve.subject)
    };
    let chart = |(phase, mut own): (&str, Vec<&Curve>)| {
        own.sort_by_key(order);
        let line = |curve: &&Curve| Line {
            name: curve.subject.clone(),
            class: inputs.palette.class(&curve.subject),
            segments: thinned(&curve.segments, inputs.budget()),
            peak: None,
        };
        Lines {
            title: if phase.is_empty() { form.what.to_owned() } else { phase.to_owned() },
            description: format!("{}: {}", form.what, ends(&own)),
            x: form.x.clone(),
            y: form.y.clone(),
            lines: own.iter().map(line).collect(),
        }
    };
    charts.into_iter().map(chart).collect()
}

pub(super) fn axis(title: &str, scale: Scale) -> Axis {
    Axis { title: title.to_owned(), scale, ..Axis::default() }
}

/// The least and the largest value of each curve, for readers who do not see them.
pub(super) fn ends(curves: &[&Curve]) -> String {
    let said = |curve: &&Curve| {
        let values = || curve.segments.iter().flatten().map(|point| point.1);
        let (low, high) =
            (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        format!("{} from {} to {}", curve.subject, number::value(low), number::value(high))
    };
    curves.iter().map(said).collect::<Vec<_>>().join("; ")
}

/// Charts over the number of clients, for tests that were measured with several. A load is the same
/// whatever number of users comes after it.
fn ladders(inputs: &Inputs<'_>) -> Vec<Lines> {
    let phases = inputs.comparison.phases.iter().filter(|phase| phase.workload != words::LOAD);
    let mut tests = grouped(phases.map(|phase| (test(phase), phase)));
    tests.retain(|(_, phases)| phases.iter().any(|p| p.clients != phases[0].clients));
    let kinds = [
        Ladder { metric: THROUGHPUT, what: "throughput", unit: "1/s" },
        Ladder { metric: "latency_us_p95", what: "95th percentile", unit: "us" },
        Ladder {
            metric: "foreground_user_instructions_per_op",
            what: "user instructions per operation",
            unit: "1/op",
        },
        Ladder {
            metric: words::cpu(inputs.comparison),
            what: "CPU time per operation",
            unit: "us/op",
        },
        Ladder {
            metric: words::switches(inputs.comparison),
            what: "context switches per operation",
            unit: "1/op",
        },
    ];
    let charts = tests.iter().flat_map(|(name, phases)| {
        kinds.iter().map(move |kind| ladder(inputs, name, phases, kind))
    });
    charts.filter(|chart| !chart.lines.is_empty()).collect()
}

/// What a phase is called without its number of users: one workload may be measured at several
/// places of a suite, and each of them has a curve of its own.
fn test(phase: &PhaseResult) -> String {
    let level = format!("clients{}", phase.clients);
    let mut parts: Vec<&str> = phase.phase.split('.').collect();
    if let Some(at) = parts.iter().rposition(|part| *part == level) {
        parts.remove(at);
    }
    parts.join(".")
}

/// A metric over the number of clients.
struct Ladder {
    metric: &'static str,
    what: &'static str,
    unit: &'static str,
}

fn ladder(inputs: &Inputs<'_>, name: &str, phases: &[&PhaseResult], kind: &Ladder) -> Lines {
    let Ladder { metric, what, unit } = kind;
    let line = |subject: &String| {
        let point = |phase: &&PhaseResult| {
            Some((f64::from(phase.clients), phase.cell(subject, metric)?.value?))
        };
        let mut points: Vec<(f64, f64)> = phases.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let peak = points.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
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
        Some(format!("{} peaks at {} with {clients} users", line.name, number::value(value)))
    });
    Lines {
        title: format!("{name}: {what}"),
        description: format!("{what} over users. {}", peaks.collect::<Vec<_>>().join("; ")),
        x: axis("users", Scale::Log2),
        y: axis(unit, Scale::Zero),
        lines,
    }
}
