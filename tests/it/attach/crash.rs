//! Transactions that `kill -9` cuts off, of the client and of the server: on durable servers their
//! tables hold together.

use super::{CANARY, GOOD, MYSQL_USER, POSTGRES_USER, VARIABLE, away::Away, lab_with_text};
use crate::{lab::Lab, running::eventually};
use plan::Catalog;
use std::process::{Child, Stdio};

const EXPERIMENT: &str = r#"
question = "What is left of transactions?"
suite = "tpcc"
design = "classic"
blocks = 1
write_seconds = 600
warmup_seconds = 0.1
parameters = { warehouses = 1 }
[factors]
build = ["away"]
clients = [16]
[servers.away]
"#;

/// Orders of a district after the load.
const LOADED: u64 = 3000;

/// Starts transactions, and waits until some were committed.
fn begun(lab: &Lab, away: &Away) -> Child {
    let err = lab.path("stderr");
    let mut command = lab.command(&["run", "away.toml", "--progress", "plain"]);
    command.env(VARIABLE, CANARY).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(std::fs::File::create(&err).unwrap()).spawn().unwrap();
    eventually("orders are committed", || {
        let said = std::fs::read_to_string(&err).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{said}");
        (newest(away)? > LOADED + 5).then_some(())
    });
    child
}

/// The number of the newest order; none before the tables are there.
fn newest(away: &Away) -> Option<u64> {
    away.value_in("dbdyno_bench", "SELECT MAX(o_id) FROM orders").ok()??.parse().ok()
}

/// Every condition of the schema holds, and what was committed is there.
fn holds_together(away: &Away, committed: u64) {
    let schema = Catalog::embedded().unwrap().schema("tpcc").unwrap();
    assert_eq!(schema.checks.len(), 4);
    for check in &schema.checks {
        let violations = away.value_in("dbdyno_bench", &check.sql).unwrap();
        assert_eq!(violations.as_deref(), Some("0"), "{}", check.name);
    }
    let newest = newest(away).unwrap();
    assert!(newest >= committed, "the newest order is {newest}, and was {committed}");
}

fn survives(build: &str, settings: &[&str], user: &[&str]) {
    let mut away = Away::start(build, settings);
    away.execute(user);
    let lab = lab_with_text(&away, EXPERIMENT, GOOD);
    let mut child = begun(&lab, &away);
    child.kill().unwrap();
    child.wait().unwrap();
    let committed = newest(&away).unwrap();
    // The keeper ends the driver, and the server what its connections had begun.
    eventually("nobody is connected", || (away.connections("dbdyno_bench") == 0).then_some(()));
    holds_together(&away, committed);

    away.execute(&["DROP DATABASE dbdyno_bench"]);
    let lab = lab_with_text(&away, EXPERIMENT, GOOD);
    let mut child = begun(&lab, &away);
    let committed = newest(&away).unwrap();
    away.server.take().unwrap().kill();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    away.start_again();
    holds_together(&away, committed);
}

#[test]
fn transactions_cut_off_on_postgres_leave_tables_that_hold_together() {
    survives("postgres@18", &[], POSTGRES_USER);
}

#[test]
fn transactions_cut_off_on_mysql_leave_tables_that_hold_together() {
    survives("mysql@9", &["innodb_buffer_pool_size=256M"], MYSQL_USER);
}

#[test]
fn transactions_cut_off_on_mariadb_leave_tables_that_hold_together() {
    survives("mariadb@11.8", &["innodb_buffer_pool_size=256M"], MYSQL_USER);
}
