//! The tables at the top of published Insert Benchmark reports, on a page of their own: rates of
//! all variants by phase, and the rates of inserts beside queries.

use super::Importer;
use crate::{
    Cell, Fault, File, FileHead, Found, Line, Value,
    insert::table::{self, Context},
    phase::{self, Phase},
};
use std::borrow::Cow;

/// How the header of a table begins.
const HEADER: &str = "<tr><th>dbms</th>";

/// Name of the row with the rates that were asked for.
const TARGET: &str = "target";

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_overview",
    help: "pages with the summary tables of Insert Benchmark reports: rates by variant and phase",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    head.name.ends_with(".html") && head.holds(HEADER)
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let lines: Vec<Line<'_>> = file.lines().collect();
    let starts: Vec<usize> =
        (0..lines.len()).filter(|at| lines[*at].text.trim().starts_with(HEADER)).collect();
    let mut context = Context { file, clients: phase::clients(file.path) };
    let mut tables = Vec::new();
    for start in starts {
        let end = lines[start..].iter().position(|line| line.text.trim() == "</table>");
        let Some(end) = end else {
            found.warn(lines[start].number, "this table does not end and is left out");
            continue;
        };
        let table = Table::read(&lines[start..start + end], found);
        context.clients = table.clients().or(context.clients);
        tables.push(table);
    }
    for table in &tables {
        table.values(context, found);
    }
    if found.values.is_empty() {
        let last = lines.last().map_or(1, |line| line.number);
        return Err(Fault::new(last, "no table of rates was found"));
    }
    Ok(())
}

/// A table of one row per variant and one column per phase.
struct Table {
    /// Published names of the phases; `None` for a column of no phase.
    phases: Vec<Option<(String, Phase)>>,
    /// Line, variant and cells.
    rows: Vec<(u32, String, Vec<String>)>,
}

impl Table {
    fn read(lines: &[Line<'_>], found: &mut Found) -> Self {
        let header = lines.first().map(|line| cells(&line.text, "<th")).unwrap_or_default();
        let names: Vec<&str> = header.iter().skip(1).map(String::as_str).collect();
        let published = phase::published(&names);
        let name = |own: &&str| {
            let (_, name) = published.iter().find(|(known, _)| known == own)?;
            Some((name.clone(), phase::of(name)?))
        };
        let phases: Vec<_> = names.iter().map(name).collect();
        for (name, phase) in names.iter().zip(&phases) {
            if phase.is_none() {
                let shown = crate::number::excerpt(name);
                let line = lines.first().map_or(1, |line| line.number);
                found.warn(line, format!("the column `{shown}` is no phase and is left out"));
            }
        }
        let mut rows = Vec::new();
        for line in lines.iter().skip(1).filter(|line| line.text.contains("<td")) {
            let mut cells = cells(&line.text, "<td");
            if cells.len() != phases.len() + 1 {
                let (has, needs) = (cells.len(), phases.len() + 1);
                let reason = format!("the row has {has} cells instead of {needs}; it is left out");
                found.warn(line.number, reason);
                continue;
            }
            let rates = cells.split_off(1);
            rows.push((line.number, cells.remove(0), rates));
        }
        Self { phases, rows }
    }

    /// Whether the rates are those of inserts beside queries: only these were asked for.
    fn is_inserts(&self) -> bool {
        self.rows.iter().any(|(_, name, _)| name == TARGET)
    }

    /// Whether the rates are relative to the first row: such a table follows from another.
    fn is_relative(&self) -> bool {
        let mut cells = self.rows.first().into_iter().flat_map(|(.., cells)| cells).peekable();
        cells.peek().is_some() && cells.all(|cell| cell == "1.00")
    }

    /// Clients, from the rates that were asked for.
    fn clients(&self) -> Option<u32> {
        let (.., targets) = self.rows.iter().find(|(_, name, _)| name == TARGET)?;
        self.phases.iter().zip(targets).find_map(|(phase, target)| {
            let (rate, target) = (phase.as_ref()?.1.rate, target.parse::<u32>().ok()?);
            (rate > 0 && target > 0 && target % rate == 0).then(|| target / rate)
        })
    }

    fn values(&self, context: Context<'_>, found: &mut Found) {
        if self.is_relative() {
            return;
        }
        for (line, tag, cells) in self.rows.iter().filter(|(_, tag, _)| tag != TARGET) {
            for (column, text) in self.phases.iter().zip(cells) {
                let Some((name, phase)) = column else { continue };
                let cell = table::cell(context, name, tag);
                if !found.subjects.contains(&cell.subject) {
                    found.subjects.push(cell.subject.clone());
                }
                if self.is_inserts() {
                    found.number(&cell, "insert_rows_per_second", text, *line);
                    target(&cell, *phase, *line, found);
                } else {
                    rate(&cell, *phase, text, *line, found);
                }
            }
        }
    }
}

/// The rate of a phase: rows while loading, else queries; these are its operations.
fn rate(cell: &Cell, phase: Phase, text: &str, line: u32, found: &mut Found) {
    let queries = phase.kind.queries();
    let metric = if queries { "queries_per_second" } else { "insert_rows_per_second" };
    let before = found.values.len();
    found.number(cell, metric, text, line);
    let operations = found.values[before..].first().cloned();
    found
        .values
        .extend(operations.map(|value| Value { metric: Cow::Borrowed("ops_per_second"), ..value }));
}

/// The rate of inserts that was asked for, where the number of clients is known.
fn target(cell: &Cell, phase: Phase, line: u32, found: &mut Found) {
    if let Some(clients) = cell.clients {
        let target = f64::from(phase.rate) * f64::from(clients);
        found.computed(cell, "insert_rows_per_second_target", target, line);
    }
}

/// The texts of the cells of a row, each after the end of its tag.
fn cells(row: &str, tag: &str) -> Vec<String> {
    let parts = row.split(tag).skip(1);
    let texts = parts.filter_map(|part| part.split_once('>')?.1.split('<').next());
    texts.map(|text| text.trim().to_owned()).collect()
}
