//! Repetitions of a test in files and folders of the user's own, and which variant is the base.

use crate::lab::{data, text_of};
use archive::{Imported, Options, import};
use std::{collections::BTreeSet, path::PathBuf};

/// A report of sysbench with these threads and rate.
fn report(threads: u32, rate: f64) -> String {
    let text = text_of("sysbench-1.0.txt");
    let known = ["Number of threads: 8", "162498 (8121.98 per sec.)"];
    assert!(known.iter().all(|words| text.contains(words)));
    let queries = 20.007 * rate;
    text.replace(known[0], &format!("Number of threads: {threads}"))
        .replace(known[1], &format!("{queries:.0} ({rate:.2} per sec.)"))
}

/// Imports `paths` below a folder with these files; every file has another rate.
fn imported(files: &[&str], paths: &[&str]) -> Imported {
    let folder = tempfile::tempdir().unwrap();
    for (index, file) in files.iter().enumerate() {
        let path = folder.path().join("mine").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, report(4, 1000.0 + index as f64)).unwrap();
    }
    let path = |path: &&str| folder.path().join("mine").join(path.trim_start_matches('.'));
    let paths: Vec<PathBuf> = paths.iter().map(path).collect();
    import(&paths, &Options::default()).unwrap()
}

/// The rows of the only archive, `VARIANT PHASE BLOCKS`, its variants in their order.
fn rows(imported: &Imported) -> (Vec<String>, Vec<String>) {
    let [archive] = imported.archives.as_slice() else { panic!("{:?}", imported.archives) };
    let of = archive.values.iter().map(|value| &value.measurement);
    let keys: BTreeSet<(&str, &str)> =
        of.clone().map(|one| (one.subject.as_str(), one.phase.as_str())).collect();
    let blocks = |subject: &str, phase: &str| {
        let own = of.clone().filter(|one| (&*one.subject, &*one.phase) == (subject, phase));
        own.map(|one| one.block).collect::<BTreeSet<u32>>()
    };
    let row = |(subject, phase): (&str, &str)| {
        let blocks: Vec<String> = blocks(subject, phase).iter().map(u32::to_string).collect();
        format!("{subject} {phase} {}", blocks.join(","))
    };
    (archive.subjects.clone(), keys.into_iter().map(row).collect())
}

fn check(files: &[&str], paths: &[&str], subjects: &[&str], expected: &[&str]) {
    let found = rows(&imported(files, paths));
    let expected = expected.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        found,
        (subjects.iter().map(|one| (*one).to_owned()).collect(), expected),
        "{files:?}"
    );
}

#[test]
fn numbered_files_and_folders_repeat_a_test() {
    let both = ["before", "after"];
    let in_files = ["after.1.txt", "after.2.txt", "before.1.txt", "before.2.txt", "before.3.txt"];
    check(&in_files, &["."], &both, &["after sysbench 0,1", "before sysbench 0,1,2"]);
    let in_folders = ["a/read-1.txt", "a/read-2.txt", "b/read-1.txt", "b/write.txt"];
    check(&in_folders, &["."], &["a", "b"], &["a read 0,1", "b read 0", "b write 0"]);
    let in_runs = ["run1/old/r.txt", "run1/new/r.txt", "run2/old/r.txt", "run2/new/r.txt"];
    check(&in_runs, &["."], &["old", "new"], &["new r 0,1", "old r 0,1"]);
    let of_folders = ["old-1/r.txt", "old-2/r.txt", "new-1/r.txt", "new-2/r.txt"];
    check(&of_folders, &["."], &["old", "new"], &["new r 0,1", "old r 0,1"]);
    // Numbers pair them where they can, else their order does.
    let lost = ["a.run1.txt", "a.run2.txt", "a.run4.txt", "b.run1.txt", "b.run4.txt"];
    check(&lost, &["."], &["a", "b"], &["a sysbench 0,1,2", "b sysbench 0,2"]);
    let later = ["a.run1.txt", "a.run2.txt", "b.run3.txt", "b.run4.txt"];
    check(&later, &["."], &["a", "b"], &["a sysbench 0,1", "b sysbench 0,1"]);
    let bare = ["base/run1.txt", "base/run2.txt", "new/run1.txt", "new/run2.txt"];
    check(&bare, &["."], &["base", "new"], &["base test 0,1", "new test 0,1"]);
    let digits = ["base/1.txt", "base/2.txt", "new/1.txt", "new/2.txt"];
    check(&digits, &["base", "new"], &["base", "new"], &["base test 0,1", "new test 0,1"]);
    // Nothing else is there to compare.
    check(&["t-1.txt", "t-2.txt"], &["."], &["t-1", "t-2"], &["t-1 sysbench 0", "t-2 sysbench 0"]);
    let versions = ["my-8.0.1.txt", "my-8.0.2.txt", "pg-1.txt"];
    let rows = ["my-8.0.1 sysbench 0", "my-8.0.2 sysbench 0", "pg-1 sysbench 0"];
    check(&versions, &["."], &["my-8.0.1", "my-8.0.2", "pg-1"], &rows);
}

#[test]
fn neighboring_folders_are_variants_in_the_order_given() {
    let files = ["x/read.txt", "y/read.txt"];
    let rows = ["x read 0", "y read 0"];
    check(&files, &["y", "x"], &["y", "x"], &rows);
    check(&files, &["."], &["x", "y"], &rows);
    check(&files, &["y/read.txt", "x/read.txt"], &["y", "x"], &rows);
    let runs = ["x/run1/read.txt", "x/run2/read.txt", "y/run1/read.txt", "y/run2/read.txt"];
    check(&runs, &["y", "x"], &["y", "x"], &["x read 0,1", "y read 0,1"]);
    // Folders that are no neighbors tell nothing.
    let files = ["x/deep/new.txt", "now.txt"];
    let rows = ["new sysbench 0", "now sysbench 0"];
    check(&files, &["now.txt", "x/deep/new.txt"], &["now", "new"], &rows);
    // What is called a base is one, in whatever order a shell gives names.
    let files = ["after/r.txt", "before/r.txt"];
    let rows = ["after r 0", "before r 0"];
    check(&files, &["after", "before"], &["before", "after"], &rows);
}

#[test]
fn folders_of_one_name_in_several_places_are_variants_or_several_archives() {
    let files = ["old/deep/x/r.txt", "new/deep/x/r.txt", "new/deep/x/w.txt"];
    let rows = ["new r 0", "new w 0", "old r 0"];
    check(&files, &["new/deep/x", "old/deep/x"], &["old", "new"], &rows);
    check(&files[..2], &files[..2], &["old", "new"], &["new r 0", "old r 0"]);
    // Folders of variants are in archives of their own.
    let files = ["old/x/pg/r.txt", "new/x/pg/r.txt"];
    let imported = imported(&files, &["old/x", "new/x"]);
    assert_eq!(imported.warnings, []);
    let names = imported.archives.iter().map(|archive| archive.experiment.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["mine/new/x", "mine/old/x"]);
    // Repetitions stay those of one variant.
    let files = ["run1/x/r.txt", "run2/x/r.txt"];
    check(&files, &["run1/x", "run2/x"], &["x"], &["x r 0,1"]);
}

#[test]
fn a_link_that_is_named_keeps_its_own_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (real, link) in [("data/1/out", "before"), ("data/deep/2/out", "after")] {
        std::fs::create_dir_all(path(real)).unwrap();
        std::fs::write(path(real).join("r.txt"), report(4, 1000.0)).unwrap();
        std::os::unix::fs::symlink(path(real), path(link)).unwrap();
    }
    let imported = import(&[path("before"), path("after")], &Options::default()).unwrap();
    let (subjects, rows) = rows(&imported);
    assert_eq!(subjects, ["before", "after"]);
    assert_eq!(rows, ["after r 0", "before r 0"]);
}

#[test]
fn files_without_an_ending_keep_their_numbers() {
    let files = ["my-8.0.44", "my-8.0.45"];
    check(&files, &["."], &files, &["my-8.0.44 sysbench 0", "my-8.0.45 sysbench 0"]);
    let files = ["after.1", "after.2", "before.1", "before.2"];
    let rows = ["after sysbench 0,1", "before sysbench 0,1"];
    check(&files, &["."], &["before", "after"], &rows);
}

#[test]
fn reports_behind_each_other_repeat_a_test_or_have_other_threads() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = [(1, 10.0), (8, 80.0), (1, 11.0), (8, 81.0)]
        .map(|(threads, rate)| report(threads, rate))
        .concat();
    std::fs::write(folder.path().join("all.log"), text).unwrap();
    let imported = import(&[folder.path().to_owned()], &Options::default()).unwrap();
    let values = imported.archives.iter().flat_map(|archive| &archive.values);
    let rates = values.filter(|value| value.measurement.metric == "ops_per_second");
    let rates: Vec<(String, u32, f64)> = rates
        .map(|value| &value.measurement)
        .map(|one| (one.phase.to_string(), one.block, one.value))
        .collect();
    let row = |phase: &str, block, rate| (phase.to_owned(), block, rate);
    let [one, eight] = ["sysbench.clients1", "sysbench.clients8"];
    let expected = [row(one, 0, 10.0), row(one, 1, 11.0), row(eight, 0, 80.0), row(eight, 1, 81.0)];
    assert_eq!(rates, expected);
}

#[test]
fn a_load_of_ones_own_has_its_numbers_of_clients() {
    for name in ["load", "read-warm"] {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, reports: &[u32]| {
            let path = folder.path().join("mine").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let texts = reports.iter().map(|threads| report(*threads, 10.0 * f64::from(*threads)));
            std::fs::write(path, texts.collect::<String>()).unwrap();
        };
        write(&format!("a/{name}.log"), &[1, 8]);
        write(&format!("b/{name}.log"), &[8]);
        write("a/read.log", &[8]);
        let imported = import(&[folder.path().join("mine")], &Options::default()).unwrap();
        let [one, eight] = [1, 8].map(|clients| format!("{name}.clients{clients} 0"));
        let mut expected = [format!("a {one}"), format!("a {eight}"), format!("b {eight}")];
        expected.sort();
        let mut found = rows(&imported).1;
        found.retain(|row| row.contains(name));
        assert_eq!(found, expected);
    }
}

#[test]
fn reports_in_one_file_and_in_several_are_paired_in_their_order() {
    // The published archives say before a report how many CPUs there are.
    let one = |rate: f64| format!("4 CPUs\n{}", report(4, rate));
    let check = |files: &[(&str, usize)], expected: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        for (file, reports) in files {
            let path = folder.path().join("mine").join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let text: String = (0..*reports).map(|at| one(1000.0 + at as f64)).collect();
            std::fs::write(path, text).unwrap();
        }
        let imported = import(&[folder.path().join("mine")], &Options::default()).unwrap();
        assert_eq!(rows(&imported).1, expected, "{files:?}");
    };
    let rows = ["a sysbench 0,1,2,3", "b sysbench 0,1,2,3"];
    check(&[("a.txt", 4), ("b.txt", 4)], &rows);
    check(&[("a.txt", 1), ("b.txt", 2)], &["a sysbench 0", "b sysbench 0,1"]);
    let rows = ["a t 0,1,2", "b t 0,1,2"];
    for first in 0..3 {
        let names: Vec<String> =
            (first..first + 3).map(|run| format!("a/t.run{run}.txt")).collect();
        let mut files: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        files.push(("b/t.txt", 3));
        check(&files, &rows);
    }
    let several = [("a/t-1.txt", 2), ("a/t-2.txt", 2), ("b/t-1.txt", 1), ("b/t-2.txt", 1)];
    check(&several, &["a t 0,1,2,3", "b t 0,2"]);
}

#[test]
fn scripts_of_pgbench_are_phases_and_no_repetitions() {
    let check = |files: &[&str], expected: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let file = folder.path().join("mine").join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, data("pgbench.txt")).unwrap();
        }
        let imported = import(&[folder.path().join("mine")], &Options::default()).unwrap();
        assert_eq!(rows(&imported).1, expected, "{files:?}");
    };
    check(&["a/t.txt"], &["a t 0", "a t script 1 0", "a t script 2 0"]);
    let twice = ["a t 0,1", "a t script 1 0,1", "a t script 2 0,1"];
    check(&["a/t-1.txt", "a/t-2.txt"], &twice);
    let named = ["a t script 9 0", "a t script 9 script 1 0", "a t script 9 script 2 0"];
    check(&["a/t script 9.txt"], &named);
}

#[test]
fn numbers_of_threads_in_names_are_clients() {
    let folder = tempfile::tempdir().unwrap();
    for (threads, rate) in [(1, 10.0), (8, 80.0), (16, 90.0)] {
        for variant in ["before", "after"] {
            let file = folder.path().join(format!("{variant}-{threads}.txt"));
            std::fs::write(file, report(threads, rate)).unwrap();
        }
    }
    let imported = import(&[folder.path().to_owned()], &Options::default()).unwrap();
    let (subjects, found) = rows(&imported);
    assert_eq!(subjects, ["before", "after"]);
    assert_eq!(found.len(), 6, "{found:?}");
    assert!(found.contains(&"after sysbench.clients16 0".to_owned()), "{found:?}");
}
