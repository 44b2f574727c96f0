//! What failed and what missed its rate, in the tables, the exports and the exit codes: records of
//! a real run, made worse by hand.

use crate::lab::{Lab, text};

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
    let lab = Lab::new();
    let only = ["--only", "point-query,insert", "--no-steps"];
    let set = ["--set", "rows=2000", "--set", "slice_seconds=0.1", "--set", "blocks=1"];
    lab.succeed(&[&["run", "--progress", "none"], &only[..], &set[..]].concat());
    let subjects: Vec<String> = {
        let rows = lab.comparison()["bases"].as_array().unwrap().clone();
        rows.iter().map(|row| row["variant"].as_str().unwrap().to_owned()).collect()
    };
    let export = ["export", "--format", "mytools", "--out", "out", "--tag", "t"];
    lab.succeed(&export);
    let table = || std::fs::read_to_string(lab.path("out/qps.abs.t.csv")).unwrap();
    assert!(!table().contains("NA"), "{}", table());
    change(&lab, "point-query", &subjects[0], |slice| {
        slice["state"] = "failed".into();
        slice["reason"] = "the server ended".into();
    });
    let output = lab.run(&export);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let expected = format!("failed: {} point-query, left out: the server ended", subjects[0]);
    assert_eq!(said.lines().filter(|line| *line == expected).count(), 1, "{said}");
    let row = table().lines().find(|line| line.starts_with("point-query")).map(str::to_owned);
    assert!(row.is_some_and(|row| row.contains("NA")), "{}", table());
    let tables = lab.succeed(&["compare"]);
    assert!(tables.contains("compared, 1 failed."), "{tables}");
}

#[test]
fn a_missed_rate_is_said_in_the_table_and_by_the_exit_code() {
    let lab = Lab::new();
    let text_of = "question = \"q\"\nsuite = \"insert-benchmark\"\nrows = 20000\nblocks = 1\n\
                   design = \"classic\"\n[parameters]\ninserted = 2000\nquery_seconds = 1\n\
                   settle_seconds = 1\nsettle_seconds_max = 2\n[factors]\nbuild = [\"sqlite\"]\n";
    lab.write("ibench.toml", text_of);
    let run = lab.run(&["run", "ibench.toml", "--no-steps", "--progress", "none"]);
    assert!([Some(0), Some(1)].contains(&run.status.code()), "{}", text(&run.stderr));
    change(&lab, "qr100", "sqlite", |slice| {
        for op in slice["work"]["ops"].as_array_mut().unwrap() {
            op["rows_changed"] = 1.into();
        }
    });
    let output = lab.run(&["compare"]);
    let table = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{table}");
    assert!(table.contains("missed (") && table.contains("SLA missed"), "{table}");
    let export = ["export", "--format", "mytools", "--out", "out", "--tag", "t"];
    assert_eq!(lab.run(&export).status.code(), Some(1));
    for phase in ["l.i0", "qr100.L1", "qp1000.L6"] {
        assert!(lab.path("out").join(format!("mrg.{phase}")).exists(), "{phase}");
    }
}
