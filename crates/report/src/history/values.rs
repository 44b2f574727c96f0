//! The values of a history as tables: one row a trend for readers, one row a value for programs.

use super::title;
use crate::document::{Column, Row, Table, TableCell};
use crate::words;
use analysis::history::{History, Quantity, Trend};

/// From the first to the last run of each trend.
pub(super) fn ranges(history: &History) -> Table {
    let numbers = ["first", "last", "smallest", "largest"];
    let numbers = numbers.map(|name| Column::numbers(name, ""));
    let columns = names(history).into_iter().chain([Column::numbers("runs", "")]).chain(numbers);
    let rows = history.trends.iter().filter_map(|trend| {
        let values = || trend.points.iter().map(|point| point.value);
        let (first, last) = (values().next()?, values().next_back()?);
        let ends = [first, last, values().fold(first, f64::min), values().fold(first, f64::max)];
        let cells = keys(history, trend).into_iter();
        let runs = TableCell::Count(trend.points.len() as u64);
        Some(Row::Cells(cells.chain([runs]).chain(ends.map(TableCell::Number)).collect()))
    });
    Table { columns: columns.collect(), rows: rows.collect() }
}

/// Every value with its run. All histories have the same columns.
pub(super) fn all<'a>(histories: impl Iterator<Item = &'a History>) -> Table {
    let columns = ["series", "test", "variant", "metric", "unit", "run", "started"];
    let columns = columns.map(Column::words);
    let columns =
        columns.into_iter().chain([Column::numbers("value", ""), Column::words("note")]).collect();
    let trends = histories.flat_map(|history| history.trends.iter().map(move |one| (history, one)));
    let rows = trends.flat_map(|(history, trend)| {
        trend.points.iter().filter_map(move |point| {
            let session = history.sessions.get(point.session)?;
            let (metric, started) = (trend.metric.name, words::date(session.started_us));
            let cells = [
                &*history.name,
                &trend.phase,
                &trend.variant,
                metric,
                unit(trend),
                &session.run,
                &started,
            ];
            let cells = cells.map(|text| TableCell::Text(text.to_owned())).into_iter();
            let note = TableCell::Text(session.notes.join("; "));
            Some(Row::Cells(cells.chain([TableCell::Number(point.value), note]).collect()))
        })
    });
    Table { columns, rows: rows.collect() }
}

fn names(history: &History) -> Vec<Column> {
    let variant = has_variants(history).then_some("variant");
    ["test"].into_iter().chain(variant).chain(["metric", "unit"]).map(Column::words).collect()
}

fn keys(history: &History, trend: &Trend) -> Vec<TableCell> {
    let variant = has_variants(history).then(|| trend.variant.clone());
    let what = [title(trend), unit(trend).to_owned()];
    let keys = [trend.phase.clone()].into_iter().chain(variant).chain(what);
    keys.map(TableCell::Text).collect()
}

fn unit(trend: &Trend) -> &'static str {
    match trend.quantity {
        Quantity::Value => trend.metric.unit,
        Quantity::Ratio => "ratio",
    }
}

/// Whether runs have several variants.
pub(super) fn has_variants(history: &History) -> bool {
    history.trends.iter().any(|trend| !trend.variant.is_empty())
}
