//! Attached servers whose costs an agent reads.

use super::{
    CANARY, EXPERIMENT, GOOD, MYSQL_USER, POSTGRES_USER, away::Away, lab_at, refused, run,
};
use crate::{
    lab::{Lab, known, processes_naming, text, value},
    running::{eventually, send},
    secrets::files_with,
};
use std::{fs, path::PathBuf};

const BINARY: &str = env!("CARGO_BIN_EXE_dbdyno");

/// How far apart the same server's costs may be, over a socket and over TLS, one after the other,
/// on a host where other tests run and whose processors are at times three times slower. A wrong
/// unit is a thousand times apart.
const FACTOR: f64 = 10.0;

/// The keys of `attach` with an agent that is started by these words.
fn with_agent(words: &[&str]) -> String {
    format!("{GOOD}, agent = {words:?}")
}

/// Measures a server that is there, and one of the same build that dbdyno starts.
fn has_costs(away: &Away, build: &str) {
    let address = format!("host = \"127.0.0.1\", port = {}", away.port());
    let lab = Lab::with_small_logs();
    lab.write("ca.pem", away.certificate());
    let attach = with_agent(&[BINARY, "agent"]);
    let text = EXPERIMENT.replace("build = [\"away\"]", &format!("build = [{build:?}, \"away\"]"));
    lab.write("away.toml", &format!("{text}attach = {{ {address}, {attach} }}\n"));
    let output = run(&lab).output().unwrap();
    let said = super::text_of(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("away: the agent sees `"), "{said}");
    let comparison = lab.comparison();
    let of =
        |workload: &str, subject: &str, metric: &str| known(&comparison, workload, subject, metric);
    let is_more = |found: Option<f64>, least: f64| found.is_none_or(|found| found > least);
    // What writes cost depends on settings, which are others here.
    assert!(is_more(of("update-nonindex", "away", "server_cpu_us_per_op"), 0.0), "{said}");
    for workload in ["point-query", "range-covered-pk"] {
        let costs =
            [&build.replace('@', "-"), "away"].map(|it| of(workload, it, "server_cpu_us_per_op"));
        if let [Some(own), Some(away)] = costs {
            let are_near = away < own * FACTOR && own < away * FACTOR;
            assert!(own > 0.0 && are_near, "{workload} {own} {away}");
        }
        assert!(is_more(of(workload, "away", "server_rss_mib_peak"), 1.0), "{said}");
    }
    let slices = lab.slices();
    let measured = |slice: &&serde_json::Value| slice["subject"] == "away";
    for slice in slices.iter().filter(measured).filter(|slice| slice["state"] == "measured") {
        let count = |scope: &str, counter: &str| {
            let readings = slice["readings"].as_array().unwrap();
            let is = |one: &&serde_json::Value| one["scope"] == scope && one["counter"] == counter;
            readings.iter().filter(is).count()
        };
        for (scope, counter) in [
            ("server", "write_bytes"),
            ("foreground", "cpu_ns"),
            ("background", "cpu_ns"),
            ("client", "cpu_ns"),
            ("host", "host_cpu_ns"),
            ("host", "others_cpu_ns"),
            ("host", "window_ns"),
        ] {
            let clock = if counter == "cpu_ns" { count(scope, "task_clock_ns") } else { 0 };
            assert!([1, 2].contains(&(count(scope, counter) + clock)), "{scope} {counter} {slice}");
            assert!(count(scope, counter) < 2, "{scope} {counter} {slice}");
        }
    }
    let trials = lab.of_records("trial.toml").concat();
    assert!(trials.contains("[agent]\n"), "{trials}");
    assert_eq!(files_with(&lab.path(""), CANARY), Vec::<PathBuf>::new());
    assert_eq!(away.databases(), None);
    assert!(away.server.as_ref().unwrap().is_alive());
}

#[test]
fn costs_of_postgres_are_those_of_the_same_server_started_here() {
    let away = Away::start("postgres@18", &["shared_buffers=64MB"]);
    away.execute(POSTGRES_USER);
    has_costs(&away, "postgres@18");
}

#[test]
fn costs_of_mysql_are_those_of_the_same_server_started_here() {
    let away = Away::start("mysql@9", &["innodb_buffer_pool_size=64M"]);
    away.execute(MYSQL_USER);
    has_costs(&away, "mysql@9");
}

#[test]
fn an_agent_that_cannot_work_is_one_sentence_and_leaves_nothing() {
    let away = Away::start("postgres@18", &[]);
    away.execute(POSTGRES_USER);
    let check = |words: &[&str], parts: &[&str]| {
        let lab = lab_at(&away, &with_agent(words));
        let output = run(&lab).output().unwrap();
        refused(&lab, &output, parts);
        refused(&lab, &output, &["the agent of `away`: "]);
        let errors = text(&output.stderr).lines().filter(|line| line.contains("error:")).count();
        assert_eq!((errors, away.databases()), (1, None), "{words:?}");
    };
    check(&["no-such-program", "agent"], &["there is no program `no-such-program`"]);
    check(&["sh", "-c", "echo no route to host >&2; exit 255"], &["`no route to host`"]);
    check(&["echo", "welcome"], &["first line is `welcome`", "`dbdyno` and `agent`"]);
    let other = r#"echo '{"dbdyno":"99.0.0"}'"#;
    check(&["sh", "-c", other], &["it is dbdyno 99.0.0 and this is dbdyno ", "on both hosts"]);
    // A host on which nobody listens there.
    let apart = std::process::Command::new("unshare").args(["-n", "true"]).status();
    if !apart.is_ok_and(|status| status.success()) {
        println!("skipped: a network of its own needs CAP_SYS_ADMIN");
        return;
    }
    let port = format!("port {}", away.port());
    check(&["unshare", "-n", BINARY, "agent"], &[&port, "nobody listens there"]);
}

#[test]
fn costs_that_an_agent_may_not_see_stay_unknown_with_one_warning() {
    let nobody = ["runuser", "-u", "nobody", "--", BINARY];
    let may = std::process::Command::new(nobody[0]).args(&nobody[1..]).arg("--version").output();
    if !may.is_ok_and(|output| output.status.success()) {
        println!("skipped: no other user of this host can be given the agent");
        return;
    }
    let away = Away::start("postgres@18", &[]);
    away.execute(POSTGRES_USER);
    let words: Vec<&str> = nobody.into_iter().chain(["agent"]).collect();
    let lab = lab_at(&away, &with_agent(&words));
    let output = run(&lab).args(["--only", "point-query"]).output().unwrap();
    let said = super::text_of(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("may not see the process that listens at port").count(), 1, "{said}");
    assert!(!said.contains("the agent sees"), "{said}");
    let comparison = lab.comparison();
    for metric in ["server_cpu_us_per_op", "host_cpu_us_per_op"] {
        assert_eq!(value(&comparison, "point-query", "away", metric), None, "{metric}");
    }
    let slices = lab.of_records("slices.jsonl").concat();
    for counter in ["host_cpu_ns", "others_cpu_ns"] {
        assert!(!slices.contains(counter), "{counter} holds what the server does: {slices}");
    }
    assert!(slices.contains("steal_ns"), "{slices}");
}

#[test]
fn a_run_goes_on_without_an_agent_that_was_killed_and_starts_another() {
    let away = Away::start("postgres@18", &[]);
    away.execute(POSTGRES_USER);
    let (_folder, name) = own_name();
    let lab = lab_at(&away, &with_agent(&[&name, "agent"]));
    let out = fs::File::create(lab.path("stderr")).unwrap();
    let mut command = run(&lab);
    command.args(["--set", "read_seconds=6", "--only", "point-query,range-covered-pk"]);
    let mut child = command.stdout(std::process::Stdio::null()).stderr(out).spawn().unwrap();
    let said = || fs::read_to_string(lab.path("stderr")).unwrap();
    eventually("a slice is measured", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
        let working = "SELECT 1 FROM pg_stat_activity WHERE usename = 'bench' \
                       AND datname = 'dbdyno_bench' AND query LIKE 'SELECT c FROM%'";
        said().contains("away is up").then(|| away.value(working)).flatten()
    });
    // Beyond what is discarded at the start, and long before the end on a busy host.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let agents = processes_naming(&name);
    assert_eq!(agents.len(), 1, "{agents:?}");
    send("-KILL", &agents[0].to_string());
    assert_eq!(child.wait().unwrap().code(), Some(2), "{}", said());
    let slices = lab.slices();
    let failed = |slice: &&serde_json::Value| slice["state"] == "failed";
    let reasons: Vec<String> =
        slices.iter().filter(failed).map(|slice| slice["reason"].to_string()).collect();
    assert!(reasons.len() == 1 && reasons[0].contains("the agent of `away`"), "{reasons:?}");
    let costs = slices.iter().filter(|slice| slice["phase"] == "range-covered-pk").any(|slice| {
        slice["readings"].as_array().unwrap().iter().any(|one| one["scope"] == "foreground")
    });
    assert!(costs, "another agent was started: {}", said());
    assert_eq!(away.databases(), None);
    eventually("no agent is left", || processes_naming(&name).is_empty().then_some(()));
}

/// A name of the binary that no other test knows its agents by.
fn own_name() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("dbdyno-there");
    std::os::unix::fs::symlink(BINARY, &name).unwrap();
    (folder, name.to_str().unwrap().to_owned())
}

#[test]
fn an_agent_ends_with_its_run() {
    let away = Away::start("postgres@18", &[]);
    away.execute(POSTGRES_USER);
    let (_folder, name) = own_name();
    let lab = lab_at(&away, &with_agent(&[&name, "agent"]));
    let mut command = run(&lab);
    let quiet = std::process::Stdio::null;
    command.args(["--set", "read_seconds=60"]).stdout(quiet()).stderr(quiet());
    let mut child = command.spawn().unwrap();
    eventually("the agent runs", || (!processes_naming(&name).is_empty()).then_some(()));
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("the agent has ended", || processes_naming(&name).is_empty().then_some(()));
}
