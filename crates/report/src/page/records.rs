//! One row per cell, for programs: everything that is known of it.

use super::Page;
use crate::{
    Report,
    document::{Column, Document, Item, Row, Table, TableCell},
    grid, words,
};
use analysis::{Comparison, PhaseResult};
use model::metric::Better;

pub(super) const PAGE: Page = Page { name: "records", document };

fn document(report: &Report) -> Document {
    let factors = grid::factors(&report.comparisons);
    let mut table = Table { columns: columns(&factors), ..Table::default() };
    for comparison in &report.comparisons {
        for phase in &comparison.phases {
            for cell in phase.cells.iter().filter(|cell| is_asked(report, cell)) {
                table.rows.push(Row::Cells(row(comparison, phase, cell, &factors)));
            }
        }
    }
    let warnings = report.comparisons.iter().flat_map(Comparison::all_warnings);
    let warnings = warnings.map(|sentence| Item::Warning(sentence.to_owned()));
    Document { items: [Item::Table(table)].into_iter().chain(warnings).collect() }
}

/// Whether a cell's metric was asked for.
pub(crate) fn is_asked(report: &Report, cell: &analysis::Cell) -> bool {
    report.metrics.is_empty() || report.metrics.iter().any(|m| m.name == cell.metric.name)
}

/// The word for a metric's direction.
pub(crate) fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "neither",
    }
}

fn columns(factors: &[String]) -> Vec<Column> {
    let before = ["suite", "workload", "phase", "group", "range", "clients", "variant"];
    let factors = factors.iter().map(|name| format!("factor.{name}"));
    let after = [
        "metric",
        "unit",
        "better",
        "base",
        "base_value",
        "value",
        "ratio",
        "ratio_low",
        "ratio_high",
        "confidence",
        "blocks",
        "verdict",
        "detectable",
        "reason",
        "marks",
        "experiment",
        "run",
    ];
    let names = before.map(str::to_owned).into_iter().chain(factors);
    names.chain(after.map(str::to_owned)).map(Column::words).collect()
}

fn row(
    comparison: &Comparison,
    phase: &PhaseResult,
    cell: &analysis::Cell,
    factors: &[String],
) -> Vec<TableCell> {
    let text = |text: &str| TableCell::Text(text.to_owned());
    let number = TableCell::number;
    let end = |ratio: Option<f64>| ratio.map_or(TableCell::Missing, TableCell::Ratio);
    let mut row = vec![
        text(&comparison.suite),
        text(&phase.workload),
        text(&phase.phase),
        text(&phase.group),
        phase.range.map_or(TableCell::Missing, TableCell::Count),
        // No file of an archive may tell it.
        match phase.clients {
            0 => TableCell::Missing,
            clients => TableCell::Count(clients.into()),
        },
        text(&cell.subject),
    ];
    let level =
        |name: &String| cell.factors.get(name).map_or(TableCell::Missing, |level| text(level));
    row.extend(factors.iter().map(level));
    row.extend([
        text(cell.metric.name),
        text(cell.metric.unit),
        text(better(cell.metric.better)),
        text(cell.base.as_deref().unwrap_or(&cell.subject)),
        number(cell.base_value),
        number(cell.value),
        end(cell.ratio),
        end(cell.interval.map(|(low, _)| low)),
        end(cell.interval.map(|(_, high)| high)),
        number(cell.interval.map(|_| analysis::CONFIDENCE)),
        TableCell::Count(cell.blocks.into()),
        text(cell.verdict.name()),
        end(analysis::detectable(cell)),
        text(&cell.reason.as_ref().map(words::reason).unwrap_or_default()),
        text(&words::joined(&cell.marks, "; ")),
        text(&comparison.experiment),
        text(&comparison.runs.join(", ")),
    ]);
    row
}
