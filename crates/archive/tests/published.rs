//! Published archives, as they were published. The archives are no part of this repository: without
//! them beside it these tests say so and pass.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says what it skips"
)]

use archive::{ExportOptions, Input, Study, export};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// The folder of an archive, if it is there.
fn archive_folder(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/archives");
    let folder = root.join(name);
    if !folder.is_dir() {
        println!("skipped: `{}` is not there", folder.display());
        return None;
    }
    Some(folder)
}

fn imported(paths: &[PathBuf], corrections: &[&str]) -> archive::Imported {
    let corrections = corrections.iter().map(|name| (*name).to_owned()).collect();
    archive::import(paths, &archive::Options { corrections }).unwrap()
}

fn study(archive: &archive::Archive) -> Study {
    Study {
        experiment: archive.experiment.clone(),
        subjects: archive.subjects.clone(),
        cpus: BTreeMap::new(),
        values: archive.values.clone(),
    }
}

/// The files of an export by path.
fn exported(format: &str, studies: Vec<Study>, variants: &[&str]) -> BTreeMap<String, String> {
    let variants = variants.iter().map(|name| (*name).to_owned()).collect();
    let options = ExportOptions { variants, groups: Vec::new(), tag: "all".into() };
    let files = export::find(format).unwrap().export(&Input { studies }, &options).unwrap();
    files.into_iter().map(|file| (file.path, String::from_utf8(file.bytes).unwrap())).collect()
}

fn sections(text: &str) -> BTreeMap<&str, &str> {
    let sections = text.split("\n\n").filter(|section| !section.trim().is_empty());
    sections.map(|section| (section.lines().next().unwrap(), section.trim_end())).collect()
}

const EIGHT: [&str; 8] = [
    "x.my5651_rel_o2nofp.z12a_c8r32.pk1",
    "x.my5744_rel_o2nofp.z12a_c8r32.pk1",
    "x.my8043_rel_o2nofp.z12a_c8r32.pk1",
    "x.my8044_rel_o2nofp.z12a_c8r32.pk1",
    "x.my8406_rel_o2nofp.z12a_c8r32.pk1",
    "x.my8407_rel_o2nofp.z12a_c8r32.pk1",
    "x.my9400_rel_o2nofp.z12a_c8r32.pk1",
    "x.my9500_rel_o2nofp.z12a_c8r32.pk1",
];

#[test]
fn tables_and_sections_of_steps_are_byte_for_byte_those_published() {
    let Some(folder) = archive_folder("nov25.sb.mysql/dop1") else { return };
    // Only the files of steps: the published summaries are not read.
    let steps: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    let imported = imported(&steps, &[]);
    assert_eq!(imported.warnings, []);
    let [archive] = imported.archives.as_slice() else { panic!("one archive") };
    assert_eq!((archive.experiment.as_str(), archive.subjects.len()), ("nov25.sb.mysql", 9));
    let files = exported("mytools", vec![study(archive)], &EIGHT);
    for name in ["qps.abs.all.tsv", "qps.abs.all.csv", "qps.rel.all.tsv", "qps.rel.all.csv"] {
        let published = std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(files[name], published, "{name}");
    }
    let published = std::fs::read_to_string(folder.join("o.met.all")).unwrap();
    let (ours, theirs) = (sections(&files["o.met.all"]), sections(&published));
    for (name, section) in &theirs {
        if !name.contains("prepare") {
            assert_eq!(ours.get(name), Some(section));
        }
    }
    assert_eq!((ours.len(), theirs.len()), (37, 38));
}
