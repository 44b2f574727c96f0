//! `o.rate.*` and `mrg.PHASE.rate.KIND` of the Insert Benchmark: means of ten equally long slices
//! of a phase, of each client.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found, Value,
    file::NO_PHASE,
    insert::{
        phase,
        table::{self, Context},
    },
    number,
};
use std::collections::BTreeMap;

pub(super) struct InsertRate;

/// Slices of a phase.
const SLICES: usize = 10;

/// Columns of the clients' output, with what they count.
const COLUMNS: [(&str, &str); 3] = [("3", "insert"), ("5", "delete"), ("7", "query")];

/// The phase, where the name has one, and what was counted.
fn named(name: &str) -> Option<(Option<&str>, &'static str)> {
    for form in ["o.rate.c.", "o.rate.t."] {
        if let Some(column) = name.strip_prefix(form) {
            let known = COLUMNS.iter().find(|(number, _)| *number == column)?;
            return Some((None, known.1));
        }
    }
    let (phase, kind) = name.strip_prefix("mrg.")?.split_once(".rate.")?;
    phase::of(phase)?;
    let known = COLUMNS.iter().find(|(_, known)| *known == kind)?;
    Some((Some(phase), known.1))
}

impl Importer for InsertRate {
    fn name(&self) -> &'static str {
        "insert_rate"
    }

    fn help(&self) -> &'static str {
        "o.rate and mrg.PHASE.rate files of the Insert Benchmark: rates in ten slices of a phase"
    }

    fn recognises(&self, head: &FileHead<'_>) -> bool {
        named(head.name).is_some()
    }

    fn import(&self, file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
        let Some((phase, kind)) = named(file.name) else {
            return Err(Fault::new(1, "the file name does not show what was counted"));
        };
        let own = file.place.phase_cell();
        let Some(phase) = phase.map(str::to_owned).or(own.map(|cell| cell.phase)) else {
            return Err(Fault::new(1, NO_PHASE));
        };
        let context = Context { file, clients: phase::clients(file.path) };
        let mut rows: BTreeMap<String, Vec<(u32, Vec<String>)>> = BTreeMap::new();
        let mut last = 1;
        for line in file.lines() {
            last = line.number;
            let text = line.text.as_ref();
            if text == "-" || text.is_empty() || text.starts_with("qps-1") {
                continue;
            }
            let separator = if text.contains('\t') { '\t' } else { ',' };
            let cells: Vec<String> = text.split(separator).map(str::to_owned).collect();
            let numbers = cells.iter().take(SLICES).all(|cell| number::parse(cell).is_some());
            match cells.split_last() {
                Some((tag, slices)) if slices.len() == SLICES && numbers => {
                    // Rows of single clients begin with their number.
                    let tag = match tag.split_once(':') {
                        Some((client, tag)) if number::parse(client).is_some() => tag,
                        _ => tag,
                    };
                    rows.entry(tag.to_owned()).or_default().push((last, slices.to_vec()));
                }
                _ => found.warn(last, "the row is not ten rates and a name; it is left out"),
            }
        }
        if rows.is_empty() && found.warnings.is_empty() {
            return Err(Fault::new(last, "the file has no rates"));
        }
        for (tag, clients) in &rows {
            let cell = table::cell(context, &phase, tag);
            let lone = clients.len() == 1;
            for ((line, slices), client) in clients.iter().zip(1..) {
                let prefix = if lone { String::new() } else { format!("client{client}_") };
                for (text, slice) in slices.iter().zip(1..) {
                    let Some(value) = number::parse(text) else { continue };
                    found.values.push(Value {
                        cell: cell.clone(),
                        metric: format!("{prefix}{kind}_rate_slice_{slice}").into(),
                        value,
                        text: text.clone(),
                        line: *line,
                        biases: Vec::new(),
                    });
                }
            }
        }
        Ok(())
    }
}
