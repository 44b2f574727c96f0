//! Published archives, as they were published. The archives are no part of this repository: without
//! them beside it these tests say so and pass.

use crate::lab::{self, study};
use archive::{ExportOptions, Study};
use std::{collections::BTreeMap, path::PathBuf};

/// The folder of an archive, if it is there.
fn archive_folder(name: &str) -> Option<PathBuf> {
    lab::published(&format!("archives/{name}"))
}

fn imported(paths: &[PathBuf], corrections: &[&str]) -> archive::Imported {
    let corrections = corrections.iter().map(|name| (*name).to_owned()).collect();
    archive::import(paths, &archive::Options { corrections }).unwrap()
}

/// The files of an export by path.
fn exported(format: &str, studies: Vec<Study>, variants: &[&str]) -> BTreeMap<String, String> {
    let variants = variants.iter().map(|name| (*name).to_owned()).collect();
    let options = ExportOptions { variants, tag: "all".into(), ..Default::default() };
    lab::exported(format, studies, &options)
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

#[test]
fn a_whole_folder_gives_its_own_summary_back() {
    let Some(folder) = archive_folder("nov25.sb.mysql/dop1") else { return };
    let imported = imported(std::slice::from_ref(&folder), &[]);
    // Steps and summaries tell the same values, so nothing contradicts.
    assert_eq!(imported.warnings, []);
    assert_eq!((imported.files, imported.unknown.len()), (752, 63));
    let files = exported("mytools", vec![study(&imported.archives[0])], &EIGHT);
    let published = std::fs::read_to_string(folder.join("o.met.all")).unwrap();
    assert_eq!(files["o.met.all"], published);
}

#[test]
fn the_best_of_vector_indexes_are_those_of_all_settings() {
    let Some(folder) = archive_folder("ann.fashion-mnist") else { return };
    let imported = imported(std::slice::from_ref(&folder), &[]);
    let [archive] = imported.archives.as_slice() else { panic!("one archive") };
    let value = |subject: &str, phase: &str, metric: &str| {
        let mut values = archive.values.iter().map(|value| &value.measurement);
        let found = values
            .find(|one| *one.subject == *subject && *one.phase == *phase && *one.metric == *metric);
        found.map(|one| one.value)
    };
    assert_eq!(value("MariaDB", "recall >= 0.99", "ops_per_second"), Some(4745.0));
    assert_eq!(value("MariaDB(m=12)", "ef_search 10", "ops_per_second"), Some(4745.0));
    assert_eq!(value("PGVector_halfvec", "recall >= 0.95", "recall"), Some(0.967));
}

#[test]
fn folders_of_clients_become_one_archive_with_curves() {
    let Some(folder) = archive_folder("mar25.sb.in.c48") else { return };
    let imported = imported(std::slice::from_ref(&folder), &[]);
    assert_eq!(imported.warnings, []);
    let [archive] = imported.archives.as_slice() else { panic!("one archive") };
    let curve = |subject: &str| -> Vec<(u32, f64)> {
        let mut points: Vec<(u32, f64)> = archive
            .values
            .iter()
            .map(|value| &value.measurement)
            .filter(|m| m.metric == "ops_per_second" && m.workload == "point-query")
            .filter(|m| m.subject.contains(subject) && m.phase.starts_with("point-query.clients"))
            .map(|m| (m.clients, m.value))
            .collect();
        points.sort_by_key(|(clients, _)| *clients);
        points
    };
    let clients: Vec<u32> = curve("my5651").iter().map(|(clients, _)| *clients).collect();
    assert_eq!(clients, [1, 4, 6, 8, 10, 20, 40]);
    // More clients than the old version can use: it falls behind.
    let (old, new) = (curve("my5651"), curve("my5744"));
    assert!(old[0].1 > new[0].1 && old[6].1 < new[6].1, "{old:?} {new:?}");

    let names: Vec<&str> = archive.subjects.iter().map(String::as_str).collect();
    let files = exported("mytools", vec![study(archive)], &names);
    for clients in clients {
        for name in ["qps.abs", "qps.rel"] {
            let published = folder.join(format!("dop{clients}/{name}.in.tsv"));
            let published = std::fs::read_to_string(published).unwrap();
            // The summary of steps knows one row more than the table: a warm-up.
            let ours: Vec<&str> = files[&format!("dop{clients}/{name}.all.tsv")]
                .lines()
                .filter(|line| !line.ends_with("scan.warm_range=100"))
                .collect();
            assert_eq!(ours, published.lines().collect::<Vec<_>>(), "{clients} {name}");
        }
    }
}

/// A folder of the allocators, the summary in it, and rows of the post's table: glibc's QPS is the
/// base of those with tcmalloc and with jemalloc.
const ALLOCATORS: [(&str, &str, [&str; 5]); 2] = [
    (
        "25apr.c48.inno.conf",
        "qps.rel.in.tsv",
        [
            "0.99\t1.02\thot-points_range=100",
            "1.05\t1.04\tpoint-query_range=100",
            "1.28\t1.09\tread-only_range=10000",
            "1.15\t0.98\tupdate-inlist_range=100",
            "1.18\t1.05\twrite-only_range=10000",
        ],
    ),
    (
        "25apr.c48.fbmy.conf",
        "qps.rel.rx10g.tsv",
        [
            "0.68\t1.00\thot-points_range=100",
            "1.04\t1.04\tpoint-query_range=100",
            "1.03\t1.03\tread-only_range=10000",
            "1.08\t1.07\tupdate-inlist_range=100",
            "1.03\t1.02\twrite-only_range=10000",
        ],
    ),
];

#[test]
fn the_allocators_give_the_tables_of_their_publication() {
    let Some(folder) = archive_folder("apr25.c48.malloc") else { return };
    let imported = imported(std::slice::from_ref(&folder), &[]);
    assert_eq!(imported.warnings, []);
    for (name, published, rows) in ALLOCATORS {
        let archive = imported.archives.iter().find(|a| a.experiment.ends_with(name)).unwrap();
        // The archive's own order is glibc, tcmalloc, jemalloc.
        let names: Vec<&str> = archive.subjects.iter().map(String::as_str).collect();
        let files = exported("mytools", vec![study(archive)], &names);
        let table: Vec<&str> = files["qps.rel.all.tsv"].lines().skip(4).collect();
        assert_eq!(table.len(), 33, "{name}");
        assert!(rows.iter().all(|row| table.contains(row)), "{name}: {table:?}");
        let published = std::fs::read_to_string(folder.join(name).join(published)).unwrap();
        assert_eq!(files["qps.rel.all.tsv"], published, "{name}");
    }
}

#[test]
fn an_engine_with_a_summary_of_its_own_is_compared_with_its_own_allocator() {
    let Some(folder) = archive_folder("apr25.c48.malloc") else { return };
    let imported = imported(std::slice::from_ref(&folder), &[]);
    let archive = imported.archives.iter().find(|a| a.experiment == "apr25.c48.malloc").unwrap();
    assert_eq!(archive.subjects.len(), 6);
    let base = |subject: &String| archive.bases.get(subject).unwrap_or(&archive.subjects[0]);
    for subject in &archive.subjects {
        let engine = |label: &str| label.contains("x.fbmy8032");
        assert_eq!(engine(base(subject)), engine(subject), "{subject}");
        assert!(base(subject).contains("glibcmalloc"), "{subject}");
    }
}

/// Files of the sample of raw captures, without the averages that were made of them.
fn captures() -> Option<(PathBuf, Vec<PathBuf>)> {
    let folder = archive_folder("feb25.pg.flat.sample/x.pg1110_o2nofp.x10a_c32r128.pk1")?;
    let is_raw = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        ["sb.vm.", "sb.io.", "sb.o."].iter().any(|kind| name.starts_with(kind))
    };
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    Some((folder.clone(), files.filter(is_raw).collect()))
}

#[test]
fn raw_captures_give_the_published_averages_and_the_right_ones() {
    let Some((folder, captures)) = captures() else { return };
    let averages = |corrections: &[&str]| {
        let imported = imported(&captures, corrections);
        assert_eq!(imported.warnings, []);
        exported("sb_met", vec![study(&imported.archives[0])], &[])
    };
    // With the bias of the headers, every byte is the published one.
    let biased = averages(&[]);
    assert_eq!(biased.len(), 3);
    for (path, text) in &biased {
        let published = folder.join(path.rsplit('/').next().unwrap());
        assert_eq!(*text, std::fs::read_to_string(published).unwrap(), "{path}");
    }
    // Without it, by awk over the 334 rows after the one since boot: 84.8114 % and 2092684 /s.
    let right = averages(&["vmstat"]);
    let path = right.keys().find(|path| path.contains("sb.met.read-only")).unwrap();
    let (biased, right) = (&biased[path], &right[path]);
    assert_eq!(biased.lines().last(), Some("350\t1997018\t81.0\t2.374\t0.000096"));
    assert_eq!(right.lines().last(), Some("334\t2092684\t84.8\t2.488\t0.000101"));
    let before = |text: &str| text.lines().take(5).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(before(biased), before(right), "iostat has no such headers");
}

#[test]
fn printed_averages_come_out_as_they_went_in() {
    let Some(folder) = archive_folder("nov25.sb.mysql/dop1") else { return };
    let imported = imported(std::slice::from_ref(&folder), &[]);
    let files = exported("sb_met", vec![study(&imported.archives[0])], &[]);
    assert_eq!(files.len(), 342);
    for (path, text) in &files {
        let published = std::fs::read_to_string(folder.join(path)).unwrap();
        assert_eq!(*text, published, "{path}");
    }
}

#[test]
fn a_correction_undoes_the_bias_of_headers() {
    let Some(folder) = archive_folder("feb25.pg.flat.sample") else { return };
    let value = |corrections: &[&str], metric: &str| {
        let imported = imported(std::slice::from_ref(&folder), corrections);
        let values = &imported.archives[0].values;
        let found = values
            .iter()
            .find(|v| v.measurement.workload == "read-only" && v.measurement.metric == metric);
        let found = found.unwrap_or_else(|| panic!("{metric}")).clone();
        (found.measurement.value, found.measurement.marks)
    };
    let (biased, marks) = value(&[], "host_cpu_percent_per_op");
    assert_eq!(biased, 0.000_096);
    assert!(marks.iter().any(|mark| mark.to_string().contains("headers counted")));
    let (right, marks) = value(&["vmstat"], "host_cpu_percent_per_op");
    // 84.8114 % over 841228.00 operations per second.
    assert!((right - 0.000_100_818_5).abs() < 1e-10, "{right}");
    assert!(marks.iter().any(|mark| mark.to_string().contains("corrected")));
    // 819.63 s user and 3381.92 s system of 335.03 s, 48 CPUs in the host.
    let (client, _) = value(&[], "client_cpu_us_per_op");
    assert!((client - 14.907).abs() < 0.01, "{client}");
    let (host, _) = value(&["vmstat"], "host_cpu_us_per_op");
    assert!((host - 48.393).abs() < 0.01, "{host}");

    // Without captures the number of samples says how many of them were headers.
    let Some(folder) = archive_folder("nov25.sb.mysql/dop1") else { return };
    let folder = folder.join(EIGHT[7]);
    let scan = |corrections: &[&str]| {
        let imported = imported(std::slice::from_ref(&folder), corrections);
        let values = imported.archives[0].values.clone();
        let scan = values.into_iter().find(|v| {
            v.measurement.phase == "delete" && v.measurement.metric == "host_cpu_percent_per_op"
        });
        scan.unwrap().measurement.value
    };
    assert!((scan(&["vmstat"]) / scan(&[]) - 948.0 / 905.0).abs() < 1e-9);
}
