//! The README's first command.

use crate::lab::{Lab, text, value};

#[test]
fn the_quickstart_needs_nothing_and_ends_with_a_table_of_the_four_workloads() {
    let lab = Lab::new();
    let output = lab.run(&["run", "--set", "rows=20000", "--set", "slice_seconds=0.2"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    for word in ["point-query", "range-covered-pk", "update-nonindex", "insert", "rollback", "wal"]
    {
        assert!(out.contains(word), "`{word}` is not in\n{out}");
    }
    let comparison = lab.comparison();
    for workload in ["point-query", "range-covered-pk", "update-nonindex", "insert"] {
        let rate = value(&comparison, workload, "sqlite", "ops_per_second").unwrap();
        assert!(rate > 0.0, "{workload}: {rate}");
    }
}
