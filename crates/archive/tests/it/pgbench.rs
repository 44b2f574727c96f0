//! Reports of pgbench.

use crate::{
    formats::{check, found, values},
    lab::text_of,
};
use std::collections::BTreeSet;

#[test]
fn output_of_pgbench_is_read() {
    check(
        "pgbench.txt",
        "pgbench",
        &[
            ("s1 pgbench 4 ops_per_second", 1496.204815, "1496.204815"),
            ("s1 pgbench 4 latency_us_mean", 2669.0, "2.669"),
            ("s1 pgbench 4 errors_per_op", 374.0 / 14960.0, ""),
            ("s1 pgbench script 1 4 ops_per_second", 747.402131, "747.402131"),
            ("s1 pgbench script 2 4 latency_us_mean", 240.0, "0.240"),
        ],
    );
    check(
        "pgbench-old.txt",
        "pgbench",
        &[
            ("s1 pgbench-old 2 ops_per_second", 726.811975, "726.811975"),
            ("s1 pgbench-old 2 latency_us_mean", 2752.0, "2.752"),
        ],
    );
    check(
        "pgbench-18.txt",
        "pgbench",
        &[
            ("s1 pgbench-18 4 ops_per_second", 12832.788929, "12832.788929"),
            ("s1 pgbench-18 script 1 4 ops_per_second", 11559.84043, "11559.840430"),
            ("s1 pgbench-18 script 1 4 errors_per_op", 2.0 / 115594.0, ""),
            ("s1 pgbench-18 script 2 4 latency_us_mean", 1646.0, "1.646"),
        ],
    );
}

#[test]
fn a_latency_of_pgbench_may_include_failures() {
    let text = text_of("pgbench.txt");
    let text = text.replacen("2.669 ms", "2.669 ms (including failures)", 1);
    let (_, found) = found("pgbench.txt", text.as_bytes()).unwrap();
    assert_eq!(found.warnings, []);
    let latency = values(&found)["s1 pgbench 4 latency_us_mean"].0;
    assert!((latency - 2669.0).abs() < 1e-9, "{latency}");
}

#[test]
fn a_test_of_pgbench_ends_after_its_last_long_transaction() {
    let text = "transaction type: q.sql\nnumber of clients: 2\nduration: 10 s\n\
                number of transactions actually processed: 2\n\
                latency average = 30000.000 ms\n\
                tps = 0.066667 (without initial connection time)\n";
    let (_, found) = found("long.txt", text.as_bytes()).unwrap();
    assert_eq!(found.warnings, []);
    let rate = values(&found)["s1 long 2 ops_per_second"].0;
    assert!((rate - 0.066_667).abs() < 1e-9, "{rate}");
}

#[test]
fn a_script_of_pgbench_without_transactions_is_left_out() {
    let text = text_of("pgbench-18.txt");
    let (before, _) = text.split_once(" - 12718 ").unwrap();
    let text = format!("{before} - 0 transactions (0.0% of total)\n");
    let (_, found) = found("pgbench-18.txt", text.as_bytes()).unwrap();
    let [warning] = found.warnings.as_slice() else { panic!("{:?}", found.warnings) };
    assert!(warning.reason.contains("no transactions"), "{}", warning.reason);
    let phases: BTreeSet<&str> =
        found.values.iter().map(|value| value.cell.phase.as_str()).collect();
    assert_eq!(phases.len(), 2, "all scripts together, and the first one: {phases:?}");
}

#[test]
fn reports_of_pgbench_behind_each_other_are_repetitions_with_their_conditions() {
    let one = text_of("pgbench-old.txt");
    let (_, found) = found("pgbench-old.txt", format!("{one}{one}").as_bytes()).unwrap();
    let rates: Vec<_> = found.values.iter().filter(|v| v.metric == "ops_per_second").collect();
    let reports: Vec<u32> = rates.iter().map(|v| v.cell.report).collect();
    assert_eq!(reports, [0, 1]);
    for (key, level) in [("query-mode", "simple"), ("transaction-type", "TPC-B (sort of)")] {
        assert!(rates.iter().all(|value| value.cell.levels[key] == level), "{key}");
    }
}
