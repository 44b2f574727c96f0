//! Curves: load, time, latency and memory.

mod ladders;
mod memory;

use super::Section;
use crate::{
    chart::{Axis, Chart, Line, Lines, Scale, thinned},
    document::{Document, Item},
    inputs::Inputs,
    number,
};
use analysis::{Curve, PhaseColumn, RoleTimes};
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
    let told = analysis::phase_columns(inputs.comparison);
    ladders::write(inputs, &mut inner);
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
        let line = |curve: &&Curve| {
            let segments = thinned(&curve.segments, inputs.budget());
            Line::new(&curve.subject, inputs.palette.class(&curve.subject), segments)
        };
        Lines {
            milestones: Vec::new(),
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
