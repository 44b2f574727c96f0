//! The noise bank of this host: where it lies, and what it says.

use crate::comparison::TABLE;
use model::{
    bank::{BankedRun, HostClass},
    civil::Civil,
    number::counted,
};
use report::{
    Report,
    document::{Cell, Column, Document, Item, Row, Table},
    format,
};
use store::Bank;

/// Name of the bank in a results folder.
pub(crate) const BANK: &str = "bank.jsonl";

/// The noise that a bank knows of a class of hosts, as text for people.
pub(crate) fn table(bank: &Bank, host: &HostClass) -> String {
    let runs: Vec<&BankedRun> = bank.runs.iter().filter(|run| run.host == *host).collect();
    let columns = vec![
        Column::words("server"),
        Column::words("group"),
        Column::words("metric"),
        Column::numbers("sd", "%"),
        Column::numbers("degrees of freedom", ""),
    ];
    let row = |(key, prior): (analysis::Key, analysis::Prior)| {
        Row::Cells(vec![
            Cell::Text(key.server),
            Cell::Text(key.group),
            Cell::Text(key.metric),
            Cell::Number(100.0 * prior.deviation),
            Cell::Number(prior.freedom),
        ])
    };
    let rows = analysis::fitted(runs.iter().copied()).into_iter().map(row).collect();
    let mut document = Document::default();
    document.items.push(Item::Table(Table { columns, rows }));
    document.paragraph(sentence(&runs));
    format::find(TABLE).map(|table| (table.text)(&Report::default(), &document)).unwrap_or_default()
}

/// How much is known, and from when.
fn sentence(runs: &[&BankedRun]) -> String {
    let known = counted(runs.len() as u64, "run");
    let last = runs.iter().map(|run| run.started_us).max();
    let date = last.map(|last_us| format!(", {}", date(last_us))).unwrap_or_default();
    format!("noise of this host class from {known}{date}")
}

/// The day of a moment in microseconds since 1970.
fn date(wall_us: u64) -> String {
    let day = Civil::of(wall_us / 1_000_000);
    format!("{}-{:02}-{:02}", day.year, day.month, day.day)
}
