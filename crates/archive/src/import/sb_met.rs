//! `sb.met.*`: six lines of averages from iostat and vmstat, and the same per operation.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found, bias,
    number::{self, MISSING},
};
use model::number::counted;

const TITLE: &str = "iostat, vmstat normalized by operation rate";

/// The columns of the two tables, with the metrics they become and the factor to their units.
type Columns = &'static [(&'static str, &'static str, f64)];

const IOSTAT: Columns = &[
    ("samp", "iostat_samples", 1.0),
    ("r/s", "reads_per_second", 1.0),
    ("rMB/s", "read_mib_per_second", 1.0),
    ("w/s", "writes_per_second", 1.0),
    ("wMB/s", "write_mib_per_second", 1.0),
    ("r/o", "reads_per_op", 1.0),
    ("rKB/o", "read_kib_per_op", 1.0),
    ("wKB/o", "write_kib_per_op", 1.0),
    ("o/s", "ops_per_second", 1.0),
];

const VMSTAT: Columns = &[
    ("samp", "vmstat_samples", 1.0),
    ("cs/s", "host_context_switches_per_second", 1.0),
    ("cpu/s", "host_cpu_percent", 1.0),
    ("cs/o", "host_context_switches_per_op", 1.0),
    ("cpu/o", "host_cpu_percent_per_op", 1.0),
];

pub(super) const IMPORTER: Importer = Importer {
    name: "sb_met",
    help: "sb.met files of the published sysbench archives: iostat and vmstat per operation",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.starts_with("sb.met.")
        || head.name.starts_with("sb.prepare.met.")
        || head.start.starts_with(TITLE.as_bytes())
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let mut lines = file.lines();
    match lines.next() {
        Some(first) if first.text == TITLE => {}
        Some(first) => {
            let shown = number::excerpt(&first.text);
            return Err(Fault::new(1, format!("`{TITLE}` was expected, not `{shown}`")));
        }
        None => return Err(Fault::new(1, "the file is empty")),
    }
    let cell = file.cell();
    let mut tables = [Some(IOSTAT), Some(VMSTAT)].into_iter().flatten();
    let mut last = 1;
    while let Some(header) = lines.next() {
        last = header.number;
        if header.text.is_empty() {
            continue;
        }
        let Some(columns) = tables.next() else {
            found.warn(header.number, "there are more than two tables; the rest is left out");
            break;
        };
        let titles: Vec<&str> = columns.iter().map(|(title, _, _)| *title).collect();
        if header.text.split('\t').ne(titles.iter().copied()) {
            let titles = titles.join(" ");
            return Err(Fault::new(last, format!("the columns `{titles}` were expected")));
        }
        let Some(row) = lines.next() else {
            return Err(Fault::new(last, "the file ends before the numbers of this table"));
        };
        last = row.number;
        let cells: Vec<&str> = row.text.split('\t').collect();
        if cells.len() != columns.len() {
            let (has, needs) = (counted(cells.len(), "column"), columns.len());
            return Err(Fault::new(last, format!("the row has {has} instead of {needs}")));
        }
        for ((_, metric, factor), text) in
            columns.iter().zip(cells).filter(|(_, text)| *text != MISSING)
        {
            found.scaled(&cell, metric, (text, *factor), last);
        }
    }
    if tables.next().is_some() {
        return Err(Fault::new(last, "the file ends before its second table"));
    }
    for (_, metric, _) in &VMSTAT[1..] {
        found.bias(metric, bias::VMSTAT_HEADERS);
    }
    Ok(())
}
