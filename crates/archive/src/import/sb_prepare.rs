//! `sb.prepare.o.*`: the talk of the load, whose last line has its seconds and rows per second.

use super::Importer;
use crate::{Fault, File, FileHead, Found};

const START: &str = "Load seconds is ";

pub(super) const IMPORTER: Importer = Importer {
    name: "sb_prepare",
    help: "sb.prepare.o files of the published sysbench archives: seconds and rate of the load",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.starts_with("sb.prepare.o.") || head.start.starts_with(START.as_bytes())
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let Some(line) = file.lines().filter(|line| line.text.starts_with(START)).last() else {
        let last = file.lines().last().map_or(0, |line| line.number);
        return Err(Fault::new(last, format!("`{START}…` is missing: the load was cut short")));
    };
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let [_, _, _, seconds, _, _, _, _, _, rate, "ips"] = words.as_slice() else {
        let reason = "the line is not `Load seconds is … for … tables, … Mips, … ips`";
        return Err(Fault::new(line.number, reason));
    };
    let cell = file.cell();
    found.number(&cell, "load_seconds", seconds, line.number);
    found.number(&cell, "ops_per_second", rate, line.number);
    Ok(())
}
