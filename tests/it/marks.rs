//! What failed and what missed its rate, in the tables, the exports and the exit codes: records of
//! a real run, made worse by hand.

use crate::lab::{Lab, is_lost, text};
use sha2::{Digest, Sha256};

/// Changes every measured slice of a phase in the records, and lets the index be made anew.
fn change(lab: &Lab, phase: &str, subject: &str, change: impl Fn(&mut serde_json::Value)) {
    let records = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap().flatten();
    let mut changed = 0;
    for record in records {
        let file = record.path().join("slices.jsonl");
        let lines = std::fs::read_to_string(&file).unwrap();
        let lines = lines.lines().map(|line| {
            let mut slice: serde_json::Value = serde_json::from_str(line).unwrap();
            let named = slice["subject"].as_str().unwrap().contains(subject);
            if slice["phase"] == phase && slice["state"] == "measured" && named {
                change(&mut slice);
                changed += 1;
            }
            slice.to_string() + "\n"
        });
        let lines: String = lines.collect();
        // The marker of the record names the SHA-256 of the file.
        let sum = |bytes: &[u8]| format!("{:x}", Sha256::digest(bytes));
        let marker = record.path().join("complete");
        let sums = std::fs::read_to_string(&marker).unwrap();
        let old = sum(&std::fs::read(&file).unwrap());
        assert!(sums.contains(&old), "{sums}");
        std::fs::write(&marker, sums.replace(&old, &sum(lines.as_bytes()))).unwrap();
        std::fs::write(&file, lines).unwrap();
    }
    assert!(changed > 0, "{phase} of {subject}");
    for file in std::fs::read_dir(lab.path("dbdyno-results")).unwrap().flatten() {
        if file.file_name().to_string_lossy().contains("sqlite") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
}

#[test]
fn a_failed_cell_is_exported_as_missing_and_said() {
    let lab = Lab::with_small_logs();
    let only = ["--only", "point-query,insert", "--counts", "none"];
    let set = ["--set", "rows=2000", "--set", "slice_seconds=0.1", "--set", "blocks=1"];
    lab.succeed(&[&["run", "--progress", "none"], &only[..], &set[..]].concat());
    let subjects: Vec<String> = {
        let rows = lab.comparison()["bases"].as_array().unwrap().clone();
        rows.iter().map(|row| row["variant"].as_str().unwrap().to_owned()).collect()
    };
    let export = ["export", "--format", "mytools", "--out", "out", "--tag", "t"];
    lab.succeed(&export);
    let table = || std::fs::read_to_string(lab.path("out/qps.abs.t.csv")).unwrap();
    let has_lost = is_lost(&lab.comparison(), "a table without a missing value");
    assert!(has_lost || !table().contains("NA"), "{}", table());
    change(&lab, "point-query", &subjects[0], |slice| {
        slice["state"] = "failed".into();
        slice["reason"] = "the server ended".into();
    });
    let (_, said) = lab.ends(0, &export);
    let expected = format!("failed: {} point-query, left out: the server ended", subjects[0]);
    assert_eq!(said.lines().filter(|line| *line == expected).count(), 1, "{said}");
    let row = table().lines().find(|line| line.starts_with("point-query")).map(str::to_owned);
    assert!(row.is_some_and(|row| row.contains("NA")), "{}", table());
    let tables = lab.succeed(&["compare"]);
    assert!(tables.contains("compared, 1 failed"), "{tables}");
}

#[test]
fn a_missed_rate_is_said_in_the_table_and_by_the_exit_code() {
    let lab = Lab::with_small_logs();
    let text_of = "question = \"q\"\nsuite = \"insert-benchmark\"\nrows = 20000\nblocks = 1\n\
                   design = \"classic\"\n[parameters]\ninserted = 2000\nquery_seconds = 1\n\
                   settle_seconds = 1\nsettle_seconds_max = 2\n[factors]\nbuild = [\"sqlite\"]\n";
    lab.write("ibench.toml", text_of);
    let run = lab.run(&["run", "ibench.toml", "--counts", "none", "--progress", "none"]);
    assert!([Some(0), Some(1)].contains(&run.status.code()), "{}", text(&run.stderr));
    change(&lab, "qr100", "sqlite", |slice| {
        for op in slice["work"]["ops"].as_array_mut().unwrap() {
            op["rows_changed"] = 1.into();
        }
    });
    let (table, _) = lab.ends(1, &["compare"]);
    assert!(table.contains("missed (") && table.contains("SLA missed"), "{table}");
    let (_, err) = lab.ends(1, &["compare", "--fail-on", "regression"]);
    assert!(err.contains("compared in the metrics"), "{err}");
    let export = ["export", "--format", "mytools", "--out", "out", "--tag", "t"];
    assert_eq!(lab.run(&export).status.code(), Some(1));
    for phase in ["l.i0", "qr100.L1", "qp1000.L6"] {
        assert!(lab.path("out").join(format!("mrg.{phase}")).exists(), "{phase}");
    }
}

#[test]
fn a_rate_that_is_out_of_reach_is_missed_in_every_workload() {
    let lab = Lab::with_small_logs();
    let text_of = |design: &str, build: &str| {
        format!(
            "question = \"q\"\nsuite = \"quick\"\nrows = 2000\nblocks = 1\n\
             design = \"{design}\"\nslice_seconds = 0.3\nread_seconds = 1\n\
             arrival = {{ per_second = 900000, spacing = \"even\" }}\n\
             [factors]\nbuild = [\"{build}\"]\n"
        )
    };
    let builds = ["sqlite", "postgres@18", "mysql@9"];
    for (design, build) in ["interleaved", "classic"].iter().flat_map(|d| builds.map(|b| (d, b))) {
        let experiment = format!("{design}-{build}.toml");
        lab.write(&experiment, &text_of(design, build));
        let only = ["--only", "point-query", "--counts", "none", "--progress", "none"];
        let (out, err) = lab.ends(1, &[&["run", experiment.as_str()], &only[..]].concat());
        let first: String = out.lines().take(12).collect::<Vec<_>>().join(" ");
        let said = "of 900000 operations/s completed, 855000 are needed";
        let words: Vec<&str> = first.split_whitespace().collect();
        assert!(words.join(" ").contains(said), "{out}");
        assert!(err.contains(said) && err.contains("missed: "), "{err}");
        assert_eq!(lab.run(&["compare"]).status.code(), Some(1));
    }
}

#[test]
fn a_workload_that_finds_other_rows_than_it_expects_is_not_compared() {
    let lab = Lab::with_small_logs();
    let workload = |name: &str, rows: u32| {
        let words = format!(
            "help = \"?\"\ngroup = \"point\"\nschema = \"sbtest\"\n[[op]]\nname = \"one\"\n\
             sql = \"SELECT c FROM {{table}} WHERE id = ?\"\n\
             args = [{{ uniform = [1, \"rows\"] }}]\nexpect = {{ rows = {rows} }}\n"
        );
        lab.write(&format!("{name}.toml"), &words);
    };
    workload("right", 1);
    workload("wrong", 2);
    let experiment = "question = \"?\"\nworkloads = [\"./right.toml\", \"./wrong.toml\"]\n\
                      rows = 500\nslice_seconds = 0.1\nblocks = 1\nfactors.build = [\"sqlite\"]\n";
    lab.write("rows.toml", experiment);
    let (out, err) = lab.ends(2, &["run", "rows.toml", "--counts", "none", "--progress", "none"]);
    assert!(out.contains("1 measured, 1 failed"), "{out}{err}");
    let reason = "found or changed another number of rows than the workload expects";
    assert!(out.contains(reason) && out.contains("wrong.toml"), "{out}{err}");
}
