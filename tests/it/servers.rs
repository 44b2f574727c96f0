//! Every server product, end to end, with little data: what must be right, whatever the speed.

use crate::{
    lab::{Lab, known, processes_naming, value},
    running::{eventually, send, up},
};

const WORKLOADS: [&str; 4] = ["point-query", "range-covered-pk", "update-nonindex", "insert"];

/// Runs the four workloads on the builds and checks what can be checked without a clock.
fn check(factors: &str, variants: &[&str]) {
    let lab = Lab::with_small_logs();
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
            let rate = known(&comparison, workload, variant, "ops_per_second");
            let Some(rate) = rate else { continue };
            assert!(rate > 0.0, "{variant} {workload}");
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

#[test]
fn up_says_what_it_does_and_how_to_connect_and_removes_all_at_ctrl_c() {
    for (build, client) in [("postgres@18", "psql -h /"), ("mysql@9", "mysql --no-defaults ")] {
        let lab = Lab::with_small_logs();
        let (mut child, line) = up(&lab, build);
        let said = || std::fs::read_to_string(lab.path("err")).unwrap();
        let folder = format!("/up-{}", child.id());
        assert!(!processes_naming(&folder).is_empty(), "the server's folder is `{folder}`");
        assert!(line.starts_with(client) && line.lines().count() == 1, "{line}");
        send("-INT", &child.id().to_string());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{}", said());
        let said = said();
        // Before them stand what was fetched, and what else runs on this host.
        let said: Vec<&str> = said.lines().rev().take(3).collect();
        let end = "Ctrl-C stops the server and removes its data";
        let [starting, initializing] =
            ["starting", "initializing"].map(|word| format!("{word} {build}"));
        assert_eq!(said, [end, &starting, &initializing]);
        eventually("nothing is left", || processes_naming(&folder).is_empty().then_some(()));
    }
}
