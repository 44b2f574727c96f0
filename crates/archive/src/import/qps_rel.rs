//! `qps.rel.TAG.tsv`: the same table relative to its first version. Where the table of the values
//! themselves is beside it, it tells nothing more.

use super::{
    Importer,
    qps_abs::{is_qps, nameless, names, rows},
};
use crate::{Cell, Fault, File, FileHead, Found, bias};

const START: &str = "Relative to: ";
const METRIC: &str = "ops_per_second_relative";

pub(super) const IMPORTER: Importer = Importer {
    name: "qps_rel",
    help: "qps.rel tables of the published sysbench archives, in folders without qps.abs",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let table = head.name.ends_with(".tsv") && head.start.starts_with(START.as_bytes());
    table || is_qps(head.name, "rel", ".csv") || is_qps(head.name, "rel", ".tsv")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    if file.name.ends_with(".csv") {
        return nameless(file, found);
    }
    if is_qps(file.name, "rel", ".tsv")
        && file.has_sibling(&file.name.replacen("qps.rel.", "qps.abs.", 1))
    {
        found.is_told_elsewhere = true;
        return Ok(());
    }
    let mut lines = file.lines().peekable();
    let first = lines.next();
    let base = first.as_ref().and_then(|line| line.text.strip_prefix(START));
    let Some(base) = base.filter(|base| !base.is_empty() && !base.contains(['`', '\t'])) else {
        return Err(Fault::new(1, format!("`{START}…` was expected: the base has no name")));
    };
    let names = names(&mut lines, 2)?;
    if let Some((_, line)) = names.iter().find(|(name, _)| name == base) {
        return Err(Fault::new(*line, "the base is among the versions relative to it"));
    }
    found.subjects.push(base.to_owned());
    found.subjects.extend(names.iter().map(|(name, _)| name.clone()));
    let cells: Vec<Cell> = names.iter().map(|(name, _)| file.summary_cell(name)).collect();
    let base = file.summary_cell(base);
    rows(lines, &cells, METRIC, Some(&base), found)?;
    found.bias(METRIC, bias::RELATIVE);
    Ok(())
}
