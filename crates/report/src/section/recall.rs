//! Vector indexes: the fastest setting of each variant at a recall, and rates over recall.

use super::{Section, curves::axis};
use crate::{
    chart::{Chart, Line, Lines, Scale},
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::{Inputs, MANY},
    number, words,
};
use analysis::{AtRecall, Comparison, Fastest, RecallCurve, Verdict};
use model::{grouped, number::counted};

pub(super) const SECTION: Section = Section { name: "recall", write };

/// What the table is called.
pub(crate) const TITLE: &str = "At equal recall";

/// The largest recall of the axis, in nines: what finds all has infinitely many.
const NINES_MAX: f64 = 4.0;

/// Rows of a recall where there are too many variants for one each.
const FASTEST: usize = 3;

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let Some(table) = table(inputs.comparison) else { return };
    document.section("recall", TITLE);
    document.paragraph(
        "Settings of different indexes mean different things, so rates compare only where they \
         find the same share of the nearest rows. The fastest measured setting of each variant \
         with at least this recall, relative to that of the base (of its first kind of index, \
         if there are several); its interval is that of the blocks, and does not know that \
         the setting was the best of several.",
    );
    document.items.push(Item::Table(table));
    let charts = charts(inputs);
    if !charts.is_empty() && !inputs.is_many() {
        document.paragraph(
            "Searches per second over recall, one chart for each index; the points of a line are \
             its settings of the search. What finds all is drawn at 99.99 %.",
        );
        document.chart(Chart::Lines(charts));
    }
}

/// The fastest settings by recall; none where nothing has a recall. Of many variants only the
/// fastest ones are shown.
pub(crate) fn table(comparison: &Comparison) -> Option<Table> {
    let reached = analysis::at_recalls(comparison);
    let first = reached.first()?;
    let cpu = words::cpu(comparison);
    let at_most = if comparison.subjects.len() > MANY { FASTEST } else { MANY };
    let columns = vec![
        Column::words("variant"),
        Column::words("setting"),
        Column::numbers("recall", ""),
        Column::numbers("rate", "1/s"),
        Column::numbers("relative", ""),
        Column::numbers("interval", ""),
        cpu_column(cpu),
    ];
    let several = reached.iter().any(|one| one.clients != first.clients);
    let mut rows = Vec::new();
    for same in reached.chunk_by(is_same) {
        let one = &same[0];
        let users = match several {
            true => format!(", {}", counted(one.clients as usize, "user")),
            false => String::new(),
        };
        let least: Vec<String> = same.iter().map(|one| format!("{:.3}", one.least)).collect();
        let shown = shown(one, at_most);
        let found = one.rows.iter().filter(|row| row.found.is_some()).count();
        let part = match shown.len() < found {
            true => format!(": the fastest {} of {found}", shown.len()),
            false => String::new(),
        };
        rows.push(Row::Section(format!("recall of {} or more{users}{part}", least.join(", "))));
        rows.extend(shown.into_iter().map(|fastest| row(fastest, cpu)));
    }
    Some(Table { columns, rows })
}

/// The column of CPU time: the server's, or the host's where no more is known.
fn cpu_column(cpu: &str) -> Column {
    let unit = analysis::metric(cpu).map_or("", |metric| metric.unit);
    Column::numbers(format!("CPU time{}", words::whose(cpu)), unit)
}

/// Whether the same settings are the fastest with both recalls.
fn is_same(one: &AtRecall<'_>, other: &AtRecall<'_>) -> bool {
    one.clients == other.clients && settings(one) == settings(other)
}

/// The fastest setting of each variant.
fn settings<'a>(at: &AtRecall<'a>) -> Vec<Option<&'a str>> {
    at.rows.iter().map(|row| row.found.map(|found| found.phase.phase.as_str())).collect()
}

/// All variants in their order; of more than `at_most` only the fastest ones.
fn shown<'a>(one: &'a AtRecall<'a>, at_most: usize) -> Vec<&'a Fastest<'a>> {
    let mut rows: Vec<&Fastest<'_>> = one.rows.iter().collect();
    if rows.len() > at_most {
        let rate = |row: &Fastest<'_>| row.found.map_or(0.0, |found| found.rate);
        rows.retain(|row| row.found.is_some());
        rows.sort_by(|a, b| rate(b).total_cmp(&rate(a)));
        rows.truncate(at_most);
    }
    rows
}

fn row(fastest: &Fastest<'_>, cpu: &str) -> Row {
    let name = match fastest.kind {
        Some(kind) => format!("{}, {kind}", fastest.subject),
        None => fastest.subject.to_owned(),
    };
    let Some(found) = fastest.found else {
        let missing = [(); 6].map(|()| TableCell::Missing);
        return Row::named(name, missing);
    };
    let verdict = if fastest.is_unjudged { Verdict::Invalid } else { Verdict::Unassessed };
    let cells = [
        TableCell::Text(found.phase.phase.clone()),
        TableCell::Text(format!("{:.3}", found.recall)),
        TableCell::Number(found.rate),
        fastest.ratio.map_or(TableCell::Missing, |ratio| TableCell::judged(ratio, verdict)),
        fastest.interval.map_or(TableCell::Missing, |ends| TableCell::Text(words::ends(ends))),
        TableCell::number(found.phase.cell(fastest.subject, cpu).and_then(|cell| cell.value)),
    ];
    Row::named(name, cells)
}

fn charts(inputs: &Inputs<'_>) -> Vec<Lines> {
    let curves = analysis::recall_curves(inputs.comparison);
    let indexes = grouped(curves.iter().map(|curve| (curve.index.as_str(), curve)));
    indexes.into_iter().map(|(index, curves)| chart(inputs, index, &curves)).collect()
}

fn chart(inputs: &Inputs<'_>, index: &str, curves: &[&RecallCurve<'_>]) -> Lines {
    let line = |curve: &&RecallCurve<'_>| {
        let nines = |recall: f64| (-(1.0 - recall).log10()).clamp(0.0, NINES_MAX);
        let points = curve.points.iter().map(|one| (nines(one.recall), one.rate)).collect();
        Line::new(curve.subject, inputs.palette.class(curve.subject), vec![points])
    };
    let said = curves.iter().map(|curve| {
        let ends = [curve.points.first(), curve.points.last()];
        let end = |one: &analysis::Searched<'_>| {
            format!("{} at a recall of {:.3}", number::value(one.rate), one.recall)
        };
        let ends = ends.into_iter().flatten().map(end).collect::<Vec<_>>().join(" to ");
        format!("{}: {ends}", curve.subject)
    });
    Lines {
        milestones: Vec::new(),
        title: index.to_owned(),
        description: format!(
            "searches per second over recall. {}",
            said.collect::<Vec<_>>().join("; ")
        ),
        x: axis("recall", Scale::Nines),
        y: axis("1/s", Scale::Log10),
        lines: curves.iter().map(line).collect(),
    }
}
