//! One changed byte in a results folder: no value may change without a word.

use crate::{
    archives::write_archive,
    lab::{Lab, text},
};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Changes in each folder; `DBDYNO_CHANGED_BYTES` asks for another number.
const CHANGES: u64 = 100;

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => files_below(&path, found),
            path if path.metadata().unwrap().len() > 0 => found.push(path),
            _ => {}
        }
    }
}

/// What a comparison claims, and what it warns of.
fn claims(lab: &Lab) -> Result<(Value, Value), String> {
    let output = lab.run(&["compare", "--format", "json"]);
    match output.status.code() {
        Some(0 | 1) => {
            let mut all: Value = serde_json::from_slice(&output.stdout).unwrap();
            let warnings = all.as_object_mut().unwrap().remove("warnings").unwrap();
            Ok((all, warnings))
        }
        Some(2 | 3) => Err(text(&output.stderr)),
        code => panic!("{code:?}: {}", text(&output.stderr)),
    }
}

/// Changes bytes of the lab's results folder one after the other, and restores each.
fn strike(lab: &Lab) {
    let (values, warnings) = claims(lab).unwrap();
    let changes = std::env::var("DBDYNO_CHANGED_BYTES").ok().and_then(|n| n.parse().ok());
    let mut files = Vec::new();
    files_below(&lab.path("dbdyno-results"), &mut files);
    files.retain(|file| file.file_name().unwrap() != "report.html");
    files.sort();
    let mut random = values::SplitMix(7);
    let mut below = |bound: usize| (random.bits() % bound as u64) as usize;
    let (mut named, mut unused) = (0, 0);
    for _ in 0..changes.unwrap_or(CHANGES) {
        let file = &files[below(files.len())];
        let whole = std::fs::read(file).unwrap();
        let digits = whole.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit());
        let digits: Vec<usize> = digits.map(|(at, _)| at).collect();
        let mut changed = whole.clone();
        // Every other change is of a digit, which leaves the file well formed.
        let at = if digits.is_empty() || below(2) == 0 {
            let at = below(whole.len());
            changed[at] ^= 1 << below(8);
            at
        } else {
            let at = digits[below(digits.len())];
            changed[at] = b'0' + (whole[at] - b'0' + 1 + below(9) as u8) % 10;
            at
        };
        std::fs::write(file, &changed).unwrap();
        let said = claims(lab);
        std::fs::write(file, &whole).unwrap();
        match said {
            Err(said) => {
                assert!(said.contains("error"), "{}: {said}", file.display());
                named += 1;
            }
            Ok((_, found)) if found != warnings => named += 1,
            Ok((found, _)) => {
                assert_eq!(found, values, "{} byte {at} changed a value", file.display());
                unused += 1;
            }
        }
    }
    println!("{named} changes were named, {unused} changed no value");
    assert!(named > 0);
    assert_eq!(claims(lab).unwrap(), (values, warnings), "everything is as before");
}

#[test]
fn no_changed_byte_of_a_run_changes_a_value_without_a_word() {
    let lab = Lab::new();
    let only = ["--only", "point-query,insert", "--counts", "none", "--progress", "none"];
    let set = ["--set", "rows=2000", "--set", "slice_seconds=0.1", "--set", "blocks=2"];
    match std::env::var("DBDYNO_CHANGED_BYTES_EXPERIMENT") {
        Ok(experiment) => lab.succeed(&["run", &experiment, "--progress", "none"]),
        Err(_) => lab.succeed(&[&["run"], &only[..], &set[..]].concat()),
    };
    strike(&lab);
}

#[test]
fn no_changed_byte_of_an_import_changes_a_value_without_a_word() {
    let lab = Lab::new();
    let archive = match std::env::var("DBDYNO_CHANGED_BYTES_ARCHIVE") {
        Ok(archive) => PathBuf::from(archive),
        Err(_) => write_archive(&lab),
    };
    lab.succeed(&["import", archive.to_str().unwrap()]);
    strike(&lab);
}
