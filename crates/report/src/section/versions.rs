//! Many variants in their order, one line per test: where between two versions a test changed.

use super::Section;
use crate::{
    chart::{Axis, Chart, Line, Lines, Scale},
    document::{Document, Item},
    grid::{Grid, Part},
    inputs::{Inputs, MANY},
    words,
};

pub(super) const SECTION: Section = Section { name: "versions", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let Some(metric) = inputs.grid.metric(inputs.lead.name) else { return };
    let parts: Vec<&Part> =
        inputs.parts.iter().filter(|part| is_long(&inputs.grid, part)).collect();
    if parts.is_empty() {
        return;
    }
    let what = words::noun(inputs.lead);
    document.section("versions", format!("{} by version", words::capitalized(&what)));
    document.paragraph(
        "Each test over the variants in their order, relative to the base. A step in a line is \
         a change between two versions; a gap is a test without a result.",
    );
    for part in parts {
        if !part.base.is_empty() && inputs.parts.len() > 1 {
            document.heading(3, inputs.grid.compared_with(part));
        }
        for (group, charts) in groups(&inputs.grid, part, metric, &what) {
            let title = format!("{group}: {}", words::tests(charts.len()));
            document.fold(title, vec![Item::Chart(Box::new(Chart::Lines(charts)))]);
        }
    }
}

/// Whether a part has more variants than a forest plot can tell apart.
pub(super) fn is_long(grid: &Grid, part: &Part) -> bool {
    grid.variants(part).count() > MANY
}

fn groups(grid: &Grid, part: &Part, metric: usize, what: &str) -> Vec<(String, Vec<Lines>)> {
    let own = grid.part(&Part { columns: ordered(part), ..part.clone() });
    let groups = own.groups().into_iter();
    let chart = |row: usize| chart(&own, metric, row, what);
    let charts = groups.map(|(name, rows)| {
        let name = if name.is_empty() { "tests" } else { name };
        (name.to_owned(), rows.into_iter().filter_map(chart).collect::<Vec<_>>())
    });
    charts.filter(|(_, charts)| !charts.is_empty()).collect()
}

/// The columns in the plan's order: the base need not be the first version.
fn ordered(part: &Part) -> Vec<usize> {
    let mut columns = part.columns.clone();
    columns.sort_unstable();
    columns
}

/// The ratios of a test in the order of the columns; the base has 1.
fn chart(grid: &Grid, metric: usize, row: usize, what: &str) -> Option<Lines> {
    let values = &grid.values[metric][row];
    let ratio = |index: usize| match grid.columns[index].is_base {
        true => values[index].value.map(|_| 1.0),
        false => values[index].ratio,
    };
    let mut segments: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
    for index in 0..values.len() {
        match (ratio(index), segments.last_mut()) {
            (Some(ratio), Some(last)) => last.push((index as f64, ratio)),
            (None, Some(last)) if !last.is_empty() => segments.push(Vec::new()),
            _ => {}
        }
    }
    segments.retain(|segment| !segment.is_empty());
    let points: Vec<(f64, f64)> = segments.concat();
    if points.len() < 2 {
        return None;
    }
    let names: Vec<String> = grid.columns.iter().map(|column| column.title.clone()).collect();
    let end = (names.len() - 1) as f64;
    let title = &grid.rows[row].title;
    Some(Lines {
        milestones: Vec::new(),
        title: title.clone(),
        description: described(&names, &points),
        x: Axis { title: String::new(), scale: Scale::Names, names },
        y: Axis { title: format!("relative {what}"), ..Axis::default() },
        lines: vec![
            Line::new("base = 1", "base", vec![vec![(0.0, 1.0), (end, 1.0)]]),
            Line::new("test", "s0", segments),
        ],
    })
}

/// The ends and the largest step, for readers who do not see the line.
fn described(names: &[String], points: &[(f64, f64)]) -> String {
    let name = |(place, _): &(f64, f64)| names[*place as usize].as_str();
    let size = |pair: &[(f64, f64)]| (pair[1].1 / pair[0].1).ln().abs();
    let step = points.windows(2).max_by(|a, b| size(a).total_cmp(&size(b)));
    let step = step.map(|pair| {
        let (from, to) = (crate::number::ratio(pair[0].1), crate::number::ratio(pair[1].1));
        format!("largest step from {} ({from}) to {} ({to})", name(&pair[0]), name(&pair[1]))
    });
    let (first, last) = (points.first(), points.last());
    let ends = first.zip(last).map(|(first, last)| {
        let (from, to) = (crate::number::ratio(first.1), crate::number::ratio(last.1));
        format!("from {} ({from}) to {} ({to})", name(first), name(last))
    });
    ends.into_iter().chain(step).collect::<Vec<_>>().join("; ")
}
