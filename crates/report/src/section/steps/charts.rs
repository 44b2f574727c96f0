//! What the roles of a step did second by second, all variants on one axis.

use super::Step;
use crate::{
    chart::{Axis, Budget, Chart, Line, Lines, Scale, thinned},
    document::Document,
    number,
    scope::Scope,
    section::curves::ends,
};
use analysis::{Curve, RoleCurve, RoleTimes};
use model::workload::Counts;

const SECONDS: &str = "measured seconds";

/// Two charts per role: its rate, and the largest response time of each second.
pub(super) fn add(scope: &Scope<'_>, step: &Step<'_>, document: &mut Document) {
    let own = |curve: &&RoleCurve| curve.rate.phase == step.column.phase;
    let curves: Vec<&RoleCurve> = scope.details.roles.iter().filter(own).collect();
    let mut roles: Vec<&str> = Vec::new();
    for curve in &curves {
        if !roles.contains(&curve.role.as_str()) {
            roles.push(&curve.role);
        }
    }
    let budget = scope.budget();
    let charts: Vec<Lines> = roles
        .iter()
        .flat_map(|role| {
            let own = curves.iter().filter(|curve| curve.role == *role);
            let mut charts = pair(scope, role, &own.copied().collect::<Vec<_>>(), budget).to_vec();
            charts.extend(percentiles(scope, step, role));
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

fn pair(scope: &Scope<'_>, role: &str, curves: &[&RoleCurve], budget: Budget) -> [Lines; 2] {
    let rows = curves.iter().any(|curve| curve.counts == Counts::Rows);
    let what = if rows { "rows" } else { "operations" };
    let rates = curves.iter().map(|curve| &curve.rate).collect::<Vec<_>>();
    let responses = curves.iter().map(|curve| &curve.response).collect::<Vec<_>>();
    [
        chart(scope, &rates, (format!("{role}: {what} per second"), "1/s", Scale::Zero), budget),
        chart(scope, &responses, (format!("{role}: largest response"), "ms", Scale::Log10), budget),
    ]
}

/// Response times of a role by percentile.
fn percentiles(scope: &Scope<'_>, step: &Step<'_>, role: &str) -> Option<Lines> {
    let own = |times: &&RoleTimes| times.phase == step.column.phase && times.role == role;
    let line = |times: &RoleTimes| Line {
        name: times.subject.clone(),
        class: scope.palette.class(&times.subject),
        segments: vec![times.points.clone()],
        peak: None,
    };
    let lines: Vec<Line> = scope.details.role_times.iter().filter(own).map(line).collect();
    let said = lines.iter().filter_map(|line| {
        let (_, largest) = line.segments.first()?.last()?;
        Some(format!("{} at most {}", line.name, number::value(*largest)))
    });
    Some(Lines {
        title: format!("{role}: response by percentile"),
        description: format!("{role}: {}", said.collect::<Vec<_>>().join("; ")),
        x: Axis {
            title: "cumulative share of operations".into(),
            scale: Scale::Nines,
            ..Axis::default()
        },
        y: Axis { title: "us".to_owned(), scale: Scale::Log10, ..Axis::default() },
        lines,
    })
    .filter(|chart| !chart.lines.is_empty())
}

fn chart(
    scope: &Scope<'_>,
    curves: &[&Curve],
    (title, unit, scale): (String, &str, Scale),
    budget: Budget,
) -> Lines {
    let line = |subject: &String| {
        let curve = curves.iter().find(|curve| curve.subject == *subject)?;
        Some(Line {
            name: subject.clone(),
            class: scope.palette.class(subject),
            segments: thinned(&curve.segments, budget),
            peak: None,
        })
    };
    Lines {
        description: format!("{title}: {}", ends(curves)),
        title,
        x: Axis { title: SECONDS.to_owned(), scale: Scale::Zero, ..Axis::default() },
        y: Axis { title: unit.to_owned(), scale, ..Axis::default() },
        lines: scope.comparison.subjects.iter().filter_map(line).collect(),
    }
}
