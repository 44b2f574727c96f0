//! `qps.abs.TAG.tsv`: operations per second, one row per step and one column per subject. The
//! `.csv` beside it has neither header nor names and tells nothing more.

use super::{Importer, o_met::is_note};
use crate::{
    Cell, Fault, File, FileHead, Found, Line,
    number::{self, MISSING},
    step,
};

pub(super) const IMPORTER: Importer = Importer {
    name: "qps_abs",
    help: "qps.abs tables of the published sysbench archives: operations per second",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let table = head.name.ends_with(".tsv") && head.start.starts_with(b"col-1 : ");
    table || is_qps(head.name, "abs", ".csv") || is_qps(head.name, "abs", ".tsv")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    if file.name.ends_with(".csv") {
        return nameless(file, found);
    }
    let mut lines = file.lines().peekable();
    let names = names(&mut lines, 1)?;
    found.subjects = names.iter().map(|(name, _)| name.clone()).collect();
    let cells: Vec<Cell> = names.iter().map(|(name, _)| file.summary_cell(name)).collect();
    rows(lines, &cells, "ops_per_second", None, found)
}

/// Whether a file is a table of `kind` with this ending.
pub(super) fn is_qps(name: &str, kind: &str, ending: &str) -> bool {
    let rest = name.strip_prefix("qps.").and_then(|rest| rest.strip_prefix(kind));
    rest.is_some_and(|rest| rest.starts_with('.')) && name.ends_with(ending)
}

/// A table without names is only good beside the one that has them.
pub(super) fn nameless(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let named = format!("{}.tsv", file.name.strip_suffix(".csv").unwrap_or(file.name));
    if file.has_sibling(&named) {
        found.is_told_elsewhere = true;
        return Ok(());
    }
    Err(Fault::new(
        1,
        format!(
            "its columns have no names, and `{named}` is not in the same \
        folder"
        ),
    ))
}

/// The lines `col-N : NAME`, with their line numbers.
pub(super) fn names<'a>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = Line<'a>>>,
    first: u32,
) -> Result<Vec<(String, u32)>, Fault> {
    let mut names: Vec<(String, u32)> = Vec::new();
    while let Some(line) =
        lines.next_if(|line| line.text.starts_with("col-") && line.text.contains(" :"))
    {
        let start = format!("col-{} : ", names.len() + 1);
        let name = line.text.strip_prefix(start.as_str()).unwrap_or_default();
        let known = names.iter().any(|(other, _)| other == name);
        if name.is_empty() || known || name.contains(['`', '\t']) {
            let shown = number::excerpt(&line.text);
            let reason = format!("`{shown}` does not name the next version; the table is left out");
            return Err(Fault::new(line.number, reason));
        }
        names.push((name.to_owned(), line.number));
    }
    match names.is_empty() {
        true => Err(Fault::new(first, "`col-1 : …` was expected: the versions have no names")),
        false => Ok(names),
    }
}

/// The rows below the header. The first cell may be a base, of which each row says 1.
pub(super) fn rows<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    cells: &[Cell],
    metric: &'static str,
    base: Option<&Cell>,
    found: &mut Found,
) -> Result<(), Fault> {
    let mut last = 0;
    let header: Vec<String> = (1..=cells.len()).map(|number| format!("col-{number}")).collect();
    let mut headed = false;
    for line in lines {
        last = line.number;
        if line.text.is_empty() {
            continue;
        }
        let fields: Vec<&str> = line.text.split('\t').collect();
        if !headed {
            let (own, notes) = fields.split_at(header.len().min(fields.len()));
            let columns = notes.iter().any(|note| note.starts_with("col-"));
            if own != header || columns {
                return Err(Fault::new(
                    last,
                    format!("the header `{}` was expected", header.join(" ")),
                ));
            }
            headed = true;
            continue;
        }
        let noted = fields.len() > cells.len() + 1 && fields[cells.len() + 1..].iter().all(is_note);
        let fields = if noted { &fields[..=cells.len()] } else { &fields[..] };
        let Some((name, texts)) = fields.split_last().filter(|(_, t)| t.len() == cells.len())
        else {
            found.warn(last, number::wrong_columns(fields.len(), cells.len() + 1));
            continue;
        };
        let Some(step) = step::of_row(name) else {
            let shown = number::excerpt(name);
            found.warn(last, format!("`{shown}` names no step; the row is left out"));
            continue;
        };
        if let Some(base) = base {
            let mut cell = base.clone();
            step.clone().fill(&mut cell);
            found.computed(&cell, metric, 1.0, last);
        }
        for (cell, text) in cells.iter().zip(texts).filter(|(_, text)| **text != MISSING) {
            let mut cell = cell.clone();
            step.clone().fill(&mut cell);
            found.number(&cell, metric, text, last);
        }
    }
    if found.values.is_empty() { Err(Fault::new(last, "the table has no rows")) } else { Ok(()) }
}
