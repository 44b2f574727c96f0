//! Ratios to two bases side by side: what is lost since the oldest version and since a newer one.

use super::Section;
use crate::{
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    words::{self, THROUGHPUT},
};
use analysis::{Comparison, PhaseResult};
use model::{metric::Better, quoted};

pub(super) const SECTION: Section = Section { name: "bases", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let Some(second) = &inputs.details.second else { return };
    document.section("bases", "Two bases side by side");
    document.paragraph(format!(
        "Throughput relative to the base of the table above and, in the next column, relative \
         to {}.",
        quoted(&second.bases)
    ));
    document.items.push(Item::Table(table([inputs.comparison, second])));
}

/// A subject under one of the bases.
struct Under<'a> {
    comparison: &'a Comparison,
    subject: &'a str,
    base: &'a str,
}

fn table(comparisons: [&Comparison; 2]) -> Table {
    let mut unders = Vec::new();
    for subject in &comparisons[0].subjects {
        for comparison in comparisons {
            let cells = comparison.phases.iter().filter_map(|p| p.cell(subject, THROUGHPUT));
            if let Some(base) = cells.into_iter().find_map(|cell| cell.base.as_deref()) {
                unders.push(Under { comparison, subject, base });
            }
        }
    }
    let column = |under: &Under<'_>| Column {
        heat: Some(Better::Higher),
        ..Column::numbers(under.subject, format!("vs {}", under.base))
    };
    let columns = [Column::words("test")].into_iter().chain(unders.iter().map(column)).collect();
    let mut table = Table { columns, rows: Vec::new() };
    let groups = words::groups(comparisons[0]);
    for (group, phases) in &groups {
        if groups.len() > 1 {
            table.rows.push(Row::Section((*group).to_owned()));
        }
        for phase in phases {
            let cells = unders.iter().map(|under| ratio(under, phase));
            table.rows.push(Row::named(&phase.phase, cells));
        }
        if phases.len() > 1 {
            let means = unders.iter().map(|under| mean(under, phases));
            table.rows.push(Row::named("geometric mean", means));
        }
    }
    table
}

fn ratio(under: &Under<'_>, phase: &PhaseResult) -> TableCell {
    match under.comparison.cell(&phase.phase, under.subject, THROUGHPUT) {
        Some(cell) if words::is_failed(cell) => TableCell::Failed,
        Some(cell) => {
            cell.ratio.map_or(TableCell::Missing, |ratio| TableCell::judged(ratio, cell.verdict))
        }
        None => TableCell::Missing,
    }
}

fn mean(under: &Under<'_>, phases: &[&PhaseResult]) -> TableCell {
    let cell =
        |phase: &&PhaseResult| under.comparison.cell(&phase.phase, under.subject, THROUGHPUT);
    let ratios: Vec<f64> = phases.iter().filter_map(|phase| cell(phase)?.ratio).collect();
    TableCell::mean(&ratios, phases.len()).unwrap_or(TableCell::Missing)
}
