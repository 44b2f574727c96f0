//! Values to published tables: `mrg.*`, `rel.*` and the short forms of them.

use super::{
    columns,
    merge::{merged, relative, some},
    row::{COLUMNS, PhaseRates, Work, published_row},
    sheet::{Row, Sheet},
};
use crate::{
    ExportOptions, Exported, Study,
    center::{Center, centers},
    number,
    phase::{self, SOME_PHASES},
    variants,
};
use model::record::SliceState;
use std::collections::{BTreeMap, BTreeSet};

/// The values of one variant in one phase by metric.
type Metrics<'a> = BTreeMap<&'a str, Center<'a>>;

/// The values of variants by the published name of the phase, and by variant.
type Cells<'a> = BTreeMap<(String, &'a str), Metrics<'a>>;

/// The tables of a study that has phases of the Insert Benchmark; nothing for others. Groups follow
/// each other between lines of `-`; without groups all variants are one. Numbers are printed as
/// they were imported; those that dbdyno measured, in pieces and blocks, are printed in the same
/// way. Our own query phases get the ordinal that published names have.
///
/// What missed its set rate has its rates in `mrg.*`; in `rel.*` it is `NA`, and so is what has it
/// as its base, unless the options want files as published.
pub fn insert_tables(study: &Study, options: &ExportOptions) -> Vec<Exported> {
    let names = published_names(study);
    let cells = cells(study, &names);
    let missed = if options.as_published { BTreeSet::new() } else { missed(study, &names) };
    let mut phases: Vec<&str> = cells.keys().map(|(phase, _)| phase.as_str()).collect();
    phases.dedup();
    phases.sort_by_key(|name| phase::order(name));
    let groups = groups(study, options);
    let mut sheets: Vec<(&str, Sheet, Sheet)> = Vec::new();
    for phase in phases {
        let own = |subject: &str| match cells.get(&(phase.to_owned(), subject)) {
            Some(metrics) => row(study, phase, subject, metrics),
            None => missing(subject),
        };
        let comparable = |subject: &str| match missed.contains(&(phase, subject)) {
            true => missing(subject),
            false => own(subject),
        };
        sheets.push((phase, sheet(&groups, &own), relative(&sheet(&groups, &comparable))));
    }
    files(&sheets)
}

/// A row of every variant, with a line of `-` between groups.
fn sheet(groups: &[Vec<&str>], row: &dyn Fn(&str) -> [String; 21]) -> Sheet {
    let names: Vec<String> = COLUMNS.iter().map(|name| (*name).to_owned()).collect();
    let row = |subject: &&str| Row { line: 0, cells: row(subject).to_vec() };
    let rows: Vec<Vec<Row>> = groups.iter().map(|group| group.iter().map(row).collect()).collect();
    let mut lines: Vec<Option<&Row>> = Vec::new();
    for (index, group) in rows.iter().enumerate() {
        lines.extend((index > 0).then_some(None));
        lines.extend(group.iter().map(Some));
    }
    merged(&names, lines)
}

fn files(sheets: &[(&str, Sheet, Sheet)]) -> Vec<Exported> {
    let file = |path: String, text: String| Exported { path, bytes: text.into_bytes() };
    let mut files = Vec::new();
    for (phase, absolute, ratios) in sheets {
        files.push(file(format!("mrg.{phase}"), absolute.text()));
        files.push(file(format!("rel.{phase}"), ratios.text()));
    }
    let picked = |name: &&str| sheets.iter().find(|(phase, ..)| phase == name);
    let short: Vec<_> = SOME_PHASES.iter().filter_map(picked).collect();
    if short.len() == SOME_PHASES.len() {
        let absolute = some(short.iter().map(|(phase, absolute, _)| (*phase, absolute)));
        files.push(file("mrg.some".to_owned(), absolute));
        let ratios = some(short.iter().map(|(phase, _, ratios)| (*phase, ratios)));
        files.push(file("rel.some".to_owned(), ratios));
    }
    files
}

/// The published names of the phases.
fn published_names(study: &Study) -> BTreeMap<&str, String> {
    let measured = study.values.iter().map(|value| &value.measurement);
    let measured = measured.filter(|m| m.state != SliceState::Failed && m.value.is_finite());
    let order: BTreeSet<(u32, &str)> =
        measured.map(|measured| (measured.position, measured.phase.as_str())).collect();
    let mut phases: Vec<&str> = Vec::new();
    for (_, phase) in order {
        // Runs of different plans may give one phase different positions; its first one counts.
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    phase::published(&phases).into_iter().collect()
}

/// Published phases and variants in which any slice missed its set rate.
fn missed<'a>(
    study: &'a Study,
    names: &'a BTreeMap<&'a str, String>,
) -> BTreeSet<(&'a str, &'a str)> {
    let missed = study.values.iter().map(|value| &value.measurement).filter(|m| m.has_missed());
    missed
        .filter_map(|m| Some((names.get(m.phase.as_str())?.as_str(), m.subject.as_str())))
        .collect()
}

/// One value of each phase, variant and metric: that of all blocks and pieces.
fn cells<'a>(study: &'a Study, names: &BTreeMap<&str, String>) -> Cells<'a> {
    let mut cells = Cells::new();
    for ((phase, subject, metric), center) in centers(study) {
        if let Some(name) = names.get(phase) {
            cells.entry((name.clone(), subject)).or_default().insert(metric, center);
        }
    }
    cells
}

/// The labels of each group. A name that is none of the study's keeps its row: without it the next
/// variant would be taken for the base.
fn groups<'a>(study: &'a Study, options: &'a ExportOptions) -> Vec<Vec<&'a str>> {
    let labels: Vec<&str> = study.subjects.iter().map(String::as_str).collect();
    let known = |names: &'a Vec<String>| {
        let mut group: Vec<&'a str> = Vec::new();
        for name in names {
            let label = variants::find(&labels, name).unwrap_or(name);
            if !group.contains(&label) {
                group.push(label);
            }
        }
        group
    };
    match (options.groups.as_slice(), options.variants.is_empty()) {
        ([], true) => vec![labels],
        ([], false) => vec![known(&options.variants)],
        (groups, _) => groups.iter().map(known).collect(),
    }
}

/// The row of a variant that has no value in a phase.
fn missing(subject: &str) -> [String; 21] {
    let mut row: [String; 21] = std::array::from_fn(|_| "NA".to_owned());
    subject.clone_into(&mut row[20]);
    row
}

fn row(study: &Study, phase: &str, subject: &str, metrics: &Metrics<'_>) -> [String; 21] {
    let mut row = published_row(&rates(study, phase, subject, metrics), subject);
    let imported = metrics.values().any(|center| !center.source.0.text.is_empty());
    for (name, cell) in COLUMNS.iter().zip(&mut row).take(20) {
        let column = columns::find(name);
        let printed = column.and_then(|column| printed(metrics.get(column.metric)?, column.factor));
        match printed {
            Some(text) => *cell = text,
            // What an archive leaves out was `NA` in it.
            None if imported => *cell = "NA".to_owned(),
            None => {}
        }
    }
    row
}

/// The text of a value, if it is the value in the unit of the column; the mean of several texts.
fn printed(center: &Center<'_>, factor: f64) -> Option<String> {
    let (value, alone) = center.source;
    let expected = number::parse(&value.text)? * factor;
    let near = (expected - value.measurement.value).abs() <= expected.abs() * 1e-9;
    near.then(|| match alone {
        true => value.text.clone(),
        false => number::general(center.value / factor),
    })
}

/// What dbdyno measured, in the terms of a published row.
fn rates(study: &Study, phase: &str, subject: &str, metrics: &Metrics<'_>) -> PhaseRates {
    let value = |metric: &str| metrics.get(metric).map(|center| center.value);
    let queries = phase::of(phase).is_some_and(|phase| phase.kind.queries());
    let operations = value("ops_per_second");
    let inserts = value("insert_rows_per_second").or_else(|| value("rows_per_second"));
    let per_second = |metric: &str| value(metric).zip(operations).map(|(per_op, ops)| per_op * ops);
    let gib = |metric: &str| value(metric).map(|mib| mib / 1024.0);
    let cpus = study.cpus.get(subject).copied();
    let busy = per_second("host_cpu_us_per_op").zip(cpus);
    let own = metrics.values().next().map_or(phase, |center| center.first.phase.as_str());
    let client_rates = study.client_rates.get(&(own.to_owned(), subject.to_owned()));
    PhaseRates {
        work: if queries { Work::Query } else { Work::Insert },
        inserts_per_second: inserts.unwrap_or(0.0),
        queries_per_second: operations.filter(|_| queries).unwrap_or(0.0),
        reads_per_second: per_second("reads_per_op"),
        read_kib_per_second: per_second("read_kib_per_op"),
        writes_per_second: per_second("writes_per_op"),
        write_kib_per_second: per_second("write_kib_per_op"),
        switches_per_second: per_second("context_switches_per_op"),
        cpu_percent: busy.map(|(us, cpus)| us / 1e6 / f64::from(cpus) * 100.0),
        cpus,
        database_gib: gib("database_mib"),
        folder_gib: gib("data_folder_mib"),
        resident_gib: gib("server_rss_mib_peak"),
        response_s_max: value("latency_us_max").map(|us| us / 1e6),
        // Means over pieces and blocks have no length whose CPU seconds could be rounded.
        seconds: None,
        client_rates: client_rates.cloned().unwrap_or_default(),
    }
}
