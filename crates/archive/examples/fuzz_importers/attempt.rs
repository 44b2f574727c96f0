//! Damaged files on their whole way: unpacked, recognized, read, put together, and exported.

use crate::{
    damage::{Random, damaged, packed},
    samples::Sample,
};
use archive::{ExportOptions, Imported, Input, Options, Study, export};
use std::{collections::BTreeMap, path::Path};

/// What happened to the damaged copies of one sample.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Outcome {
    /// Copies.
    pub(crate) tried: u64,
    /// Copies that were broken.
    pub(crate) broken: u64,
    /// Copies of no known format.
    pub(crate) unknown: u64,
    /// What was irregular.
    pub(crate) warnings: u64,
    /// Values that damaged copies told.
    pub(crate) values: u64,
    /// Files that were exported.
    pub(crate) exported: u64,
}

/// Every so many copies one is packed, and one is read from a folder and not from memory.
const PACKED_EVERY: u64 = 8;
const FOLDER_EVERY: u64 = 128;
/// The first copies are all exported in every format, and later ones every so many times: for some
/// samples that takes most of the time.
const EXPORTED_FIRST: u64 = 10_000;
const EXPORTED_EVERY: u64 = 15;

/// Imports `count` damaged copies of a sample beside a whole one, and exports what came of it.
/// Panics where anything panics, or a value or a place cannot be right.
pub(crate) fn try_all(sample: &Sample, seed: u64, count: u64) -> Outcome {
    let mut random = Random::new(seed);
    let mut outcome = Outcome { tried: count, ..Outcome::default() };
    let beside = format!("fuzz/{}", sample.beside);
    for number in 0..count {
        let pack = number % PACKED_EVERY == 0;
        let path = format!("fuzz/{}{}", sample.path, if pack { ".gz" } else { "" });
        let copy = match pack {
            true => packed(&sample.bytes, &mut random),
            false => damaged(&sample.bytes, &mut random),
        };
        let files = [(path.as_str(), copy.as_slice()), (beside.as_str(), &sample.bytes)];
        let correct = random.below(4) == 0;
        let corrections = if correct { vec!["vmstat".to_owned()] } else { Vec::new() };
        let options = Options { corrections };
        let imported = archive::import_bytes(&files, &options);
        if number % FOLDER_EVERY == 0 {
            same_from_a_folder(&files, &options, imported.as_ref().ok());
        }
        let Ok(imported) = imported else {
            outcome.broken += 1;
            continue;
        };
        check(&imported, &files);
        outcome.broken += imported.broken.len() as u64;
        outcome.unknown += imported.unknown.len() as u64;
        outcome.warnings += imported.warnings.len() as u64;
        let values = imported.archives.iter().flat_map(|archive| &archive.values);
        outcome.values += values.filter(|value| value.source.file == path).count() as u64;
        if number < EXPORTED_FIRST || number % EXPORTED_EVERY == 0 {
            outcome.exported += exports(imported);
        }
    }
    outcome
}

/// Values are numbers, and places are in the files.
fn check(imported: &Imported, files: &[(&str, &[u8])]) {
    let lines: BTreeMap<&str, u32> = files
        .iter()
        .filter(|(path, _)| !path.ends_with(".gz"))
        .map(|(path, bytes)| (*path, bytes.split(|byte| *byte == b'\n').count() as u32))
        .collect();
    let inside = |file: &str, line: u32| lines.get(file).is_none_or(|count| line <= *count);
    for value in imported.archives.iter().flat_map(|archive| &archive.values) {
        assert!(value.measurement.value.is_finite(), "{value:?}");
        assert!(value.source.line > 0 && inside(&value.source.file, value.source.line));
    }
    for warning in imported.warnings.iter().chain(&imported.broken) {
        assert!(inside(&warning.file, warning.line), "{warning}");
    }
    assert!(imported.broken.iter().all(|broken| broken.line > 0), "{:?}", imported.broken);
}

/// Everything that was imported, in every format; gives the number of files.
fn exports(imported: Imported) -> u64 {
    let study = |archive: archive::Archive| Study {
        experiment: archive.experiment,
        subjects: archive.subjects,
        cpus: BTreeMap::new(),
        client_rates: BTreeMap::new(),
        started_us: BTreeMap::new(),
        values: archive.values,
    };
    let input = Input { studies: imported.archives.into_iter().map(study).collect() };
    let options = ExportOptions { tag: "fuzz".to_owned(), ..ExportOptions::default() };
    let mut count = 0;
    for exporter in export::EXPORTERS {
        // A format that can say nothing of the values says so.
        let Ok(files) = (exporter.export)(&input, &options) else { continue };
        for file in files {
            assert!(!file.path.contains("..") && !file.path.starts_with('/'), "{}", file.path);
            let text = String::from_utf8(file.bytes).unwrap_or_default();
            assert!(!text.is_empty(), "{}", file.path);
            if exporter.name == "mytools" {
                assert!(!text.contains(['\u{1b}', '\r']), "{text}");
                assert!(!text.lines().any(|line| line.starts_with(['=', '@'])), "{text}");
            }
            count += 1;
        }
    }
    count
}

/// The same files in a folder of the disk tell the same.
fn same_from_a_folder(files: &[(&str, &[u8])], options: &Options, expected: Option<&Imported>) {
    let Ok(parent) = tempfile::tempdir() else { return };
    for (path, bytes) in files {
        let path = parent.path().join(path);
        let written = fs_err::create_dir_all(path.parent().unwrap_or(Path::new("/")))
            .and_then(|()| fs_err::write(&path, bytes));
        assert!(written.is_ok(), "{written:?}");
    }
    let imported = archive::import(&[parent.path().join("fuzz")], options).ok();
    let told = |imported: &Imported| {
        (imported.archives.clone(), imported.warnings.clone(), imported.broken.clone())
    };
    assert_eq!(imported.as_ref().map(told), expected.map(told));
}
