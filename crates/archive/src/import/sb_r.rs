//! `sb.r.*`: one line with the result of a step for each number of clients, which it does not name.

use super::Importer;
use crate::{Cell, Column, Fault, File, FileHead, Found};

/// Adds a row of numbers, one for each number of clients; a lone one has no place to tell.
pub(super) fn columns(
    texts: &[&str],
    cell: &Cell,
    (metric, factor, line): (&'static str, f64, u32),
    found: &mut Found,
) {
    let of = u32::try_from(texts.len()).unwrap_or(u32::MAX);
    for (number, text) in (1..).zip(texts) {
        let column = (of > 1).then_some(Column { number, of });
        let cell = Cell { column, ..cell.clone() };
        found.scaled(&cell, metric, (text, factor), line);
    }
}

/// Beginnings of file names, with the metric and the factor to its unit.
const KINDS: &[(&str, &str, f64)] = &[
    ("sb.r.qps.", "ops_per_second", 1.0),
    ("sb.r.trx.", "transactions_per_second", 1.0),
    ("sb.r.rtavg.", "latency_us_mean", 1000.0),
    ("sb.r.rtmax.", "latency_us_max", 1000.0),
    ("sb.r.rt95.", "latency_us_p95", 1000.0),
];

pub(super) const IMPORTER: Importer = Importer {
    name: "sb_r",
    help: "sb.r files of the published sysbench archives: one number per step and number of \
           clients",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    KINDS.iter().any(|(start, _, _)| head.name.starts_with(start))
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let kind = KINDS.iter().find(|(start, _, _)| file.name.starts_with(start));
    let (Some((_, metric, factor)), Some(line)) = (kind, file.lines().next()) else {
        return Err(Fault::new(1, "the file is empty"));
    };
    let fields: Vec<&str> = line.text.split('\t').collect();
    match fields.split_last() {
        Some((name, texts)) if name.contains("range=") && !texts.is_empty() => {
            columns(texts, &file.cell(), (metric, *factor, line.number), found);
            Ok(())
        }
        _ => Err(Fault::new(line.number, "the line is not numbers, a tab and the step's name")),
    }
}
