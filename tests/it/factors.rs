//! Factors that act on the start of a server, crossed in one experiment.

use crate::lab::{Lab, known, text};
use std::collections::BTreeSet;

const SHORT: &[&str] = &["run", "mine.toml", "--counts", "none"];

fn experiment(factors: &str) -> String {
    format!(
        "question = \"Does the way of starting matter?\"\nworkloads = [\"point-query\"]\n\
         rows = 1000\nblocks = 1\nrounds = 1\nslice_seconds = 0.1\nwarmup_seconds = 0.05\n\
         [factors]\n{factors}"
    )
}

#[test]
fn levels_are_crossed_and_reach_servers_and_embedded_engines() {
    let lab = Lab::with_small_logs();
    let factors = "build = [\"sqlite\", \"postgres@18\"]\nenvironment = [\"\", \"DBDYNO_TEST=1\"]\n\
                   cpu_set = [\"0\", \"all\"]\nprefix = [\"nice -n 1\"]\n";
    lab.write("mine.toml", &experiment(factors));
    lab.succeed(SHORT);
    let slices = lab.slices();
    let measured = slices.iter().filter(|slice| slice["state"] == "measured");
    let subjects: BTreeSet<&str> =
        measured.clone().map(|slice| slice["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects.len(), 8, "{subjects:?}");
    assert!(subjects.iter().any(|name| name.ends_with(".DBDYNO_TEST-1.0")), "{subjects:?}");
    assert!(subjects.iter().any(|name| name.ends_with(".no-environment.all")), "{subjects:?}");
    for slice in measured {
        assert_eq!(slice["levels"]["prefix"], "nice -n 1");
    }
}

#[test]
fn an_experiment_is_code_where_it_names_some() {
    let factors = "build = [\"sqlite\"]\nconfig = [\"base\", \"rollback\"]\n\
                   cpu_set = [\"0\", \"all\"]\n";
    for (more, expected) in [
        ("", false),
        ("prefix = [\"nice -n 1\"]\n", true),
        ("environment = [\"DBDYNO_TEST=1\"]\n", true),
    ] {
        let lab = Lab::with_small_logs();
        lab.write("mine.toml", &experiment(&format!("{factors}{more}")));
        // The product of the factors is refused before anything is started.
        let said = lab.refuses(&["run", "mine.toml", "--budget", "1ms"]);
        assert_eq!(said.contains("you trust its author"), expected, "{more}: {said}");
    }
}

#[test]
fn a_level_without_effect_ends_the_run_before_anything_is_loaded() {
    for build in ["sqlite", "postgres@18"] {
        let lab = Lab::with_small_logs();
        let factors = format!(
            "build = [\"{build}\"]\nenvironment = [\"\", \"DBDYNO_TEST=1\"]\n\
             prefix = [\"env -u DBDYNO_TEST\"]\n"
        );
        lab.write("mine.toml", &experiment(&factors));
        let output = lab.run(SHORT);
        let said = text(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("`environment` had no effect on `"), "{said}");
        assert!(said.contains("its process has no `DBDYNO_TEST=1`; check that"), "{said}");
        assert!(!said.contains("loading "), "{said}");
    }
}

#[test]
fn what_is_no_level_is_one_sentence_of_a_plan() {
    for (factor, level, parts) in [
        ("transport", "tls1.4", ["`tls1.4` is no transport", "`tls1.3`"]),
        ("memory", "lots", ["`lots` is no limit of memory", "`512M`"]),
        ("cpu_set", "first", ["`first` is no set of CPUs", "`0-3`"]),
        ("cpu_set", "0-8000", ["and `0-8000` names others: write some of these", "`all`"]),
        ("prefix", "no-such-program -x", ["no program `no-such-program` is in `", "whole path"]),
        ("allocator", "hoard", ["`hoard` is no allocator", "`jemalloc`"]),
    ] {
        let lab = Lab::with_small_logs();
        let factors = format!("build = [\"postgres@18\"]\n{factor} = [\"{level}\"]\n");
        lab.write("mine.toml", &experiment(&factors));
        let said = lab.refuses(&["plan", "mine.toml"]);
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn an_embedded_engine_has_no_transport() {
    let lab = Lab::with_small_logs();
    lab.write("mine.toml", &experiment("build = [\"sqlite\"]\ntransport = [\"tcp\"]\n"));
    let output = lab.run(&["plan", "mine.toml"]);
    let said = text(&output.stderr);
    assert!(said.contains("sqlite works inside the driver and has no transport"), "{said}");
}

/// What the head of each record says of a name among the settings.
fn told(lab: &Lab, name: &str) -> Vec<String> {
    let heads = lab.of_records("trial.toml");
    let line = |head: &String| {
        let value = head.lines().find_map(|line| line.strip_prefix(&format!("{name} = ")));
        value.unwrap_or_default().trim_matches('"').to_owned()
    };
    let mut found: Vec<String> = heads.iter().map(line).collect();
    found.sort();
    found
}

#[test]
fn encrypted_connections_are_measured_and_what_was_agreed_on_is_recorded() {
    for build in ["mysql@9", "postgres@18", "mariadb@10.11.19"] {
        let lab = Lab::with_small_logs();
        let factors = format!(
            "build = [\"{build}\"]\ntransport = [\"tcp\", \"tls1.2\", \"tls1.3\", \"tls\"]\n"
        );
        lab.write("mine.toml", &experiment(&factors));
        lab.succeed(SHORT);
        let slices = lab.slices();
        assert!(slices.iter().all(|slice| slice["state"] != "failed"), "{build}: {slices:?}");
        let newest = "TLS 1.3 with TLS_AES_256_GCM_SHA384";
        let older = "TLS 1.2 with TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
        assert_eq!(told(&lab, "encryption"), ["", older, newest, newest], "{build}");
    }
}

#[test]
fn a_server_without_tls_ends_the_run_before_anything_is_loaded() {
    for build in ["mysql@5.6.24", "mysql@5.5.9", "mariadb@10.1.23"] {
        let lab = Lab::with_small_logs();
        let factors = format!("build = [\"{build}\"]\ntransport = [\"tcp\", \"tls\"]\n");
        lab.write("mine.toml", &experiment(&factors));
        let output = lab.run(SHORT);
        let said = text(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("takes no connection with `transport = \"tls\"`"), "{said}");
        assert!(said.contains("the server offers no TLS"), "{said}");
        assert!(!said.contains("loading "), "{said}");
    }
}

#[test]
fn a_limit_of_memory_holds_and_a_server_that_reaches_it_is_named() {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root makes control groups that limit memory");
        return;
    }
    let lab = Lab::with_small_logs();
    lab.write(
        "mine.toml",
        &experiment("build = [\"postgres@18\"]\nmemory = [\"unlimited\", \"1G\"]\n"),
    );
    let output = lab.run(SHORT);
    let said = text(&output.stderr);
    if said.contains("no control group of this host can limit memory") {
        println!("skipped: this host cannot limit memory");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    lab.write("mine.toml", &experiment("build = [\"mysql@5.6.24\"]\nmemory = [\"32M\"]\n"));
    let output = lab.run(SHORT);
    let said = text(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("limit of its memory"), "{said}");
    assert!(said.contains("raise `memory`") && !said.contains("loading "), "{said}");
    // Its shared buffers are larger than the limit, and the load fills them.
    lab.write("mine.toml", &experiment("build = [\"postgres@18\"]\nmemory = [\"160M\"]\n"));
    let said = lab.refuses(&[SHORT, &["--set", "rows=800_000"]].concat());
    assert!(said.contains("loading ") && said.contains("limit of its memory, 160 MiB"), "{said}");
}

#[test]
fn what_servers_count_of_themselves_is_recorded_and_a_metric_by_its_name() {
    for (build, counter, every) in [
        ("postgres@18", "table.sbtest1.heap_blks_hit", 1.0),
        ("postgres@18", "index.sbtest1_pkey.idx_blks_hit", 2.0),
        ("mysql@5.6.24", "status.Innodb_rows_read", 1.0),
        ("mariadb@10.11.19", "status.Com_stmt_execute", 1.0),
    ] {
        let lab = Lab::with_small_logs();
        lab.write("mine.toml", &experiment(&format!("build = [\"{build}\"]\n")));
        lab.succeed(SHORT);
        let out = lab.succeed(&["compare", "--format", "json", "--metric", counter]);
        let found = known(&serde_json::from_str(&out).unwrap(), "point-query", "", counter);
        let Some(found) = found else { continue };
        // The statements that ask for it are counted too.
        assert!((found / every - 1.0).abs() < 0.1, "{build} {counter}: {found}");
        let output = lab.run(&["compare", "--metric", "status.no_such_counter"]);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(said.contains("no record has a counter `status.no_such_counter`"), "{said}");
    }
}
