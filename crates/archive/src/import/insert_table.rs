//! `mrg.*` and `rel.*` of the Insert Benchmark: one row per variant of one phase, or of several
//! phases below each other.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found, Line, bias,
    insert::{
        Sheet, histogram,
        table::{self, Context},
    },
    phase::{self, clients},
};

/// What the rows of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    Absolute,
    /// Relative to the first variant of their group, which is not there.
    Relative,
}

/// The kind of rows and the phase of a file's name; no phase for files that name theirs inside.
fn named(name: &str) -> Option<(Rows, Option<&str>)> {
    let (rows, rest) = match name.split_once('.')? {
        ("mrg", rest) => (Rows::Absolute, rest),
        ("rel", rest) => (Rows::Relative, rest),
        _ => return None,
    };
    let phase = rest.strip_suffix(".some").unwrap_or(rest);
    match phase::of(phase) {
        Some(_) => Some((rows, Some(phase))),
        None => (rest == "some").then_some((rows, None)),
    }
}

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_table",
    help: "mrg and rel files of published Insert Benchmark archives: variants by phase",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    named(head.name).is_some()
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let Some((rows, phase)) = named(file.name) else {
        return Err(Fault::new(1, "the file name contains no phase"));
    };
    // Ratios that follow from absolute values beside them say nothing of their own.
    let source = file.name.replacen("rel.", "mrg.", 1);
    if rows == Rows::Relative && file.has_sibling(&source) {
        found.is_told_elsewhere = true;
        return Ok(());
    }
    let context = Context { file, clients: clients(file.path) };
    let lines: Vec<Line<'_>> = file.lines().collect();
    match phase {
        Some(phase) => table_of(&lines, context, (phase, rows), found)?,
        None => several(&lines, context, rows, found)?,
    }
    match rows {
        Rows::Absolute => table::bias_vmstat(found),
        Rows::Relative => {
            found.values.iter_mut().for_each(|value| value.biases.push(bias::RELATIVE));
        }
    }
    Ok(())
}

/// One table.
fn table_of(
    lines: &[Line<'_>],
    context: Context<'_>,
    (phase, rows): (&str, Rows),
    found: &mut Found,
) -> Result<(), Fault> {
    let first = lines.first().map_or(0, |line| line.number);
    let (sheet, faults) = Sheet::read(lines.iter().map(|line| (line.number, line.text.as_ref())));
    if !sheet.is_tagged() || histogram::is_histogram(&sheet) {
        return Err(Fault::new(first, "the header is not that of a table of phases"));
    }
    found.warnings.extend(faults);
    table::check_columns(&sheet, first, found);
    for row in sheet.rows() {
        let Some(tag) = row.cells.last() else { continue };
        let cell = table::cell(context, phase, tag);
        if rows == Rows::Absolute && !found.subjects.contains(&cell.subject) {
            found.subjects.push(cell.subject.clone());
        }
        match rows {
            Rows::Absolute => table::row(&sheet, row, &cell, found),
            Rows::Relative => table::ratios(&sheet, row, &cell, found),
        }
    }
    Ok(())
}

/// Tables below each other: an empty line, the phase, the table.
fn several(
    lines: &[Line<'_>],
    context: Context<'_>,
    rows: Rows,
    found: &mut Found,
) -> Result<(), Fault> {
    let parts = lines.split(|line| line.text.is_empty()).filter(|part| !part.is_empty());
    for part in parts {
        let Some((name, rest)) = part.split_first() else { continue };
        if phase::of(&name.text).is_none() {
            let shown = crate::number::excerpt(&name.text);
            let reason = format!("`{shown}` names no phase; its table is left out");
            found.warn(name.number, reason);
            continue;
        }
        table_of(rest, context, (&name.text, rows), found)?;
    }
    Ok(())
}
