//! `o.sum.*` of the Insert Benchmark: one row per phase of one variant. Rows name no phase; their
//! place tells it.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found,
    insert::{
        Sheet,
        table::{self, Context},
    },
    phase::{self, phases},
};
use model::number::counted;

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_summary",
    help: "o.sum files of published Insert Benchmark archives: one row per phase",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.starts_with("o.sum.")
        || head.name == "o.sum"
        || head.lines().next().is_some_and(|line| line.text.starts_with("ips,qps,"))
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let lines: Vec<_> = file.lines().collect();
    let (sheet, faults) = Sheet::read(lines.iter().map(|line| (line.number, line.text.as_ref())));
    if !sheet.is_tagged() {
        return Err(Fault::new(1, "the header does not end in `tag`"));
    }
    // Broken rows count too: the place of the others is not shifted by them.
    let rows = lines.len().saturating_sub(1);
    let Some(phases) = phases(rows) else {
        let rows = counted(rows, "row");
        let reason = format!("{rows} instead of one for each known phase (10 or 15)");
        let last = lines.last().map_or(1, |line| line.number);
        return Err(Fault::new(last, reason));
    };
    found.warnings.extend(faults);
    table::check_columns(&sheet, 1, found);
    let context = Context { file, clients: phase::clients(file.path) };
    for row in sheet.rows() {
        let place = usize::try_from(row.line).ok().and_then(|line| line.checked_sub(2));
        let phase = place.and_then(|place| phases.get(place));
        let (Some(phase), Some(tag)) = (phase, row.cells.last()) else { continue };
        table::row(&sheet, row, &table::cell(context, phase, tag), found);
    }
    table::bias_vmstat(found);
    Ok(())
}
