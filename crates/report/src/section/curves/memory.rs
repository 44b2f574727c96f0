//! Memory of the server over a trial and at its peak, beside the cache that the settings ask for.

use super::{Form, add, axis, charts};
use crate::{
    chart::{Line, Lines, Scale},
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    number,
};
use analysis::Curve;
use model::grouped;

const RESIDENT: &str = "server_rss_mib_peak";
const ADDRESSED: &str = "server_vsz_mib_peak";

/// Lines up to which each has its peak marked; the marks of more would hide each other.
const MARKED: usize = 4;

pub(super) fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let details = inputs.details;
    let x = || axis("seconds of a trial", Scale::Zero);
    let form = |what| Form { what, x: x(), y: axis("MiB", Scale::Zero) };
    let mut resident = charts(inputs, &details.resident, &form("resident memory"));
    let mut addressed = charts(inputs, &details.addressed, &form("address space"));
    resident.iter_mut().chain(&mut addressed).for_each(mark_peaks);
    resident.iter_mut().for_each(|chart| add_caches(inputs, chart));
    resident.extend(addressed);
    let text = "Memory of the server over a trial, one line per block, and the cache that the \
                settings ask for.";
    add(document, text, resident);
    if let Some(table) = peaks(inputs) {
        document.paragraph("The most memory that the server had in any test or trial.");
        document.items.push(Item::Sortable(table));
    }
}

fn mark_peaks(chart: &mut Lines) {
    if chart.lines.len() > MARKED {
        return;
    }
    for line in &mut chart.lines {
        let points = line.segments.iter().flatten().copied();
        line.peak = points.max_by(|a, b| a.1.total_cmp(&b.1));
    }
}

/// A level per size of cache, with the names of those who have it where sizes differ.
fn add_caches<'a>(inputs: &Inputs<'a>, chart: &mut Lines) {
    let sized = |subject: &'a String| Some((inputs.cache_mib(subject)?, subject.as_str()));
    let caches = grouped(inputs.comparison.subjects.iter().filter_map(sized));
    let points = || chart.lines.iter().flat_map(|line| line.segments.iter().flatten());
    let end = points().map(|point| point.0).fold(0.0, f64::max);
    let one = caches.len() == 1;
    let line = |(mib, subjects): &(f64, Vec<&str>)| {
        let whose = match subjects.as_slice() {
            _ if one => String::new(),
            [subject] => format!(" of {subject}"),
            several => format!(" of {} variants", several.len()),
        };
        let name = format!("cache{whose}: {} MiB", number::value(*mib));
        Line::new(name, "cache", vec![vec![(0.0, *mib), (end, *mib)]])
    };
    let lines: Vec<Line> = caches.iter().map(line).collect();
    for line in &lines {
        chart.description.push_str(&format!("; {}", line.name));
    }
    chart.lines.extend(lines);
}

/// A line per variant: peaks, and their ratios to the cache where that is known.
fn peaks(inputs: &Inputs<'_>) -> Option<Table> {
    let details = inputs.details;
    let subjects = &inputs.comparison.subjects;
    let peaks = |metric, curves: &[Curve]| -> Vec<Option<f64>> {
        subjects.iter().map(|subject| peak(inputs, subject, metric, curves)).collect()
    };
    let resident = peaks(RESIDENT, &details.resident);
    let addressed = peaks(ADDRESSED, &details.addressed);
    if resident.iter().chain(&addressed).all(Option::is_none) {
        return None;
    }
    let caches: Vec<Option<f64>> = subjects.iter().map(|s| inputs.cache_mib(s)).collect();
    let cached = caches.iter().any(Option::is_some);
    let mut columns = vec![Column::words("variant")];
    columns.extend(["RSS at its peak", "VSZ at its peak"].map(|t| Column::numbers(t, "MiB")));
    if cached {
        columns.push(Column::numbers("cache", "MiB"));
        columns.extend(["RSS of cache", "VSZ of cache"].map(|t| Column::numbers(t, "ratio")));
    }
    let number = TableCell::number;
    let row = |index: usize| {
        let (resident, addressed, cache) = (resident[index], addressed[index], caches[index]);
        let name = TableCell::Text(subjects[index].clone());
        let mut cells = vec![name, number(resident), number(addressed)];
        if cached {
            cells.push(number(cache));
            cells.extend([resident, addressed].map(|peak| {
                let pair = peak.zip(cache);
                pair.map_or(TableCell::Missing, |(peak, cache)| TableCell::Ratio(peak / cache))
            }));
        }
        Row::Cells(cells)
    };
    Some(Table { columns, rows: (0..subjects.len()).map(row).collect() })
}

/// The largest value of a subject's tests and of its curves [MiB].
fn peak(inputs: &Inputs<'_>, subject: &str, metric: &str, curves: &[Curve]) -> Option<f64> {
    let phases = inputs.comparison.phases.iter();
    let values = phases.filter_map(|phase| phase.cell(subject, metric)?.value);
    let own = curves.iter().filter(|curve| curve.subject == subject);
    let points = own.flat_map(|curve| curve.segments.iter().flatten()).map(|point| point.1);
    values.chain(points).reduce(f64::max)
}
