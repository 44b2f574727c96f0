//! `run --sysbench-report`: what programs that read sysbench's output read of ours.

use crate::lab::{Lab, is_lost, known};

const EXPERIMENT: &str = "
question = \"What does a transaction's end cost?\"
workloads = [\"oltp_read_write\"]
rows = 2000
blocks = 1
rounds = 1
slice_seconds = 0.3
warmup_seconds = 0
[parameters]
range_size = 10
[factors]
build = [\"sqlite\"]
skip_trx = [0, 1]
";

/// Word number `field`, from 1, of the line that holds `pattern`, of which there is one: `grep |
/// awk`.
fn field(report: &str, pattern: &str, field: usize) -> f64 {
    let mut lines = report.lines().filter(|line| line.contains(pattern));
    let line = lines.next().unwrap_or_else(|| panic!("no `{pattern}` in\n{report}"));
    assert_eq!(lines.next(), None, "`{pattern}` twice");
    let word = line.split_whitespace().nth(field - 1).unwrap_or_default();
    let word = word.trim_start_matches('(').trim_end_matches('s');
    word.parse().unwrap_or_else(|_| panic!("`{word}` in `{line}` is no number"))
}

#[test]
fn the_report_of_a_run_is_read_as_that_of_sysbench() {
    let lab = Lab::with_small_logs();
    lab.write("mine.toml", EXPERIMENT);
    let out = lab.succeed(&["run", "mine.toml", "--counts", "none", "--sysbench-report"]);
    let comparison = lab.comparison();
    // The table comes after the last report.
    let parts = out.split("dbdyno ").filter(|part| part.contains("SQL statistics:"));
    let reports: Vec<&str> =
        parts.map(|part| part.split("execution time").next().unwrap()).collect();
    assert_eq!(reports.len(), 2, "one of each slice\n{out}");
    for (report, (name, others)) in reports.iter().zip([("skip_trx0", 2.0), ("skip_trx1", 0.0)]) {
        let phase = format!("oltp_read_write.{name}");
        assert!(report.lines().next().unwrap().contains(&phase), "{report}");
        assert_eq!(field(report, "Number of threads:", 4), 1.0);
        let events = field(report, "total number of events:", 5);
        assert!(events > 0.0);
        let counts = ["read:", "write:", "other:"].map(|word| field(report, word, 2));
        assert_eq!(counts, [14.0, 4.0, others].map(|each| each * events), "{report}");
        assert_eq!(field(report, " total:", 2), (18.0 + others) * events);
        assert_eq!(field(report, "transactions:", 2), events);
        assert_eq!(field(report, "queries:", 2), (18.0 + others) * events);
        let seconds = field(report, "total time:", 3);
        assert!((field(report, "transactions:", 3) * seconds / events - 1.0).abs() < 0.01);
        // The same as in the tables, as far as both are printed.
        if is_lost(&comparison, &phase) {
            continue;
        }
        let measured = |metric| {
            let rows = comparison["bases"].as_array().unwrap();
            let own = |row: &&serde_json::Value| row["phase"] == phase && row["metric"] == metric;
            rows.iter().find(own).and_then(|row| row["value"].as_f64()).unwrap()
        };
        let near = |printed: f64, value: f64| assert!((printed - value).abs() <= 0.01, "{report}");
        near(field(report, "transactions:", 3), measured("transactions_per_second"));
        near(field(report, "queries:", 3), measured("queries_per_second"));
        near(field(report, "95th percentile:", 3), measured("latency_us_p95") / 1000.0);
    }
}

const DEFINITIONS: &str = "
question = \"What is an operation?\"
workloads = [\"scan\", \"delete\"]
rows = 20000
blocks = 1
rounds = 2
slice_seconds = 0.25
warmup_seconds = 0
[factors]
build = [\"postgres@18\"]
clients = [2]
";

#[test]
fn both_definitions_of_a_rate_stand_beside_each_other() {
    let lab = Lab::with_small_logs();
    lab.write("mine.toml", DEFINITIONS);
    let out = lab.succeed(&["run", "mine.toml", "--counts", "none"]);
    let comparison = lab.comparison();
    let is_there = |workload| known(&comparison, workload, "postgres", "ops_per_second").is_some();
    if !["scan", "delete"].into_iter().all(is_there) {
        return;
    }
    let of = |workload: &str, metric: &str| {
        let found = known(&comparison, workload, "postgres", metric);
        found.unwrap_or_else(|| panic!("{workload} has no {metric}\n{out}"))
    };
    let (all, one) = (of("scan", "rows_per_second"), of("scan", "rows_per_client_per_second"));
    assert!((all / one - 2.0).abs() < 1e-9, "{all} by two clients, {one} by each");
    assert_eq!(of("scan", "ops_per_second"), all);
    // Far more deletes than rows: most find nothing.
    let (queries, effective) =
        (of("delete", "queries_per_second"), of("delete", "effective_ops_per_second"));
    assert!(effective < queries, "{effective} of {queries}");
    let (each, effective_each) =
        (of("delete", "server_cpu_us_per_op"), of("delete", "server_cpu_us_per_effective_op"));
    let share = each / effective_each * queries / effective;
    assert!((share - 1.0).abs() < 1e-6, "{each} and {effective_each}");
    for words in ["rows per client", "effective ops", "server cpu per effective op"] {
        let heads: Vec<&str> = words.split(' ').collect();
        assert!(heads.iter().all(|word| out.contains(word)), "no `{words}` in\n{out}");
    }
    assert!(out.contains("before and since April 2025"), "{out}");
    assert!(out.contains("Statements that may match no row"), "{out}");
}
