//! Numbers of clients that a format does not name: it prints a value for each of them in a row.
//!
//! Other files of the same archive often tell some of the numbers together with the values, which
//! then tell whose column is whose.

use crate::{Column, Fault, Warning, assemble::Kept, number};
use model::number::counted;
use std::collections::{BTreeMap, BTreeSet};

/// Metric whose printed values tell columns apart.
const METRIC: &str = "ops_per_second";

/// Gives values in columns their numbers of clients where the archive tells them: as many numbers
/// are known as there are columns, or every value of a column is printed elsewhere with one number.
/// A warning per file says how many columns stay without.
pub(crate) fn name(all: &mut [Kept], warnings: &mut Vec<Warning>) {
    let clients = known(all);
    let columns: BTreeSet<Column> = all.iter().filter_map(|kept| kept.value.cell.column).collect();
    let mut named: BTreeMap<Column, u32> = BTreeMap::new();
    for column in columns {
        let complete = clients.len() == column.of as usize;
        let own = if complete {
            clients.iter().nth(column.number as usize - 1).copied()
        } else {
            clients.iter().copied().find(|clients| agrees(all, column, *clients))
        };
        if let Some(own) = own {
            named.insert(column, own);
        }
    }
    let mut unknown: BTreeMap<&str, BTreeSet<Column>> = BTreeMap::new();
    for kept in all.iter_mut() {
        let cell = &mut kept.value.cell;
        let Some(column) = cell.column else { continue };
        match named.get(&column) {
            Some(clients) => {
                (cell.clients, cell.table_clients) = (Some(*clients), Some(*clients));
                cell.column = None;
            }
            None => {
                unknown.entry(&kept.file).or_default().insert(column);
            }
        }
    }
    for (file, columns) in unknown {
        let reason = format!(
            "unknown number of clients in {}; the phases are named by position",
            counted(columns.len(), "column")
        );
        warnings.push(Warning::new(file, Fault::new(0, reason)));
    }
}

/// Numbers of clients that other files name, of steps that are measured.
pub(crate) fn known(all: &[Kept]) -> BTreeSet<u32> {
    let cells = all.iter().map(|kept| &kept.value.cell);
    let measured = cells.filter(|cell| crate::assemble::counts_clients(&cell.phase));
    measured.filter_map(|cell| cell.clients).collect()
}

/// Whether values of a column are printed elsewhere with a number of clients, and none otherwise.
fn agrees(all: &[Kept], column: Column, clients: u32) -> bool {
    let of_metric = || all.iter().map(|kept| &kept.value).filter(|value| value.metric == METRIC);
    let mut elsewhere: BTreeMap<(&str, &str, Option<u64>), &str> = BTreeMap::new();
    for value in of_metric().filter(|value| value.cell.clients == Some(clients)) {
        let cell = &value.cell;
        elsewhere.insert((&cell.subject, &cell.phase, cell.range), &value.text);
    }
    let mut found = false;
    for value in of_metric().filter(|value| value.cell.column == Some(column)) {
        let cell = &value.cell;
        let Some(text) = elsewhere.get(&(cell.subject.as_str(), cell.phase.as_str(), cell.range))
        else {
            continue;
        };
        if !number::agree(text, &value.text) {
            return false;
        }
        found = true;
    }
    found
}
