//! Factors that act on the start of a server, crossed in one experiment.

use crate::lab::{Lab, text};
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
    let lab = Lab::new();
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
fn a_level_without_effect_ends_the_run_before_anything_is_loaded() {
    for build in ["sqlite", "postgres@18"] {
        let lab = Lab::new();
        // The kernel keeps the CPUs that it has, and says nothing.
        let factors = format!("build = [\"{build}\"]\ncpu_set = [\"all\", \"0,8000\"]\n");
        lab.write("mine.toml", &experiment(&factors));
        let output = lab.run(SHORT);
        let said = text(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{said}");
        assert!(said.contains("`cpu_set` had no effect on `"), "{said}");
        assert!(said.contains("instead of `0,8000`"), "{said}");
        assert!(!said.contains("loading "), "{said}");
    }
}

#[test]
fn an_embedded_engine_has_no_transport() {
    let lab = Lab::new();
    lab.write("mine.toml", &experiment("build = [\"sqlite\"]\ntransport = [\"tcp\"]\n"));
    let output = lab.run(&["plan", "mine.toml"]);
    let said = text(&output.stderr);
    assert!(said.contains("sqlite works inside the driver and has no transport"), "{said}");
}
