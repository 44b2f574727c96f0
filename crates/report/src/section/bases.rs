//! Ratios to two bases side by side: what is lost since the oldest version and since a newer one.

use super::{Section, answer};
use crate::{
    document::{Column, Document, Item, Row, Table, TableCell},
    inputs::Inputs,
    words::{self, Basis},
};
use analysis::{Comparison, PhaseResult};
use model::{metric::Metric, quoted};

pub(super) const SECTION: Section = Section { name: "bases", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let Some(second) = &inputs.details.second else { return };
    document.section("bases", "Two bases side by side");
    document.paragraph(format!(
        "{} relative to the base of the table above and, in the next column, relative to {}.",
        words::capitalized(&words::long_title(inputs.lead)),
        quoted(&second.bases)
    ));
    document.items.push(Item::Table(table([inputs.comparison, second], inputs.lead)));
}

/// A subject under one of the bases.
struct Under<'a> {
    comparison: &'a Comparison,
    basis: Basis,
    subject: &'a str,
    base: &'a str,
}

fn table(comparisons: [&Comparison; 2], metric: &Metric) -> Table {
    let mut unders = Vec::new();
    let judged = comparisons.map(|comparison| (comparison, Basis::of(comparison)));
    for subject in &comparisons[0].subjects {
        for (comparison, basis) in judged {
            let cells = comparison.phases.iter().filter_map(|p| p.cell(subject, metric.name));
            if let Some(base) = cells.into_iter().find_map(|cell| cell.base.as_deref()) {
                unders.push(Under { comparison, basis, subject, base });
            }
        }
    }
    let column = |under: &Under<'_>| Column {
        heat: Some(metric.better),
        ..Column::numbers(under.subject, format!("vs {}", under.base))
    };
    let columns = [Column::words("test")].into_iter().chain(unders.iter().map(column)).collect();
    let mut table = Table { columns, rows: Vec::new() };
    let groups = words::groups(comparisons[0]);
    for (group, phases) in &groups {
        if groups.len() > 1 {
            table.rows.push(Row::Section(words::group(group).to_owned()));
        }
        for phase in phases {
            let cells = unders.iter().map(|under| ratio(under, phase, metric));
            table.rows.push(Row::named(&phase.phase, cells));
        }
        if phases.len() > 1 {
            let means = unders.iter().map(|under| mean(under, phases, metric));
            table.rows.push(Row::named("geometric mean", means));
        }
    }
    table
}

fn ratio(under: &Under<'_>, phase: &PhaseResult, metric: &Metric) -> TableCell {
    match under.comparison.cell(&phase.phase, under.subject, metric.name) {
        Some(cell) if words::is_failed(cell) => TableCell::Failed,
        Some(cell) => {
            cell.ratio.map_or(TableCell::Missing, |ratio| TableCell::judged(ratio, cell.verdict))
        }
        None => TableCell::Missing,
    }
}

fn mean(under: &Under<'_>, phases: &[&PhaseResult], metric: &Metric) -> TableCell {
    let Under { comparison, basis, subject, .. } = *under;
    let own = |phase: &&PhaseResult| comparison.phases.iter().find(|p| p.phase == phase.phase);
    let own: Vec<&PhaseResult> = phases.iter().filter_map(own).collect();
    let mean = answer::mean_cell(&own, subject, metric).unwrap_or(TableCell::Missing);
    answer::colored(mean, &basis.standings(&own, subject, metric))
}
