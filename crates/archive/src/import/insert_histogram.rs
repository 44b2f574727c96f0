//! `o.rt.*` and `mrg.PHASE.rt.*` of the Insert Benchmark: response times in ten buckets.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found,
    insert::{
        Sheet,
        histogram::{self, KINDS},
        kind_file::{KindFiles, KindOfPhase},
        table::Context,
    },
    phase,
};

const FILES: KindFiles = KindFiles { what: "rt", own: KINDS };

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_histogram",
    help: "o.rt and mrg.PHASE.rt files of the Insert Benchmark: response times in ten buckets",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    FILES.recognises(head.name)
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let KindOfPhase { phase, kind } = FILES.of(file)?;
    let lines: Vec<_> = file.lines().collect();
    let (sheet, faults) = Sheet::read(lines.iter().map(|line| (line.number, line.text.as_ref())));
    if !histogram::is_histogram(&sheet) {
        let expected = histogram::COLUMNS.join(" ");
        return Err(Fault::new(1, format!("the columns `{expected}` were expected")));
    }
    let context = Context { file, clients: phase::clients(file.path) };
    histogram::rows((&sheet, faults), context, (&phase, kind), found);
    Ok(())
}
