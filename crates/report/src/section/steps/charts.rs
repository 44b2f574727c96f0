//! What the roles of a step did second by second, all variants on one axis.

use super::Step;
use crate::{
    chart::{Axis, Chart, Line, Lines, Scale, thinned},
    document::Document,
    inputs::Inputs,
    number,
    section::curves::{axis, ends},
};
use analysis::{Curve, RoleCurve, RoleTimes};
use model::workload::Counts;

const SECONDS: &str = "measured seconds";

/// Two charts per role: its rate, and the largest response time of each second.
pub(super) fn add(inputs: &Inputs<'_>, step: &Step<'_>, document: &mut Document) {
    let own = |curve: &&RoleCurve| curve.rate.phase == step.column.phase;
    let curves: Vec<&RoleCurve> = inputs.details.roles.iter().filter(own).collect();
    let mut roles: Vec<&str> = Vec::new();
    for curve in &curves {
        if !roles.contains(&curve.role.as_str()) {
            roles.push(&curve.role);
        }
    }
    let charts: Vec<Lines> = roles
        .iter()
        .flat_map(|role| {
            let own = curves.iter().filter(|curve| curve.role == *role);
            let mut charts = pair(inputs, role, &own.copied().collect::<Vec<_>>()).to_vec();
            charts.extend(percentiles(inputs, step, role));
            charts
        })
        .collect();
    if !charts.is_empty() {
        document.paragraph(
            "What each role did, second by second; the largest response time of each second, from \
             the intended start to the answer; and all response times by percentile.",
        );
        document.chart(Chart::Lines(charts));
    }
}

fn pair(inputs: &Inputs<'_>, role: &str, curves: &[&RoleCurve]) -> [Lines; 2] {
    let rows = curves.iter().any(|curve| curve.counts == Counts::Rows);
    let what = if rows { "rows" } else { "operations" };
    let rates = curves.iter().map(|curve| &curve.rate).collect::<Vec<_>>();
    let responses = curves.iter().map(|curve| &curve.response).collect::<Vec<_>>();
    [
        chart(inputs, &rates, format!("{role}: {what} per second"), axis("1/s", Scale::Zero)),
        chart(inputs, &responses, format!("{role}: largest response"), axis("ms", Scale::Log10)),
    ]
}

/// Response times of a role by percentile.
fn percentiles(inputs: &Inputs<'_>, step: &Step<'_>, role: &str) -> Option<Lines> {
    let own = |times: &&RoleTimes| times.phase == step.column.phase && times.role == role;
    let line = |times: &RoleTimes| {
        let class = inputs.palette.class(&times.subject);
        Line::new(&times.subject, class, vec![times.points.clone()])
    };
    let lines: Vec<Line> = inputs.details.role_times.iter().filter(own).map(line).collect();
    let said = lines.iter().filter_map(|line| {
        let (_, largest) = line.segments.first()?.last()?;
        Some(format!("{} at most {}", line.name, number::value(*largest)))
    });
    Some(Lines {
        milestones: Vec::new(),
        title: format!("{role}: response by percentile"),
        description: format!("{role}: {}", said.collect::<Vec<_>>().join("; ")),
        x: axis("cumulative share of operations", Scale::Nines),
        y: axis("us", Scale::Log10),
        lines,
    })
    .filter(|chart| !chart.lines.is_empty())
}

fn chart(inputs: &Inputs<'_>, curves: &[&Curve], title: String, y: Axis) -> Lines {
    let budget = inputs.budget();
    let line = |subject: &String| {
        let curve = curves.iter().find(|curve| curve.subject == *subject)?;
        let segments = thinned(&curve.segments, budget);
        Some(Line::new(subject, inputs.palette.class(subject), segments))
    };
    Lines {
        milestones: Vec::new(),
        description: format!("{title}: {}", ends(curves)),
        title,
        x: axis(SECONDS, Scale::Zero),
        y,
        lines: inputs.comparison.subjects.iter().filter_map(line).collect(),
    }
}
