//! Every server product, end to end, with little data: what must be right, whatever the speed.

use crate::lab::{Lab, value};

const WORKLOADS: [&str; 4] = ["point-query", "range-covered-pk", "update-nonindex", "insert"];

/// Runs the four workloads on the builds and checks what can be checked without a clock.
fn check(factors: &str, variants: &[&str]) {
    let lab = Lab::new();
    let experiment = format!(
        "question = \"does every part work?\"\nsuite = \"quick\"\nrows = 20000\nblocks = 1\n\
         rounds = 3\nslice_seconds = 0.3\nwarmup_seconds = 0.1\n[factors]\n{factors}"
    );
    lab.write("small.toml", &experiment);
    lab.succeed(&["run", "small.toml", "--counts", "none", "--progress", "none"]);
    let comparison = lab.comparison();
    for variant in variants {
        for workload in WORKLOADS {
            let metric = |name: &str| value(&comparison, workload, variant, name);
            assert!(metric("ops_per_second").unwrap() > 0.0, "{variant} {workload}");
            assert_eq!(metric("errors_per_op"), Some(0.0), "{variant} {workload}");
            let rows = metric("rows_per_op").unwrap();
            let expected = if workload == "range-covered-pk" { 101.0 } else { 1.0 };
            assert!((rows - expected).abs() < 1.01, "{variant} {workload}: {rows} rows/op");
        }
    }
}

#[test]
fn postgres_11_beside_18() {
    let builds = "build = [\"postgres@11\", \"postgres@18\"]\n";
    check(builds, &["postgres-11", "postgres-18"]);
}

#[test]
fn mysql_5_6_beside_mysql_9() {
    check("build = [\"mysql@5.6.24\", \"mysql@9\"]\n", &["mysql-5.6.24", "mysql-9"]);
}

#[test]
fn mariadb_with_innodb_beside_myrocks() {
    check(
        "build = [\"mariadb@10.11.19\"]\nconfig = [\"innodb\", \"myrocks\"]\n",
        &["mariadb-10.11.19.innodb", "mariadb-10.11.19.myrocks"],
    );
}
