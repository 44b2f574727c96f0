//! The README's first command.

use crate::lab::{Lab, known, text};

#[test]
fn the_quickstart_needs_nothing_and_ends_with_a_table_of_the_four_workloads() {
    let lab = Lab::new();
    let short = ["--set", "rows=20000", "--set", "slice_seconds=0.2", "--set", "blocks=2"];
    let out = lab.succeed(&[&["run"], &short[..]].concat());
    for word in ["point-query", "range-covered-pk", "update-nonindex", "insert", "rollback", "wal"]
    {
        assert!(out.contains(word), "`{word}` is not in\n{out}");
    }
    let comparison = lab.comparison();
    for workload in ["point-query", "range-covered-pk", "update-nonindex", "insert"] {
        let rate = known(&comparison, workload, "sqlite", "ops_per_second");
        assert!(rate.is_none_or(|rate| rate > 0.0), "{workload}: {rate:?}");
    }
}

#[test]
fn settings_of_an_embedded_engine_are_read_back_and_compared() {
    let lab = Lab::new();
    let experiment = "
question = \"?\"
workloads = [\"point-query\"]
rows = 1000
blocks = 1
rounds = 1
slice_seconds = 0.1
factors = { build = [\"sqlite\"], config = [\"base\", \"mapped\"] }
configs.mapped = { extends = \"base\", settings = { mmap_size = 1048576, wal_autocheckpoint = 7 } }
";
    for design in ["interleaved", "classic"] {
        lab.write("mapped.toml", experiment);
        let design = format!("design=\"{design}\"");
        let seconds = "read_seconds=0.2";
        let arguments = ["run", "mapped.toml", "--counts", "none", "--progress", "plain"];
        let more = ["--set", &design, "--set", seconds];
        let (_, err) = lab.ends(0, &[&arguments[..], &more[..]].concat());
        let told: Vec<&str> = err.lines().filter(|line| line.starts_with("  ")).collect();
        assert_eq!(told.len(), 2, "{design}: {err}");
        let shows = |name: &str, value: &str| {
            told.iter().any(|line| line.contains(name) && line.contains(value))
        };
        assert!(shows("mmap_size: ", "mapped=1048576"), "{err}");
        assert!(shows("wal_autocheckpoint: ", "mapped=7"), "{err}");
    }
}

#[test]
fn tables_are_aged_once_by_the_tests_that_change_rows_in_place() {
    let lab = Lab::new();
    let run = ["run", "--counts", "none", "--progress", "plain", "--set", "rows=1000"];
    let more = ["--set", "blocks=2", "--set", "slice_seconds=0.05", "--set", "age=2.5"];
    let (_, err) = lab.ends(0, &[&run[..], &more[..]].concat());
    // Of the four, only `update-nonindex` does.
    for config in ["rollback", "wal"] {
        let told = format!("aged sqlite-bundled.{config} by 2500 operations");
        assert_eq!(err.matches(&told).count(), 1, "{err}");
    }
    let refused = lab.run(&["run", "--set", "age=-1"]);
    let said = text(&refused.stderr);
    assert!(said.contains("`age` must be from 0 to 100 operations per row, not `-1`"), "{said}");
}
