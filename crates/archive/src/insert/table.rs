//! Rows of published tables as values.

use super::{
    columns,
    sheet::{Row, Sheet},
};
use crate::{
    Cell, File, Found, Value, bias,
    phase::{self, Phase, without_size},
};
use std::borrow::Cow;

/// Mark of values whose archive does not tell the number of clients.
pub(crate) const ONE_CLIENT: &str = "one client assumed";

/// What a file says about all of its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) file: &'a File<'a>,
    /// Clients where the file or its folders tell.
    pub(crate) clients: Option<u32>,
}

/// The cell of a variant in a phase.
pub(crate) fn cell(context: Context<'_>, phase: &str, tag: &str) -> Cell {
    let mut cell = context.file.summary_cell("");
    cell.experiment = context.file.folders.insert_experiment();
    phase::fill(&mut cell, phase, without_size(tag));
    cell.clients = context.clients.or(cell.clients);
    cell
}

/// Names the columns that nobody knows, once per table.
pub(crate) fn check_columns(sheet: &Sheet, line: u32, found: &mut Found) {
    for name in &sheet.columns {
        if name != "tag" && columns::find(name).is_none() {
            let shown = crate::number::excerpt(name);
            found.warn(line, format!("the column `{shown}` is not known and is left out"));
        }
    }
}

/// Adds the ratios of one row, under names of their own. `NA` and `inf` are no numbers and no
/// faults.
pub(crate) fn ratios(sheet: &Sheet, row: &Row, cell: &Cell, found: &mut Found) {
    for (name, text) in sheet.columns.iter().zip(&row.cells) {
        let usable = !matches!(text.as_str(), "NA" | "inf");
        if let Some(column) = columns::find(name).filter(|_| usable) {
            found.number(cell, column.metric, text, row.line);
            if let Some(last) = found.values.last_mut().filter(|last| last.text == *text) {
                last.metric = Cow::Owned(format!("{}_relative", column.metric));
            }
        }
    }
}

/// Adds the numbers of one row. `NA` is no number and no fault.
pub(crate) fn row(sheet: &Sheet, row: &Row, cell: &Cell, found: &mut Found) {
    for (name, text) in sheet.columns.iter().zip(&row.cells) {
        if let Some(column) = columns::find(name).filter(|_| text != "NA") {
            found.scaled(cell, column.metric, (text, column.factor), row.line);
        }
    }
    let Some(known) = phase::of(&cell.phase) else { return };
    follow(known, cell, row.line, found);
}

/// What follows from the printed rates: operations, and the target of the inserts.
fn follow(phase: Phase, cell: &Cell, line: u32, found: &mut Found) {
    let own = |value: &&Value| value.line == line && value.cell == *cell;
    let printed = |found: &Found, metric: &str| {
        found.values.iter().rev().take_while(own).find(|value| value.metric == metric).cloned()
    };
    let inserts = printed(found, "insert_rows_per_second");
    let operations = match phase.kind.queries() {
        true => printed(found, "queries_per_second"),
        false => inserts.clone(),
    };
    if let Some(operations) = operations {
        found.values.push(Value { metric: Cow::Borrowed("ops_per_second"), ..operations });
    }
    if !phase.kind.queries() {
        return;
    }
    let rate = f64::from(phase.rate);
    let target = |clients: u32| rate * f64::from(clients);
    match (cell.clients, inserts) {
        (Some(clients), _) => {
            found.computed(cell, "insert_rows_per_second_target", target(clients), line);
        }
        // More rows than one client's say that there were more; how many, nothing tells.
        (None, Some(inserts)) if inserts.value <= 1.05 * rate => {
            found.computed(cell, "insert_rows_per_second_target", target(1), line);
            if let Some(last) = found.values.last_mut() {
                last.biases.push(ONE_CLIENT);
            }
        }
        _ => found.warn(
            line,
            "the number of clients is unknown, so it is unknown whether the inserts met their \
             target rate; import from a folder such as `4u.1tno`",
        ),
    }
}

/// Adds the bias of everything that vmstat told.
pub(crate) fn bias_vmstat(found: &mut Found) {
    for metric in columns::VMSTAT {
        found.bias(metric, bias::VMSTAT_HEADERS);
    }
}
