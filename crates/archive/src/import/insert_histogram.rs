//! `o.rt.*` and `mrg.PHASE.rt.*` of the Insert Benchmark: response times in ten buckets.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found,
    file::NO_PHASE,
    insert::{
        Sheet,
        histogram::{self, KINDS},
        phase,
        table::Context,
    },
};

pub(super) struct InsertHistogram;

/// The phase, where the name has one, and what was timed.
fn named(name: &str) -> Option<(Option<&str>, &'static str)> {
    let known = |kind: &str| KINDS.into_iter().find(|known| *known == kind);
    for form in ["o.rt.c.", "o.rt.t."] {
        if let Some(kind) = name.strip_prefix(form) {
            return Some((None, known(kind)?));
        }
    }
    let (phase, kind) = name.strip_prefix("mrg.")?.split_once(".rt.")?;
    phase::of(phase)?;
    Some((Some(phase), known(kind)?))
}

impl Importer for InsertHistogram {
    fn name(&self) -> &'static str {
        "insert_histogram"
    }

    fn help(&self) -> &'static str {
        "o.rt and mrg.PHASE.rt files of the Insert Benchmark: response times in ten buckets"
    }

    fn recognises(&self, head: &FileHead<'_>) -> bool {
        named(head.name).is_some()
    }

    fn import(&self, file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
        let Some((phase, kind)) = named(file.name) else {
            return Err(Fault::new(1, "the file name does not show what was timed"));
        };
        let folder = file.path.rsplit('/').nth(1).and_then(phase::of_folder);
        let Some(phase) = phase.map(str::to_owned).or(folder) else {
            return Err(Fault::new(1, NO_PHASE));
        };
        let lines: Vec<_> = file.lines().collect();
        let (sheet, faults) =
            Sheet::read(lines.iter().map(|line| (line.number, line.text.as_ref())));
        if !histogram::is_histogram(&sheet) {
            let expected = histogram::COLUMNS.join(" ");
            return Err(Fault::new(1, format!("the columns `{expected}` were expected")));
        }
        let context = Context { file, clients: phase::clients(file.path) };
        histogram::rows((&sheet, faults), context, (&phase, kind), found);
        Ok(())
    }
}
