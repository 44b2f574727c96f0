//! `o.met*`: the values of `sb.met` of all subjects, step by step. Columns differ by age; the
//! header counts.

use super::Importer;
use crate::{
    Cell, Fault, File, FileHead, Found, Line, bias, names,
    number::{self, MISSING},
    step, tag,
};

/// Columns that are known, with the metrics they become.
const COLUMNS: &[(&str, &str)] = &[
    ("cpu/o", "host_cpu_percent_per_op"),
    ("cs/o", "host_context_switches_per_op"),
    ("r/o", "reads_per_op"),
    ("rKB/o", "read_kib_per_op"),
    ("wKB/o", "write_kib_per_op"),
    ("o/s", "ops_per_second"),
];

/// Key of cells of sections that compare two numbers of clients; values never have it.
const SIDE_BY_SIDE: &str = "side by side";

const ABSOLUTE: &str = "--- absolute";
const RELATIVE: &str = "--- relative";

pub(super) const IMPORTER: Importer = Importer {
    name: "o_met",
    help: "o.met summaries of the published sysbench archives: one section per step",
    ends_anywhere: false,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    let named = head.name.starts_with("o.met") || head.name.starts_with("met.");
    named && head.lines().next().is_some_and(|line| line.text.starts_with("sb."))
        || head.name.starts_with("o.met")
        || head.lines().take(3).any(|line| line.text == ABSOLUTE)
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    if file.bytes.is_empty() {
        return Err(Fault::new(1, "the file is empty"));
    }
    let mut section = Section::None;
    for line in file.lines() {
        section = section.after(&line, file, found);
    }
    if found.values.is_empty() {
        return Err(Fault::new(1, "no section with absolute values was found"));
    }
    for (_, metric) in &COLUMNS[..2] {
        found.bias(metric, bias::VMSTAT_HEADERS);
    }
    Ok(())
}

/// Where in a section a line is.
enum Section {
    /// Before the first section, or in one that is left out.
    None,
    /// After the name of a step.
    Named(Cell),
    /// After the line that announces absolute values.
    Announced(Cell),
    /// In the rows, with the metric of each column.
    Rows(Cell, Vec<&'static str>),
    /// In rows that follow from others.
    Derived,
}

impl Section {
    fn after(self, line: &Line<'_>, file: &File<'_>, found: &mut Found) -> Self {
        let text = line.text.as_ref();
        if text.is_empty() {
            return Self::None;
        }
        if text.starts_with("sb.") {
            return match step::of_section(text) {
                Some(step) => {
                    let mut cell = file.summary_cell("");
                    step.fill(&mut cell);
                    Self::Named(cell)
                }
                None => {
                    let shown = number::excerpt(text);
                    found.warn(
                        line.number,
                        format!("`{shown}` names no step; its section is left out"),
                    );
                    Self::Derived
                }
            };
        }
        if text.starts_with(RELATIVE) {
            return Self::Derived;
        }
        match self {
            Self::Named(cell) if text == ABSOLUTE => Self::Announced(cell),
            // Two numbers of clients side by side: the labels of the rows tell them apart.
            Self::Named(mut cell) if text.starts_with("base1 ") => {
                (cell.clients, cell.table_clients) = (None, None);
                cell.levels.insert(SIDE_BY_SIDE.to_owned(), String::new());
                Self::Named(cell)
            }
            Self::Announced(cell) => match columns(text) {
                Some(columns) => Self::Rows(cell, columns),
                None => {
                    found.warn(line.number, "the columns are not known; the section is left out");
                    Self::Derived
                }
            },
            Self::Rows(cell, columns) => {
                row(line, &cell, &columns, found);
                Self::Rows(cell, columns)
            }
            Self::None | Self::Named(_) => {
                let shown = number::excerpt(text);
                found.warn(line.number, format!("`{shown}` is in no section and is left out"));
                Self::Derived
            }
            Self::Derived => Self::Derived,
        }
    }
}

/// The metric of each column; `None` if a column is not known or there is none of the subject.
fn columns(header: &str) -> Option<Vec<&'static str>> {
    let titles: Vec<&str> = fields(header).collect();
    // What follows the last column is a note.
    let titles = titles.get(..titles.iter().position(|title| *title == "dbms")?)?;
    let metric =
        |title: &&str| COLUMNS.iter().find(|(known, _)| known == title).map(|(_, metric)| *metric);
    titles.iter().map(metric).collect()
}

fn row(line: &Line<'_>, cell: &Cell, columns: &[&'static str], found: &mut Found) {
    let mut cells: Vec<&str> = fields(&line.text).collect();
    if cells.get(columns.len() + 1..).is_some_and(|notes| notes.iter().all(is_note)) {
        cells.truncate(columns.len() + 1);
    }
    if cells.len() != columns.len() + 1 {
        found.warn(line.number, number::wrong_columns(cells.len(), columns.len() + 1));
        return;
    }
    let Some((subject, texts)) = cells.split_last() else { return };
    let subject = names::capped(subject);
    let mut own = cell.clone();
    let labelled = own.levels.remove(SIDE_BY_SIDE).and_then(|_| tag::label(subject));
    let subject = labelled.map_or(subject, |(subject, clients)| {
        own.table_clients = Some(clients);
        own.clients = (!step::is_load(&own.phase)).then_some(clients);
        subject
    });
    own.levels.extend(crate::folders::levels_of(subject));
    own.subject = subject.to_owned();
    if !found.subjects.contains(&own.subject) {
        found.subjects.push(own.subject.clone());
    }
    for (metric, text) in columns.iter().zip(texts).filter(|(_, text)| **text != MISSING) {
        found.number(&own, metric, text, line.number);
    }
}

/// Whether a field behind the last column is a note of the archive's author: nothing else begins
/// like this.
pub(super) fn is_note(text: &&str) -> bool {
    text.trim().is_empty()
        || text.trim_start().starts_with([':', '#', '(', '-', '<', '*'])
            && number::parse(text.trim()).is_none()
}

/// Headers have two tabs where rows have one.
fn fields(text: &str) -> impl Iterator<Item = &str> {
    text.split('\t').filter(|field| !field.is_empty())
}
