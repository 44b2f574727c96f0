//! The archive of January 2021: all its derived files come from its summaries byte for byte.

use crate::lab::{published, study};
use archive::{ExportOptions, Options, import, insert::insert_tables};
use fs_err as fs;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The groups of a folder, as one of its tables has them.
fn groups(folder: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("mrg.l.i0")).unwrap();
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let tag = |line: &&str| line.rsplit('\t').next().unwrap().to_owned();
    lines.split(|line| *line == "-").map(|group| group.iter().map(tag).collect()).collect()
}

fn summaries(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("o.sum.t.");
    paths.filter(named).collect()
}

#[test]
fn all_tables_are_made_from_imported_summaries_byte_for_byte() {
    let Some(root) = published("archives/ibench.jan2021") else { return };
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for size in ["20m", "100m", "500m"] {
        let folder = root.join(size);
        let imported = import(&summaries(&folder), &Options::default()).unwrap();
        assert_eq!((imported.archives.len(), imported.warnings.len()), (1, 0));
        let study = study(&imported.archives[0]);
        for group in ["a", "a2", "in", "pg", "rx", "latest", "badcnf"] {
            let group = folder.join(format!("res.{group}"));
            if !group.exists() {
                continue;
            }
            let options = ExportOptions { groups: groups(&group), ..ExportOptions::default() };
            for file in insert_tables(&study, &options) {
                let Ok(published) = fs::read(group.join(&file.path)) else { continue };
                assert!(file.bytes == published, "{} {}", group.display(), file.path);
                let kind = ["some", "mrg", "rel"].into_iter().find(|kind| file.path.contains(kind));
                *counts.entry(kind.unwrap()).or_default() += 1;
            }
        }
    }
    println!("equal files: {counts:?}");
    assert_eq!((counts["mrg"], counts["rel"], counts["some"]), (285, 270, 18));
}

#[test]
fn the_published_summary_page_says_what_the_archive_says() {
    let page = published("reports/ibench.2021.20m.summary.html");
    let (Some(page), Some(root)) = (page, published("archives/ibench.jan2021/20m/res.a")) else {
        return;
    };
    let import = |path: PathBuf| {
        let imported = import(&[path], &Options::default()).unwrap();
        assert_eq!((imported.warnings.len(), imported.broken.len()), (0, 0));
        imported.archives.into_iter().next().unwrap()
    };
    let (page, archive) = (import(page), import(root));
    let values: BTreeMap<(&str, &str, &str), f64> = archive
        .values
        .iter()
        .map(|value| &value.measurement)
        .map(|m| ((m.subject.as_str(), m.phase.as_str(), m.metric.as_str()), m.value))
        .collect();
    let mut metrics: BTreeMap<&str, u32> = BTreeMap::new();
    for value in &page.values {
        let m = &value.measurement;
        let own = values.get(&(m.subject.as_str(), m.phase.as_str(), m.metric.as_str()));
        assert_eq!(own, Some(&m.value), "{m:?}");
        *metrics.entry(&m.metric).or_default() += 1;
    }
    // Nine variants, three loads and six query phases.
    let expected = [
        ("insert_rows_per_second", 81),
        ("insert_rows_per_second_target", 54),
        ("ops_per_second", 81),
        ("queries_per_second", 54),
    ];
    assert_eq!(metrics, BTreeMap::from(expected));
}

#[test]
fn summaries_and_derived_tables_of_the_whole_archive_agree() {
    let Some(root) = published("archives/ibench.jan2021") else { return };
    let imported = import(&[root], &Options::default()).unwrap();
    let names: Vec<&str> =
        imported.archives.iter().map(|archive| archive.experiment.as_str()).collect();
    assert_eq!(names, ["ibench.jan2021/100m", "ibench.jan2021/20m", "ibench.jan2021/500m"]);
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
    println!("taken: {:?}, unknown: {}", imported.taken, imported.unknown.len());
    assert_eq!(imported.taken["insert_summary"], 33);
    assert_eq!(imported.taken["insert_table"], 285 + 270 + 18);
    let archive = &imported.archives[1];
    assert_eq!(archive.subjects.len(), 11);
    let targets = archive
        .values
        .iter()
        .filter(|value| value.measurement.metric == "insert_rows_per_second_target");
    assert_eq!(targets.count(), 11 * 12);
}
