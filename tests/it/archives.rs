//! `import`, `export` and `compare` of third-party archives, as users see them.

use crate::lab::{Lab, is_told_of_lost, text, value};
use std::path::{Path, PathBuf};

/// Two variants of one archive with two steps each, made for this test.
pub(crate) fn write_archive(lab: &Lab) -> PathBuf {
    let root = lab.path("mine/dop4");
    for (variant, factor) in [("x.my1.c.pk1", 1.0), ("x.my2.c.pk1", 0.8)] {
        std::fs::create_dir_all(root.join(variant)).unwrap();
        for (step, ops) in [("point-query.range100", 2000.0), ("scan.range100", 500.0)] {
            let ops = ops * factor;
            let met = format!(
                "iostat, vmstat normalized by operation rate\n\
                 samp\tr/s\trMB/s\tw/s\twMB/s\tr/o\trKB/o\twKB/o\to/s\n\
                 30\t0.0\t0.0\t1.0\t0.1\t0.000\t0.000\t0.005\t{ops:.2}\n\n\
                 samp\tcs/s\tcpu/s\tcs/o\tcpu/o\n31\t4000\t20.0\t2.000\t0.010000\n"
            );
            std::fs::write(root.join(variant).join(format!("sb.met.{step}.pk1.dop4")), met)
                .unwrap();
        }
    }
    std::fs::write(root.join("notes"), "not a result").unwrap();
    lab.path("mine")
}

#[test]
fn an_archive_is_imported_compared_and_exported() {
    let lab = Lab::new();
    write_archive(&lab);
    let (_, talk) = lab.ends(0, &["import", "mine"]);
    assert!(talk.contains("5 files: 4 sb_met"), "{talk}");
    assert!(talk.contains("1 of no known format: `mine/dop4/notes`"), "{talk}");

    let comparison = lab.comparison();
    let rows = comparison["comparisons"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["workload"] == "point-query" && row["metric"] == "ops_per_second");
    let row = row.unwrap();
    assert_eq!((row["verdict"].as_str(), row["clients"].as_u64()), (Some("unreplicated"), Some(4)));
    assert_eq!((row["base_value"].as_f64(), row["ratio"].as_f64()), (Some(2000.0), Some(0.8)));
    assert!(row["ratio_low"].is_null() && row["blocks"] == 1);
    assert_eq!(comparison["base"], "x.my1.c.pk1");

    lab.succeed(&[
        "export",
        "--format",
        "mytools",
        "--out",
        "out",
        "--tag",
        "t",
        "--variant",
        "my2.c,my1.c",
    ]);
    let read = |name: &str| std::fs::read_to_string(lab.path("out").join(name)).unwrap();
    assert_eq!(
        read("qps.rel.t.tsv"),
        "Relative to: x.my2.c.pk1\ncol-1 : x.my1.c.pk1\n\ncol-1\n\
         1.25\tpoint-query_range=100\n1.25\tscan_range=100\n"
    );
    assert!(read("o.met.t").starts_with("sb.met.point-query.range100.pk1.dop4\n--- absolute\n"));

    // Another import replaces the first one in tables; the marks say what was corrected.
    lab.succeed(&["import", "mine", "--correct", "vmstat"]);
    lab.succeed(&["report", "--out", "r.html"]);
    let page = std::fs::read_to_string(lab.path("r.html")).unwrap();
    let expected =
        ["<dd>mine</dd>", "<dd>sb_met (4)</dd>", "<dd>vmstat</dd>", "sb.met.scan.range100"];
    for told in expected {
        assert!(page.contains(told), "{told}");
    }
    lab.succeed(&["export", "--format", "csv", "--out", "out"]);
    let values = read("values.all.csv");
    assert!(values.contains("corrected for vmstat headers"), "{values}");
    let corrected = values.lines().filter(|line| line.contains(",host_cpu_percent_per_op,"));
    assert_eq!(corrected.count(), 4);
    lab.succeed(&["export", "--format", "bmf", "--out", "out"]);
    let bmf: serde_json::Value = serde_json::from_str(&read("bmf.all.json")).unwrap();
    assert_eq!(bmf["x.my2.c.pk1/point-query"]["ops_per_second"]["value"], 1600.0);
    assert!(lab.succeed(&["list", "importers"]).contains("hammerdb"));
}

#[test]
fn control_characters_of_an_archive_reach_no_table() {
    let lab = Lab::new();
    let folder = write_archive(&lab).join("dop4");
    let name = "x.my2\u{1b}]0;title\u{7}\u{9b}1m.c.pk1";
    std::fs::rename(folder.join("x.my2.c.pk1"), folder.join(name)).unwrap();
    let check = |what: &str, text: &str| {
        // JSON escapes those below the space only; programs read it, and a browser reads HTML.
        let steers = |c: &char| match what {
            "json" | "html" => *c < ' ' && !['\n', '\r', '\t'].contains(c),
            _ => c.is_control() && !['\n', '\r', '\t'].contains(c),
        };
        assert_eq!(text.chars().find(steers), None, "{what}: {text:?}");
    };
    let (_, err) = lab.ends(0, &["import", "mine"]);
    assert!(!err.contains('\u{1b}'), "{err:?}");
    for format in ["csv", "tsv", "json", "table", "dense", "markdown", "html"] {
        let table = lab.succeed(&["compare", "--format", format]);
        check(format, &table);
        assert!(table.contains("my1"), "{format}: {table}");
    }
    let quoted = lab.succeed(&["compare", "--format", "csv"]);
    assert!(quoted.contains("\\u{1b}]0;title"), "it is shown and does nothing: {quoted}");
}

#[test]
fn averages_come_out_as_they_went_in_and_beside_them_corrected() {
    let lab = Lab::new();
    write_archive(&lab);
    let file = "x.my1.c.pk1/sb.met.scan.range100.pk1.dop4";
    let exported = |out: &str| {
        lab.succeed(&["export", "--format", "sb_met", "--out", out]);
        std::fs::read_to_string(lab.path(out).join(file)).unwrap()
    };
    lab.succeed(&["import", "mine"]);
    let published = std::fs::read_to_string(lab.path("mine/dop4").join(file)).unwrap();
    assert_eq!(exported("biased"), published);
    // 31 samples are 30 rows and a header that was counted as a row of zeros.
    lab.succeed(&["import", "mine", "--correct", "vmstat"]);
    let corrected =
        published.replace("31\t4000\t20.0\t2.000\t0.010000", "30\t4133\t20.7\t2.067\t0.010333");
    assert_ne!(corrected, published);
    assert_eq!(exported("corrected"), corrected);
}

#[test]
fn an_engine_with_a_summary_of_its_own_has_a_base_of_its_own() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("two")).unwrap();
    for (engine, rates) in [("my1", [1000, 1100]), ("rx1", [500, 400])] {
        let line =
            |config: &str, rate| format!("0.01\t0.1\t0\t0\t0\t{rate}\tx.{engine}.{config}.pk1");
        let [glibc, jemalloc] = rates;
        let summary = format!(
            "sb.met.scan.range100.pk1.dop4\n--- absolute\n\
             cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms\n{}\n{}\n",
            line("glibc", glibc),
            line("jemalloc", jemalloc)
        );
        lab.write(&format!("two/o.met.{engine}"), &summary);
    }
    lab.succeed(&["import", "two"]);
    let comparison = lab.comparison();
    let rows = comparison["comparisons"].as_array().unwrap().iter();
    let ratios: Vec<_> = rows
        .filter(|row| row["metric"] == "ops_per_second" && !row["ratio"].is_null())
        .map(|row| (row["variant"].as_str().unwrap(), row["base"].as_str(), row["ratio"].as_f64()))
        .collect();
    let expected = [("my1", 1.1), ("rx1", 0.8)].map(|(engine, ratio)| {
        (format!("x.{engine}.jemalloc.pk1"), format!("x.{engine}.glibc.pk1"), ratio)
    });
    let expected: Vec<_> = expected
        .iter()
        .map(|(variant, base, ratio)| (variant.as_str(), Some(base.as_str()), Some(*ratio)))
        .collect();
    assert_eq!(ratios, expected);
}

#[test]
fn variants_without_a_shared_test_are_told_with_a_test_of_each() {
    let threads = |count: &str| report(1.49).replace("threads: 1", &format!("threads: {count}"));
    let script = |name: &str| {
        format!("transaction type: <builtin: {name}>\nnumber of clients: 2\ntps = 5.0 (x)\n")
    };
    let check = |files: [(&str, String); 2], base: &str, expected: &str| {
        let lab = Lab::new();
        for (file, text) in files {
            std::fs::create_dir_all(lab.path("mine").join(file).parent().unwrap()).unwrap();
            lab.write(&format!("mine/{file}"), &text);
        }
        lab.succeed(&["import", "mine"]);
        for arguments in [&["compare"][..], &["compare", "--base", base]] {
            let said = text(&lab.run(arguments).stderr);
            let expected = format!("share no test with the same number of clients: {expected}");
            assert!(said.contains(&expected), "{arguments:?} {said}");
            assert!(!said.contains("summary"), "{said}");
        }
    };
    let files = [("a.txt", threads("1")), ("b.txt", threads("8"))];
    check(files, "a", "`a` has `sysbench.clients1`, `b` has `sysbench.clients8`");
    let files = [("a/read-01.txt", report(1.49)), ("b/read-1.txt", report(2.51))];
    check(files, "a", "`a` has `read-01`, `b` has `read-1`");
    let files = [("a.txt", script("select only")), ("b.txt", script("simple update"))];
    check(files, "a", "`a` has `select only`, `b` has `simple update`");
}

#[test]
fn variants_with_a_summary_each_are_compared_if_a_base_is_named() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("two")).unwrap();
    for (name, rate) in [("my1", 1000), ("my2", 1100)] {
        let table = format!("--- absolute\ncpu/o\t\to/s\tdbms\n0.1\t{rate}\tx.{name}.c.pk1\n");
        let summary = format!("sb.met.scan.range100.pk1.dop4\n{table}");
        lab.write(&format!("two/o.met.{name}"), &summary);
    }
    lab.succeed(&["import", "two"]);
    let said = |arguments: &[&str]| text(&lab.run(arguments).stderr);
    let alone = said(&["compare"]);
    assert!(alone.contains("own summary; `--base x.my1.c.pk1` compares them"), "{alone}");
    let named = said(&["compare", "--base", "x.my1.c.pk1"]);
    assert!(!named.contains("nothing is compared"), "{named}");
}

#[test]
fn what_cannot_be_imported_or_exported_is_said_in_one_sentence() {
    let lab = Lab::new();
    let met = "iostat, vmstat normalized by operation rate\nsamp\tr/s\n";
    lab.write("sb.met.scan.range100.pk1.dop1", met);
    lab.write("nothing.txt", "nothing");
    let check = |arguments: &[&str], words: &[&str]| {
        let talk = lab.refuses(arguments);
        assert!(words.iter().all(|word| talk.contains(word)), "{talk}");
        assert!(!talk.contains("panicked") && !talk.contains('\u{1b}'), "{talk}");
    };
    check(&["import", "sb.met.scan.range100.pk1.dop1"], &["`sb.met.scan.range100.pk1.dop1`:2: "]);
    check(&["import", "nothing.txt"], &["`nothing.txt`:1: ", "list importers"]);
    check(&["import", "a\u{1b}[31mb"], &["\\u{1b}[31mb"]);
    check(
        &["import", "nothing.txt", "--correct", "all"],
        &["unknown correction `all`", "`vmstat`"],
    );
    check(&["export", "--format", "csv", "--out", "o"], &["dbdyno-results"]);
    write_archive(&lab);
    // What is good beside what is broken is imported all the same.
    check(&["import", "mine", "nothing.txt"], &["error: `nothing.txt`:1: ", "1 of 6 files broken"]);
    lab.write("mine/o.met.cut", "sb.met.scan.range100.pk1.dop4\n");
    check(&["import", "mine"], &["error: `mine/o.met.cut`:1: "]);
    let (table, warned) = lab.ends(0, &["compare"]);
    assert!(table.contains("point-query"), "{table}\n{warned}");
    assert!(warned.contains("had 1 irregular place"), "{warned}");
    let export = ["export", "--format", "mytools", "--out", "o", "--variant", "my3"];
    check(&export, &["no variant fits `my3` of `--variant`", "`x.my1.c.pk1`"]);
    check(&["export", "--format", "csv", "--out", "o", "--tag", "../x"], &["letters, digits"]);
    check(&["export", "--format", "xml", "--out", "o"], &["mytools"]);
}

#[test]
fn published_files_come_out_as_they_went_in() {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/archives/nov25.sb.mysql/dop1");
    if !archive.is_dir() {
        println!("skipped: `{}` is not there", archive.display());
        return;
    }
    let lab = Lab::new();
    lab.succeed(&["import", archive.to_str().unwrap()]);
    let groups =
        ["my5651", "my5744", "-", "my8043", "my8044", "my8406", "my8407", "-", "my9400", "my9500"];
    let lines: Vec<String> = groups
        .iter()
        .map(|name| match *name {
            "-" => "-\n".to_owned(),
            name => format!("x.{name}_rel_o2nofp.z12a_c8r32.pk1\n"),
        })
        .collect();
    lab.write("groups", &lines.concat());
    lab.succeed(&["export", "--format", "mytools", "--out", "out", "--groups", "groups"]);
    for name in ["qps.abs.all.tsv", "qps.rel.all.tsv", "o.met.all"] {
        let ours = std::fs::read(lab.path("out").join(name)).unwrap();
        assert!(ours == std::fs::read(archive.join(name)).unwrap(), "{name}");
    }
}

#[test]
fn results_of_our_own_are_exported_and_can_be_imported_again() {
    let lab = Lab::new();
    let small = ["rows=2000", "slice_seconds=0.05", "blocks=2", "rounds=1"];
    let mut arguments = vec!["run", "--counts", "none"];
    arguments.extend(small.iter().flat_map(|set| ["--set", set]));
    lab.succeed(&arguments);
    for format in ["mytools", "bmf", "csv"] {
        lab.succeed(&["export", "--format", format, "--out", "ours"]);
    }
    let read = |name: &str| std::fs::read_to_string(lab.path("ours").join(name)).unwrap();
    let table = read("qps.abs.all.tsv");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.contains("_range="))
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(rows.len(), 4, "{table}");
    assert!(rows.iter().flatten().all(|cell| *cell != "NA"), "{table}");
    assert!(read("o.met.all").contains("--- relative to first result"));
    // Two blocks have bounds, with the value between them, unless a busy host cost one of them.
    let has_lost = is_told_of_lost(&lab.comparison()["warnings"].to_string());
    let least = if has_lost { 1 } else { 8 };
    let bmf: serde_json::Value = serde_json::from_str(&read("bmf.all.json")).unwrap();
    let bounded = bmf.as_object().unwrap().iter().filter_map(|(name, measures)| {
        let ops = &measures["ops_per_second"];
        let low = ops["lower_value"].as_f64()?;
        Some((
            name,
            low <= ops["value"].as_f64()?
                && ops["value"].as_f64()? <= ops["upper_value"].as_f64()?,
        ))
    });
    let bounded: Vec<_> = bounded.collect();
    assert!(bounded.len() >= least && bounded.iter().all(|(_, inside)| *inside), "{bounded:?}");

    lab.succeed(&["import", "ours", "--results", "again"]);
    let again = lab.succeed(&["compare", "--results", "again", "--format", "json"]);
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    let rate = |workload: &str| {
        let rows = again["comparisons"].as_array().unwrap();
        let row =
            rows.iter().find(|r| r["workload"] == workload && r["metric"] == "ops_per_second");
        row.map(|row| format!("{:.0}", row["base_value"].as_f64().unwrap()))
    };
    for row in &rows {
        let workload = row.last().unwrap().split("_range=").next().unwrap();
        assert_eq!(rate(workload).as_deref(), Some(row[0]), "{workload}");
    }
}

/// A report of sysbench with a rate.
fn report(rate: f64) -> String {
    let lines = [
        "sysbench 1.0.20".to_owned(),
        "Number of threads: 1".to_owned(),
        "SQL statistics:".to_owned(),
        format!("    transactions: 5 ({rate} per sec.)"),
        format!("    queries: 5 ({rate} per sec.)"),
        "    execution time (avg/stddev): 1/0\n".to_owned(),
    ];
    lines.join("\n")
}

#[test]
fn tests_of_ones_own_may_have_the_names_of_published_ones() {
    let lab = Lab::new();
    let names = ["oltp.warm", "oltp.pre", "scan", "slow.prepared"];
    for (folder, rate) in [("before", 1.49), ("after", 2.51)] {
        std::fs::create_dir(lab.path(folder)).unwrap();
        for name in names {
            lab.write(&format!("{folder}/{name}.txt"), &report(rate));
        }
    }
    let said = text(&lab.run(&["import", "before", "after"]).stderr);
    assert!(said.contains("note: `after` will be compared with `before` ("), "{said}");
    let comparison = lab.comparison();
    lab.succeed(&["export", "--format", "mytools", "--out", "out"]);
    let relative = std::fs::read_to_string(lab.path("out/qps.rel.all.tsv")).unwrap();
    for name in names {
        assert_eq!(value(&comparison, name, "after", "ops_per_second"), Some(2.51), "{name}");
        assert!(relative.contains(&format!("1.68\t{name}_range")), "{name}\n{relative}");
    }
}
