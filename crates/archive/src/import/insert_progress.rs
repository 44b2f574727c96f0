//! `o.ib.*` of the Insert Benchmark: what one client printed every second, and its response times
//! at the end.

use super::Importer;
use crate::{
    Cell, Fault, File, FileHead, Found,
    file::NO_PHASE,
    insert::{
        histogram::{self, KINDS},
        progress::{Interval, Progress, columns},
    },
    number,
};

/// Number of clients and of this client in `o.ib.dop4.2`.
fn named(name: &str) -> Option<(u32, u32)> {
    let (clients, client) = name.strip_prefix("o.ib.dop")?.split_once('.')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u32>().ok().filter(|number| digits && *number > 0)
    };
    Some((number(clients)?, number(client)?))
}

pub(super) const IMPORTER: Importer = Importer {
    name: "insert_progress",
    help: "o.ib output of the Insert Benchmark's client: rates of every second, response times",
    ends_anywhere: true,
    is_own_file: false,
    recognises,
    import,
};

fn recognises(head: &FileHead<'_>) -> bool {
    named(head.name).is_some() || head.holds("i_sec\tt_sec\ti_ips\t")
}

fn import(file: &File<'_>, found: &mut Found) -> Result<(), Fault> {
    let (clients, client) = named(file.name).unwrap_or((1, 1));
    let Some(cell) = file.folders.phase_cell() else {
        return Err(Fault::new(1, NO_PHASE));
    };
    let cell = Cell { clients: Some(clients), ..cell };
    // With several clients each has its own metrics; those of a single client are the phase's.
    let prefix = if clients > 1 { format!("client{client}_") } else { String::new() };
    let mut progress = Progress::default();
    let mut header: Option<Vec<&'static str>> = None;
    for line in file.lines() {
        let text = line.text.as_ref();
        if text.starts_with("i_sec\t") {
            header = columns(text);
            if header.is_none() {
                return Err(Fault::new(line.number, "the columns are not known"));
            }
        } else if text.starts_with(|c: char| c.is_ascii_digit()) && text.contains('\t') {
            match header.as_deref().map(|header| Interval::read(header, text)) {
                Some(Ok(interval)) => progress.add(interval, line.number),
                Some(Err(reason)) => found.warn(line.number, reason),
                None => found.warn(line.number, "numbers before their header are left out"),
            }
        } else {
            response_times(text, (&cell, &prefix), line.number, found);
        }
    }
    if progress.is_empty() {
        let last = file.lines().last().map_or(1, |line| line.number);
        return Err(Fault::new(last, "no line of progress was found"));
    }
    progress.values(&cell, &prefix, found);
    Ok(())
}

/// `Insert rt:` and ten counts with the largest time; the line before it holds the bounds.
fn response_times(text: &str, (cell, prefix): (&Cell, &str), line: u32, found: &mut Found) {
    let Some((name, rest)) = text.split_once(" rt:") else { return };
    let name = name.to_ascii_lowercase();
    let Some(kind) = KINDS.into_iter().find(|kind| *kind == name) else { return };
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if fields.first() == Some(&histogram::COLUMNS[0]) {
        return;
    }
    if fields.len() != 11 {
        let shown = number::excerpt(text);
        found.warn(line, format!("`{shown}` is not ten counts and a time; it is left out"));
        return;
    }
    let cells = fields.into_iter().map(str::to_owned).collect();
    let row = crate::insert::Row { line, cells };
    let first = found.values.len();
    histogram::row(&row, cell, (kind, "count"), found);
    for value in &mut found.values[first..] {
        value.metric = format!("{prefix}{}", value.metric).into();
    }
}
