//! `o.rate.*` and `mrg.PHASE.rate.KIND` of the Insert Benchmark: means of ten equally long slices
//! of a phase, of each client.

use super::Importer;
use crate::{
    Fault, File, FileHead, Found, Value,
    insert::{
        kind_file::{KindFiles, KindOfPhase},
        table::{self, Context},
    },
    number, phase,
};
use std::collections::BTreeMap;

/// Slices of a phase.
const SLICES: usize = 10;

/// Files of a phase are named by the columns of the clients' output.
const FILES: KindFiles = KindFiles { what: "rate", own: ["3", "5", "7"] };

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_rate",
    help: "o.rate and mrg.PHASE.rate files of the Insert Benchmark: rates in ten slices of a phase",
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
        let numbers = cells.iter().take(SLICES).all(|cell| number::quantity(cell).is_some());
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
