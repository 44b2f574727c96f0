//! `all.html` of the Insert Benchmark: the tables inside its `<pre>` blocks are complete.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found, Line,
    insert::{
        Sheet,
        histogram::{self, KINDS},
        table::{self, Context},
    },
    phase,
};
use std::collections::BTreeSet;

/// What titles of reports say beside numbers.
const TITLE: &str = "docs and ";

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_report",
    help: "all.html reports of the Insert Benchmark: metrics and response times of all phases",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.ends_with(".html") && head.holds("<title>") && head.holds("insert benchmark")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let lines: Vec<Line<'_>> = file.lines().collect();
    let mut reader = Reader {
        context: Context { file, clients: phase::clients(file.path) },
        phase: None,
        kind: None,
        seen: BTreeSet::new(),
    };
    let mut rest = lines.as_slice();
    while let Some((line, after)) = rest.split_first() {
        rest = after;
        reader.note(&line.text);
        if line.text.trim() == "<pre>" {
            let end = rest.iter().position(|line| line.text.trim() == "</pre>");
            let Some(end) = end else {
                found.warn(line.number, "this table does not end and is left out");
                break;
            };
            reader.table(&rest[..end], found);
            rest = &rest[end + 1..];
        }
    }
    if found.values.is_empty() {
        let last = lines.last().map_or(1, |line| line.number);
        return Err(Fault::new(last, "no table of a phase was found"));
    }
    table::bias_vmstat(found);
    Ok(())
}

/// Where in a report the reader is.
struct Reader<'a> {
    context: Context<'a>,
    phase: Option<String>,
    kind: Option<&'static str>,
    /// Lines of tables that were read already: short forms repeat rows of whole tables.
    seen: BTreeSet<(String, String)>,
}

impl Reader<'_> {
    /// Reads a line outside tables, which may describe the tables that follow.
    fn note(&mut self, text: &str) {
        if let Some(id) = text.strip_prefix("<h1 id=\"").and_then(|rest| rest.split('"').next()) {
            self.kind = None;
            let parts = id.rsplit_once('.');
            let phase = parts.filter(|(_, part)| matches!(*part, "graph" | "metrics" | "rt"));
            self.phase = phase.and_then(|(phase, _)| phase::of_folder(phase));
        }
        let told = |kind: &&str| {
            let mut capital = kind.to_string();
            capital[..1].make_ascii_uppercase();
            text.contains(&format!("{capital} response time histogram"))
        };
        if let Some(kind) = KINDS.into_iter().find(told) {
            self.kind = Some(kind);
        }
        if let Some((_, rest)) = text.split_once("<title>").and_then(|(_, t)| t.split_once(TITLE)) {
            let digits = rest.split(' ').next().and_then(|count| count.parse().ok());
            self.context.clients = digits.filter(|count| *count > 0).or(self.context.clients);
        }
    }

    fn table(&mut self, lines: &[Line<'_>], found: &mut Found) {
        let Some(phase) = self.phase.clone() else { return };
        let first = lines.first().map_or(0, |line| line.number);
        let (sheet, faults) =
            Sheet::read(lines.iter().map(|line| (line.number, line.text.as_ref())));
        if histogram::is_histogram(&sheet) {
            match self.kind {
                Some(kind) => {
                    histogram::rows((&sheet, faults), self.context, (&phase, kind), found);
                }
                None => found.warn(first, "nothing tells what this table timed; it is left out"),
            }
            return;
        }
        if !sheet.is_tagged() {
            // Averages of devices and the like.
            return;
        }
        found.warnings.extend(faults);
        table::check_columns(&sheet, first, found);
        for row in sheet.rows() {
            let Some(tag) = row.cells.last() else { continue };
            if !self.seen.insert((phase.clone(), row.cells.join("\t"))) {
                continue;
            }
            let cell = table::cell(self.context, &phase, tag);
            if !found.subjects.contains(&cell.subject) {
                found.subjects.push(cell.subject.clone());
            }
            table::row(&sheet, row, &cell, found);
        }
    }
}
