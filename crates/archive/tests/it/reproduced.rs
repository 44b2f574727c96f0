//! Which published tables an import and an export give back byte for byte, archive by archive: the
//! numbers of the table in docs/archives.md. The archives are no part of this repository: without
//! them beside it the test says so and passes.

use crate::lab;
use archive::{ExportOptions, Imported};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// An archive: its warnings, and how many of its published tables come out equal of how many.
type Expected = (&'static str, usize, (usize, usize));

const EXPECTED: &[Expected] = &[
    ("apr25.c48.malloc", 0, (11, 11)),
    ("aug25.sb.mem.in.1u.50m.600s.900s.pn53", 0, (5, 5)),
    ("dec24.myrocks.1481.1482.1506", 0, (64, 64)),
    ("dec24.orioledb.48core", 3, (40, 40)),
    ("dec25.sb.socket.my", 0, (23, 23)),
    ("feb24.bee.sysbench.my", 0, (20, 20)),
    ("mar25.sb.in.c48", 0, (35, 35)),
    ("may25.pg18beta1", 1, (24, 24)),
    ("nov25.maria.sb", 0, (72, 75)),
    ("nov25.sb.mysql", 0, (5, 5)),
    ("oct25.sb.ma.hetz48", 0, (11, 11)),
    ("sep25.hetz.sb.scaleup", 0, (0, 2)),
];

#[test]
fn published_tables_come_out_byte_for_byte() {
    let mut found = Vec::new();
    for (name, ..) in EXPECTED {
        let Some(folder) = lab::published(&format!("archives/{name}")) else { return };
        let imported =
            archive::import(std::slice::from_ref(&folder), &archive::Options::default()).unwrap();
        let published = published(&folder);
        let mut exports = Exports::new();
        let equal: Vec<bool> =
            published.iter().map(|table| is_reproduced(&imported, table, &mut exports)).collect();
        for (table, _) in published.iter().zip(&equal).filter(|(_, equal)| !**equal) {
            println!("not equal: {}", table.display());
        }
        let equal = equal.into_iter().filter(|equal| *equal).count();
        found.push((*name, imported.warnings.len(), (equal, published.len())));
    }
    assert_eq!(found, EXPECTED);
}

/// Tables of operations, ratios and averages below a folder.
fn published(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if kind(&path).is_some() {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// Beginning and ending of the name of the exported file that a published one must be equal to.
fn kind(path: &Path) -> Option<(&'static str, &'static str)> {
    let name = path.file_name().unwrap().to_str().unwrap();
    match name {
        name if name.starts_with("o.met") || name.starts_with("met.") => Some(("o.met", "")),
        name if name.starts_with("qps.") => {
            let start = if name.starts_with("qps.abs") { "qps.abs" } else { "qps.rel" };
            let ending = if name.ends_with(".csv") { ".csv" } else { ".tsv" };
            Some((start, ending))
        }
        _ => None,
    }
}

/// What was exported, by the place of the archive and the variants.
type Exports = BTreeMap<(usize, Vec<String>), BTreeMap<String, String>>;

fn is_reproduced(imported: &Imported, table: &Path, exports: &mut Exports) -> bool {
    let variants = variants(table);
    let bytes = std::fs::read(table).unwrap();
    let kind = kind(table).unwrap();
    imported.archives.iter().enumerate().any(|(place, archive)| {
        let known: BTreeSet<&String> = archive.subjects.iter().collect();
        if variants.is_empty() || !variants.iter().all(|variant| known.contains(variant)) {
            return false;
        }
        let of_kind = |path: &str| {
            let name = path.rsplit('/').next().unwrap();
            name.starts_with(kind.0) && name.ends_with(kind.1)
        };
        let key = (place, variants.clone());
        let files = exports.entry(key).or_insert_with(|| exported(archive, &variants));
        files.iter().any(|(path, own)| of_kind(path) && own.as_bytes() == bytes)
    })
}

/// The variants of a table, in its order; those of a table without names are beside it.
fn variants(table: &Path) -> Vec<String> {
    let named = match table.extension() {
        Some(ending) if ending == "csv" => table.with_extension("tsv"),
        _ => table.to_owned(),
    };
    let Ok(text) = std::fs::read_to_string(named) else { return Vec::new() };
    if kind(table).unwrap().0 == "o.met" {
        let rows = text.lines().skip_while(|line| !line.starts_with("cpu/o")).skip(1);
        let rows = rows.take_while(|line| !line.starts_with("---"));
        let rows: Vec<String> =
            rows.map(|row| row.rsplit('\t').next().unwrap().to_owned()).collect();
        return rows;
    }
    let names = text.lines().filter(|line| line.starts_with("col-") && line.contains(" : "));
    let names = names.map(|line| line.split_once(" : ").unwrap().1);
    let base = text.lines().next().and_then(|line| line.strip_prefix("Relative to: "));
    base.into_iter().chain(names).map(str::to_owned).collect()
}

fn exported(archive: &archive::Archive, variants: &[String]) -> BTreeMap<String, String> {
    let options = ExportOptions {
        variants: variants.to_vec(),
        tag: "all".to_owned(),
        ..ExportOptions::default()
    };
    lab::exported("mytools", vec![lab::study(archive)], &options)
}
