//! Tables of one folder: their tags, their numbers of clients, and what an export gives back.

use crate::lab::{self, study, text_of};
use archive::{Archive, ExportOptions, Imported, Options};
use std::collections::BTreeMap;

fn import(files: &[(&str, &str)]) -> Imported {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(p, text)| (*p, text.as_bytes())).collect();
    archive::import_bytes(&files, &Options::default()).unwrap()
}

/// `o.met` with a section per step, a row per variant of its rate.
fn met(steps: &[(&str, &[(&str, &str)])]) -> String {
    let section = |(step, rows): &(&str, &[(&str, &str)])| {
        let rows: Vec<String> = rows
            .iter()
            .map(|(name, rate)| format!("0.5\t1.0\t0\t0\t0\t{rate}\t{name}\n"))
            .collect();
        let header = "--- absolute\ncpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms\n";
        format!("{step}\n{header}{}\n", rows.concat())
    };
    steps.iter().map(section).collect()
}

fn table(header: &str, rows: &[&str]) -> String {
    let names = "col-1 : old\ncol-2 : new\n\n";
    format!("{names}{header}\n{}\n", rows.join("\n"))
}

/// Rates as `PHASE SUBJECT CLIENTS TEXT`.
fn rates(archive: &Archive) -> Vec<String> {
    let rates = archive.values.iter().filter(|v| v.measurement.metric == "ops_per_second");
    let line = |v: &model::imported::ImportedValue| {
        let m = &v.measurement;
        format!("{} {} {} {}", m.phase, m.subject, m.clients, v.text)
    };
    let mut lines: Vec<String> = rates.map(line).collect();
    lines.sort();
    lines
}

fn exported(archive: &Archive, variants: &[&str]) -> BTreeMap<String, String> {
    let variants = variants.iter().map(|name| (*name).to_owned()).collect();
    let options = ExportOptions { variants, tag: "t".into(), ..ExportOptions::default() };
    lab::exported("mytools", vec![study(archive)], &options)
}

const HEADER: &str = "col-1\tcol-2";

#[test]
fn tables_of_contradicting_tags_are_archives_of_their_own() {
    let cached = table(HEADER, &["10\t20\thot-points_range=100", "30\t40\tscan_range=100"]);
    let io = table(HEADER, &["1\t2\thot-points_range=100", "3\t4\tscan_range=100"]);
    let imported = import(&[
        ("a/qps.abs.cached.all.dop1.tsv", &cached),
        ("a/qps.abs.cached.pg18.dop1.tsv", &cached),
        ("a/qps.abs.io.all.dop1.tsv", &io),
        ("a/qps.abs.io.dop1.tsv", &io),
    ]);
    let names: Vec<&str> = imported.archives.iter().map(|a| a.experiment.as_str()).collect();
    assert_eq!(names, ["a/cached", "a/io"]);
    let [warning] = imported.warnings.as_slice() else { panic!("{:?}", imported.warnings) };
    assert_eq!(
        warning.to_string(),
        "`a`: tables with the tags `cached`, `io` contradict each other in 16 of 16 shared values, \
         so each tag is an archive of its own"
    );
    let of_io = rates(&imported.archives[1]);
    assert_eq!(of_io[..2], ["hot-points new 1 2", "hot-points old 1 1"]);
    // A table that a hand changed in one cell is the same table.
    let edited = cached.replace("40", "41");
    let imported = import(&[("a/qps.abs.all.tsv", &cached), ("a/qps.abs.edit.tsv", &edited)]);
    assert_eq!((imported.archives.len(), imported.warnings.len()), (1, 1));
}

#[test]
fn a_step_has_the_clients_that_its_tag_tells() {
    let both: &[(&str, &str)] = &[("old", "451"), ("new", "452")];
    let steps = met(&[
        ("sb.prepare.met.point-query.warm.range100.pk1", &[("old", "9"), ("new", "9")]),
        ("sb.met.hot-points.range100.pk1.dop40", &[("old", "100"), ("new", "101")]),
        ("sb.met.scan.range100.pk1.dop8", both),
    ]);
    let rows = table(HEADER, &["100\t101\thot-points_range=100", "0.451\t0.452\tscan_range=100"]);
    let first = table(HEADER, &["7\t7\thot-points_range=100", "0.3\t0.3\tscan_range=100"]);
    let imported = import(&[
        ("a/o.met.pgo.dop40", &steps),
        ("a/qps.abs.pgo.dop40.tsv", &rows),
        ("a/qps.abs.pgo.dop1.tsv", &first),
    ]);
    assert_eq!(imported.warnings, []);
    let [archive] = imported.archives.as_slice() else { panic!("one archive") };
    assert_eq!(
        rates(archive),
        [
            "hot-points.clients1 new 1 7",
            "hot-points.clients1 old 1 7",
            "hot-points.clients40 new 40 101",
            "hot-points.clients40 old 40 100",
            "load new 0 9",
            "load old 0 9",
            "scan.clients1 new 1 0.3",
            "scan.clients1 old 1 0.3",
            "scan.clients8.dop40 new 8 452",
            "scan.clients8.dop40 old 8 451",
        ]
    );
    let load = archive.values.iter().find(|v| v.measurement.phase == "load").unwrap();
    assert!(!load.measurement.levels.contains_key("clients"));
    // The text of the table comes out, not the value rounded.
    let files = exported(archive, &["old", "new"]);
    assert_eq!(files["dop40/qps.abs.t.tsv"], rows);
    assert_eq!(files["dop1/qps.abs.t.tsv"], first);
    assert!(files["dop40/o.met.t"].contains("sb.met.scan.range100.pk1.dop8\n"));
}

#[test]
fn a_step_that_nothing_tells_has_no_clients() {
    let steps = met(&[("sb.met.hot-points.range100.pk1.dop40", &[("old", "1"), ("new", "2")])]);
    let rows = table(HEADER, &["1\t2\thot-points_range=100", "3\t4\tscan_range=100"]);
    let imported = import(&[("a/o.met.in80g", &steps), ("a/qps.abs.in.tsv", &rows)]);
    assert_eq!(imported.warnings, []);
    let rates = rates(&imported.archives[0]);
    let expected = ["hot-points new 40 2", "hot-points old 40 1", "scan new 0 4", "scan old 0 3"];
    assert_eq!(rates, expected);
}

#[test]
fn rows_before_the_writes_and_decimals_come_out_as_they_went_in() {
    let rows = [
        "5\t6\tpoint-query.pre_range=100",
        "1\t2\tpoint-query_range=100",
        "1156.3\t3.875\tscan_range=100",
    ];
    let text = table(HEADER, &rows);
    let imported = import(&[("a/qps.abs.t.tsv", &text)]);
    let files = exported(&imported.archives[0], &["old", "new"]);
    assert_eq!(files["qps.abs.t.tsv"], text);
    // What has no value has none again, and is no fault.
    let gap = table(HEADER, &["5\tNA\tpoint-query_range=100", rows[2]]);
    let with_gap = import(&[("a/qps.abs.t.tsv", &gap)]);
    assert_eq!(with_gap.warnings, []);
    assert_eq!(exported(&with_gap.archives[0], &["old", "new"])["qps.abs.t.tsv"], gap);
    // The base is that of another archive: nothing takes its place.
    let files = exported(&imported.archives[0], &["elsewhere", "old", "new"]);
    assert_eq!(files["qps.abs.t.tsv"], text);
    assert!(files.keys().all(|path| !path.starts_with("qps.rel")), "{files:?}");
}

#[test]
fn ratios_alone_are_exported() {
    let rows = ["0.97\t1.06\thot-points_range=100", "0.88\t0.80\tscan_range=100"];
    let text = format!("Relative to: base\n{}", table(HEADER, &rows));
    let imported = import(&[("a/qps.rel.ma.1u.tsv", &text), ("a/qps.rel.ma.48u.tsv", &text)]);
    assert_eq!(imported.warnings, []);
    let files = exported(&imported.archives[0], &["base", "old", "new"]);
    let tables: Vec<(&str, bool)> = files
        .iter()
        .filter(|(path, _)| path.ends_with(".tsv"))
        .map(|(path, own)| (path.as_str(), *own == text))
        .collect();
    assert_eq!(tables, [("dop1/qps.rel.t.tsv", true), ("dop48/qps.rel.t.tsv", true)]);
    // Relative to another variant, ratios of ratios.
    let files = exported(&imported.archives[0], &["old", "new"]);
    assert!(
        files["dop1/qps.rel.t.tsv"]
            .ends_with("col-1\n1.09\thot-points_range=100\n0.91\tscan_range=100\n")
    );
}

#[test]
fn two_numbers_of_clients_side_by_side_are_a_curve() {
    let side = |step: &str, base: &str, rows: &[(&str, &str)]| {
        met(&[(step, rows)]).replacen('\n', &format!("\n{base}\n"), 1)
    };
    let load = "sb.prepare.met.point-query.warm.range100.pk1";
    let text =
        side(load, &format!("base1 {load} and base2 {load}"), &[("pg_1u", "5"), ("pg_48u", "6")])
            + &side(
                "sb.met.scan.range100.pk1.dop1",
                "base1 sb.met.scan.range100.pk1.dop1 and base2 sb.met.scan.range100.pk1.dop48",
                &[("pg_1u", "1"), ("pg_48u", "40")],
            );
    let imported = import(&[("a/o.met.pg.1u.48u", &text)]);
    assert_eq!(imported.warnings, []);
    let expected = [
        "load.dop1 pg 0 5",
        "load.dop48 pg 0 6",
        "scan.clients1 pg 1 1",
        "scan.clients48 pg 48 40",
    ];
    assert_eq!(rates(&imported.archives[0]), expected);
}

#[test]
fn notes_behind_the_last_column_are_no_columns() {
    let rows = ["1\t2\thot-points_range=100\t\t: better", "3\t4\tscan_range=100\t-> 10.5"];
    let imported = import(&[("a/qps.abs.t.tsv", &table("col-1\tcol-2\tnote", &rows))]);
    assert_eq!(
        (imported.warnings.as_slice(), imported.archives[0].values.len()),
        ([].as_slice(), 8)
    );
    let noted = met(&[("sb.met.scan.range100.pk1.dop8", &[("old", "1")])])
        .replace("dbms\n", "dbms\tall in memory\n")
        .replace("old\n", "old\t# rerun\n");
    let imported = import(&[("a/o.met", &noted)]);
    assert_eq!(
        (imported.warnings.as_slice(), imported.archives[0].values.len()),
        ([].as_slice(), 6)
    );
    // What is a number is no note.
    let rows = ["1\t2\thot-points_range=100", "3\t4\tscan_range=100\t-5"];
    let imported = import(&[("a/qps.abs.t.tsv", &table(HEADER, &rows))]);
    assert_eq!(imported.warnings.len(), 1);
}

#[test]
fn variants_that_share_no_row_have_bases_of_their_own() {
    let one = met(&[("sb.met.scan.range100.pk1.dop1", &[("a1", "1"), ("a2", "2")])]);
    let two = met(&[("sb.met.insert.range100.pk1.dop1", &[("b1", "1"), ("b2", "2")])]);
    let imported = import(&[("x/o.met.a", &one), ("x/o.met.b", &two)]);
    let archive = &imported.archives[0];
    assert_eq!(archive.subjects, ["a1", "a2", "b1", "b2"]);
    let bases: Vec<(&str, &str)> =
        archive.bases.iter().map(|(variant, base)| (variant.as_str(), base.as_str())).collect();
    assert_eq!(bases, [("b1", "b1"), ("b2", "b1")]);
}

#[test]
fn a_named_file_finds_its_companions() {
    let folder = tempfile::tempdir().unwrap();
    let rows = table(HEADER, &["1\t2\thot-points_range=100"]);
    let steps = met(&[("sb.met.hot-points.range100.pk1.dop40", &[("old", "1"), ("new", "2")])]);
    for (name, text) in [
        ("qps.abs.t.tsv", rows.as_str()),
        ("qps.abs.t.csv", "hot-points_range=100,1,2\n"),
        ("qps.abs.other.tsv", &rows),
        ("o.met.t", &steps),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().join("qps.abs.t.csv");
    let imported = archive::import(&[path], &Options::default()).unwrap();
    assert_eq!((imported.files, imported.broken.len()), (3, 0));
    assert_eq!(rates(&imported.archives[0]), ["hot-points new 40 2", "hot-points old 40 1"]);
}

#[test]
fn the_first_file_that_is_named_is_the_base() {
    let folder = tempfile::tempdir().unwrap();
    let report = |rate: &str| {
        format!(
            "sysbench 1.0.20\nNumber of threads: 1\nSQL statistics:\n    transactions: 5 \
             ({rate} per sec.)\n    queries: 5 ({rate} per sec.)\n    \
             execution time (avg/stddev): 1/0\n"
        )
    };
    let files = ["before.txt", "after.txt", "old/read.txt", "new/read.txt"];
    let paths = files.map(|name| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, report("10.00")).unwrap();
        path
    });
    let check = |paths: &[std::path::PathBuf], expected: [&str; 2]| {
        let imported = archive::import(paths, &Options::default()).unwrap();
        let subjects: Vec<_> = imported.archives.iter().map(|archive| &archive.subjects).collect();
        assert_eq!(subjects, [&expected]);
    };
    check(&paths[..2], ["before", "after"]);
    check(&paths[2..], ["old", "new"]);
}

#[test]
fn instructions_and_cycles_of_perf_stat_are_per_operation() {
    let counted = "cycles\t9000\ninstructions\t18000\n";
    let report = |threads: u32| {
        format!(
            "sysbench 1.1.0\nNumber of threads: {threads}\nSQL statistics:\n    transactions: 5 \
             (10.00 per sec.)\n    queries: 5 (100.00 per sec.)\n    \
             execution time (avg/stddev): 1/0\n"
        )
    };
    let report = report(4);
    let imported = import(&[
        ("a/x.my8043.c.pk1/sb.perf.hw.scan-x.range1.pk1", counted),
        ("a/x.my8043.c.pk1/sb.o.scan-x.range1.pk1.dop4", &report),
        ("a/x.pg181.c.pk1/sb.perf.hw.scan-x.range1.pk1", counted),
        ("a/x.pg181.c.pk1/sb.o.scan-x.range1.pk1.dop4", &report),
    ]);
    assert_eq!(imported.warnings, []);
    let value = |subject: &str, metric: &str| {
        let values = &imported.archives[0].values;
        let found = values.iter().map(|value| &value.measurement);
        let found = found.filter(|m| m.subject == subject && m.metric == metric);
        found.map(|m| m.value).next()
    };
    // 18,000 instructions in 10 s at 100 operations per second; one backend serves 25 of them.
    assert_eq!(value("x.my8043.c.pk1", "server_instructions_per_op"), Some(18.0));
    assert_eq!(value("x.my8043.c.pk1", "server_cycles_per_op"), Some(9.0));
    assert_eq!(value("x.pg181.c.pk1", "foreground_instructions_per_op"), Some(72.0));
    assert_eq!(value("x.pg181.c.pk1", "foreground_instructions_per_cycle"), Some(2.0));
    assert_eq!(value("x.pg181.c.pk1", "server_instructions_per_op"), None);
}

#[test]
fn an_archive_that_nobody_has_seen_is_read_all_the_same() {
    let steps = met(&[
        ("sb.met.hot-points.range100.pk1.dop40", &[("old", "1"), ("new", "2")]),
        ("sb.met.scan.range100.pk1.dop8", &[("old", "3"), ("new", "4")]),
    ]);
    let rows = table(HEADER, &["1\t2\thot-points_range=100", "3\t4\tscan_range=100"]);
    let windows = rows.replace('\n', "\r\n");
    let expected = ["hot-points new 40 2", "hot-points old 40 1", "scan new 8 4", "scan old 8 3"];
    // Other folders, other line ends, an empty file and one of another tool beside it.
    let imported = import(&[
        ("some where/else/o.met.my.80plus", &steps),
        ("some where/else/qps.abs.80plus.tsv", &windows),
        ("some where/else/qps.abs.empty.tsv", ""),
        ("some where/else/README", "text"),
    ]);
    assert_eq!((imported.warnings.len(), imported.broken.len(), imported.unknown.len()), (0, 1, 1));
    assert_eq!(rates(&imported.archives[0]), expected);
    // Without the o.met nothing tells the clients.
    let imported = import(&[("else/qps.abs.80plus.tsv", &windows)]);
    assert!(rates(&imported.archives[0]).iter().all(|rate| rate.split(' ').nth(2) == Some("0")));
    // Names of the same words in another order are one tag, and one that contradicts it is not.
    let other = rows.replace("1\t2", "7\t8").replace("3\t4", "5\t6");
    let imported = import(&[
        ("else/qps.abs.a.io.tsv", &rows),
        ("else/qps.abs.io.a.tsv", &rows),
        ("else/qps.abs.tsv", &other),
    ]);
    let names: Vec<&str> = imported.archives.iter().map(|a| a.experiment.as_str()).collect();
    assert_eq!((names, imported.warnings.len()), (vec!["else/a.io", "else/untagged"], 1));
}

#[test]
fn sizes_of_one_folder_do_not_hide_each_other() {
    let large = text_of("insert/o.sum.t.80m.my8408_rel.cz12a");
    let smaller = |line: &str| {
        let (numbers, tag) = line.rsplit_once('\t').unwrap();
        let numbers = if tag == "tag" { numbers.to_owned() } else { numbers.replace('0', "1") };
        format!("{numbers}\t{}\n", tag.replace("80m.", "20m."))
    };
    let small: String = large.lines().map(smaller).collect();
    let imported = import(&[
        ("ib/1u.1tno/o.sum.t.80m.my8408_rel.cz12a", &large),
        ("ib/1u.1tno/o.sum.t.20m.my8408_rel.cz12a", &small),
    ]);
    let names: Vec<&str> = imported.archives.iter().map(|a| a.experiment.as_str()).collect();
    assert_eq!(names, ["ib/20m", "ib/80m"]);
}
