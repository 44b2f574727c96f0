//! The Insert Benchmark end to end, with little data: rows are accounted for on every server, and a
//! server that stalls is told.

use crate::{
    failures,
    lab::{Lab, text},
    running::Running,
};
use std::{collections::BTreeMap, process::Command, time::Duration};

/// Rates are kept by servers of any speed here, but not by hosts that are busy otherwise: such a
/// step is marked, and the command ends with 1.
const DONE_OR_MISSED: [Option<i32>; 2] = [Some(0), Some(1)];

fn experiment(lab: &Lab, build: &str, more: &str) {
    // Each of two pieces has a second.
    let seconds = if more.contains("interleaved") { 2 } else { 1 };
    let text = format!(
        "question = \"are all rows there?\"\nsuite = \"insert-benchmark\"\nrows = 20000\n\
         blocks = 1\nrounds = 2\n{more}\n[parameters]\ninserted = 2000\nquery_seconds = {seconds}\n\
         settle_seconds = 1\nsettle_seconds_max = 5\n[factors]\nbuild = [{build}]\n"
    );
    lab.write("ibench.toml", &text);
}

/// Runs it and checks that every phase has its rows: a slice whose tables hold another number of
/// rows than the engine counted would have failed.
fn check(build: &str, more: &str) {
    let lab = Lab::with_small_logs();
    experiment(&lab, build, more);
    let output = lab.run(&["run", "ibench.toml", "--counts", "none", "--progress", "none"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(DONE_OR_MISSED.contains(&output.status.code()), "{build}\n{out}\n{err}");
    let mut phases = Vec::new();
    for slice in lab.slices() {
        // The rows with which l.x begins are inserted, and are no result.
        let state = if slice["phase"] == "l.x.rows" { "discarded" } else { "measured" };
        assert_eq!(slice["state"], state, "{build}: {slice}");
        assert_eq!(slice["work"]["unexpected"], 0, "{build}: {slice}");
        phases.push(slice["phase"].as_str().unwrap().to_owned());
    }
    for phase in ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr1000", "qp1000"] {
        assert!(phases.iter().any(|found| found == phase), "{build}: {phase} of {phases:?}");
    }
    indexes_take_room(&lab);
    let tables = lab.run(&["compare", "--insert-benchmark"]);
    assert!(DONE_OR_MISSED.contains(&tables.status.code()));
    assert!(text(&tables.stdout).contains("qp1000"), "{}", text(&tables.stdout));
}

/// Sizes of the tables at the ends of a phase's slices, by subject.
fn sizes(lab: &Lab, phase: &str) -> BTreeMap<String, u64> {
    let of_phase = lab.slices().into_iter().filter(|slice| slice["phase"] == phase);
    let size = |slice: &serde_json::Value| {
        let readings = slice["readings"].as_array().unwrap().iter();
        let mut sizes = readings.filter(|reading| reading["counter"] == "database_bytes");
        sizes.next().unwrap()["end"].as_f64().unwrap() as u64
    };
    of_phase.map(|slice| (slice["subject"].as_str().unwrap().to_owned(), size(&slice))).collect()
}

/// Three indexes on 20,000 rows have at least 16 bytes for each of their entries.
fn indexes_take_room(lab: &Lab) {
    let (before, after) = (sizes(lab, "l.i0"), sizes(lab, "l.x"));
    for (subject, size) in after {
        assert!(size > before[&subject] + 3 * 20_000 * 16, "{subject}: {before:?}, then {size}");
    }
}

#[test]
fn rows_are_accounted_for_step_by_step() {
    check("\"sqlite\", \"postgres@18\", \"mysql@9\"", "design = \"classic\"");
}

#[test]
fn rows_are_accounted_for_piece_by_piece() {
    check("\"postgres@11\", \"postgres@18\"", "design = \"interleaved\"");
}

/// Rows of all clients that the operations of one name changed in a step.
fn changed(slice: &serde_json::Value, op: &str) -> u64 {
    ops(slice)
        .filter(|found| found["name"] == op)
        .map(|op| op["rows_changed"].as_u64().unwrap())
        .sum()
}

/// One row for each part of a table.
const PARTS: &str = r#"
help = "The parts of the first table"
schema = "ibench"
[[op]]
name = "parts"
sql = "SELECT inhrelid FROM pg_inherits WHERE inhparent = 'pi1'::regclass"
sql_for.mysql = "SELECT partition_name FROM information_schema.partitions WHERE table_name = 'pi1'"
mode = "text"
expect = { rows = 4 }
"#;

/// Rows go into the first part and are deleted from it until the others hold them all.
const PARTITIONED: &str = r#"
help = "A queue that moves through the parts of its table"
order = "fixed"
tables = "clients"
[parameters]
partitions = 4
partition_rows = 700
[[phase]]
name = "fill"
workload = "ibench-load"
parameters = { inserts = "rows", batch = 100 }
[[phase]]
name = "index"
kind = "index"
group = "load"
[[phase]]
workload = "./parts.toml"
seconds = 1
[[phase]]
name = "churn"
workload = "ibench-churn"
parameters = { inserts = 1500, batch = 50 }
[[phase]]
kind = "settle"
floor_seconds = 0
ceiling_seconds = 60
[[phase]]
name = "point"
workload = "ibench-point"
parameters = { inserts_per_second = 100, query_seconds = 2 }
"#;

#[test]
fn tables_have_their_parts_on_servers_and_queues_move_through_them() {
    let lab = Lab::with_small_logs();
    lab.write("parts.toml", PARTS);
    lab.write("partitioned.toml", PARTITIONED);
    let lines = [
        "question = \"are there parts?\"",
        "suite = \"./partitioned.toml\"",
        "design = \"classic\"",
        "rows = 1000",
        "blocks = 1",
        "factors = { build = [\"postgres@18\", \"mysql@9\"] }",
    ];
    lab.write("mine.toml", &lines.join("\n"));
    let output = lab.run(&["run", "mine.toml", "--counts", "none", "--progress", "none"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(DONE_OR_MISSED.contains(&output.status.code()), "{out}\n{err}");
    let slices = lab.slices();
    assert_eq!(slices.len(), 2 * 5, "{out}\n{err}");
    for slice in &slices {
        assert_eq!(slice["state"], "measured", "{slice}");
        assert_eq!(slice["work"]["unexpected"], 0, "{slice}");
    }
    let churned = slices.iter().filter(|slice| slice["phase"] == "churn");
    assert!(churned.clone().all(|slice| changed(slice, "delete") == 1500), "{slices:?}");
}

const SETTLED: &str = r#"
help = "Rows, maintenance, queries"
order = "fixed"
tables = "clients"
[[phase]]
name = "fill"
workload = "ibench-load"
parameters = { inserts = "rows", batch = 100 }
[[phase]]
kind = "settle"
floor_seconds = 0
ceiling_seconds = 1
[[phase]]
name = "fill.more"
workload = "ibench-load"
parameters = { inserts = 100, batch = 100 }
"#;

/// A vacuum that sleeps for seconds after every few pages would take a minute and more.
#[test]
fn maintenance_is_cut_off_at_its_ceiling_in_both_designs_and_marked() {
    for design in ["classic", "interleaved"] {
        let lab = Lab::with_small_logs();
        lab.write("settled.toml", SETTLED);
        let lines = [
            "question = \"what is cut off?\"",
            "suite = \"./settled.toml\"",
            &format!("design = \"{design}\""),
            "rows = 20000",
            "blocks = 1",
            "rounds = 1",
            "factors = { build = [\"postgres@18\"], config = [\"slow\"] }",
            "[configs.slow]",
            "extends = \"base\"",
            "settings = { vacuum_cost_delay = 100, vacuum_cost_limit = 1, autovacuum = \"off\" }",
        ];
        lab.write("mine.toml", &lines.join("\n"));
        let output = lab.run(&["run", "mine.toml", "--counts", "none", "--progress", "none"]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(DONE_OR_MISSED.contains(&output.status.code()), "{design}\n{out}\n{err}");
        let slices = lab.slices();
        let marked = |phase: &str| {
            let mut of_phase = slices.iter().filter(|slice| slice["phase"] == phase);
            of_phase.next().unwrap()["marks"].to_string().contains(
                "`settle` reached its maximum \
                wait",
            )
        };
        assert!(!marked("fill") && marked("fill.more"), "{design}: {slices:?}\n{err}");
        let records = std::fs::read_dir(lab.path("dbdyno-results/records")).unwrap().flatten();
        let events = records.map(|record| record.path().join("events.jsonl"));
        let events: String = events.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        for part in ["INDEX_CLEANUP ON", "(cut off)", "pending before:", "log_since_checkpoint"] {
            assert!(events.contains(part), "{design}: {part} in {events}");
        }
    }
}

#[test]
fn sixteen_clients_on_few_cores_do_all_their_rows() {
    const CLIENTS: u64 = 16;
    let lab = Lab::with_small_logs();
    let lines = [
        "question = \"are all rows there?\"",
        "suite = \"insert-benchmark\"",
        "design = \"classic\"",
        "rows = 5000",
        "blocks = 1",
        "parameters = { inserted = 1000, query_seconds = 1, settle_seconds = 1 }",
        "factors = { build = [\"postgres@18\", \"mysql@9\"], clients = 16 }",
    ];
    lab.write("ibench.toml", &lines.join("\n"));
    let output = lab.run(&["run", "ibench.toml", "--counts", "none", "--progress", "none"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(DONE_OR_MISSED.contains(&output.status.code()), "{out}\n{err}");
    // Rows that each client inserts, step by step.
    let rows = [
        ("l.i0", 5000),
        ("l.i1", 800),
        ("l.i2", 200),
        ("qr100", 100),
        ("qp100", 100),
        ("qr500", 500),
        ("qp500", 500),
        ("qr1000", 1000),
        ("qp1000", 1000),
    ];
    let slices = lab.slices();
    for (phase, rows) in rows {
        let of_it: Vec<_> = slices.iter().filter(|slice| slice["phase"] == phase).collect();
        assert_eq!(of_it.len(), 2, "{phase}");
        for slice in of_it {
            assert_eq!(slice["state"], "measured", "{slice}");
            assert_eq!(slice["clients"], CLIENTS, "{slice}");
            assert_eq!(slice["work"]["errors"].as_array().unwrap().len(), 0, "{slice}");
            assert_eq!(changed(slice, "insert"), CLIENTS * rows, "{phase}");
            let deleted = changed(slice, "delete");
            let expected = if phase == "l.i0" { 0 } else { CLIENTS * rows };
            assert_eq!(deleted, expected, "{phase}");
        }
    }
    let tables = lab.run(&["compare", "--insert-benchmark"]);
    let told = text(&tables.stdout);
    assert!(told.contains("qp1000") && !told.contains("failed"), "{told}");
}

/// Stops a server for 3 s and again, from the first query step on until the last one has ended: one
/// that shuts down would never come to an end in the moments between.
fn stalls(build: &str) {
    let lab = failures::lab(build);
    let mut running = Running::start(&lab, failures::run(&lab, &[]));
    let (server, guest) = failures::mid_step(&mut running, " maintenance, at least");
    drop(guest);
    let measured = |line: &str| line.contains("] thds:") && line.contains(" qp100, slice ");
    while !running.is_over() && !running.said().lines().any(measured) {
        let tasks: Vec<String> =
            probe::process_tree(&[server.pid]).iter().map(ToString::to_string).collect();
        // Some may have ended since.
        let signal = |name: &str| Command::new("kill").arg(name).args(&tasks).output().unwrap();
        signal("-STOP");
        std::thread::sleep(Duration::from_secs(3));
        signal("-CONT");
        std::thread::sleep(Duration::from_millis(200));
    }
    let (code, said) = running.end();
    assert_eq!(code, Some(1), "{said}");
    let missed = |rule: &str| {
        let missed = said.lines().filter(|line| line.starts_with("missed:"));
        missed.filter(|line| line.contains(rule)).count()
    };
    assert!(missed("published rule") >= 1 && missed("strict rule") >= 1, "{said}");
    let slices = lab.slices();
    let steps = || slices.iter().filter(|slice| slice["phase"].as_str().unwrap().starts_with('q'));
    assert!(steps().all(|slice| slice["state"] == "measured"), "{slices:?}");
    let lags = steps().filter_map(|slice| slice["work"]["lag_us_max"].as_f64());
    assert!(lags.fold(0.0, f64::max) > 2e6, "{said}");
    // Of the first statement that was due in a stall, its own service time says as much; what was
    // due behind it only has the time from the intended start to tell.
    let long = steps().find(|slice| slice["phase"] == "qr100").unwrap();
    let inserts = || ops(long).filter(|op| op["name"] == "insert");
    let greatest = |time: &str, percentile: &str| {
        inserts().filter_map(|op| op[time][percentile].as_f64()).fold(0.0, f64::max)
    };
    let (response, service) = (greatest("response_us", "max"), greatest("service_us", "max"));
    assert!(response > 2e6 && response >= service, "{response} and {service} us: {said}");
    let (response, service) = (greatest("response_us", "p50"), greatest("service_us", "p50"));
    assert!(response > 1e6 && response > 2.0 * service, "{response} and {service} us: {said}");
}

fn ops(slice: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    slice["work"]["ops"].as_array().unwrap().iter()
}

#[test]
fn a_postgres_that_stalls_misses_both_rules_and_says_for_how_long() {
    stalls("postgres@18");
}

#[test]
fn a_mysql_that_stalls_misses_both_rules_and_says_for_how_long() {
    stalls("mysql@9");
}
