//! Servers under emulation: counts of any version, and what follows where one cannot be emulated.

use crate::lab::{Lab, ends, text};
use std::{os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

const MINE: &str = "question = \"How many?\"\nworkloads = [\"point-query\", \"insert\"]\n\
                    rows = 2000\nblocks = 1\nrounds = 1\nslice_seconds = 0.1\n\
                    warmup_seconds = 0.05\n[factors]\n";

/// The end of a counter of the serving task in each slice of a phase.
fn counters(lab: &Lab, phase: &str, counter: &str) -> Vec<f64> {
    let slices = lab.slices().into_iter().filter(|slice| slice["phase"] == phase);
    let of_slice = slices.flat_map(|slice| slice["readings"].as_array().unwrap().clone());
    let own = of_slice.filter(|one| one["scope"] == "foreground" && one["counter"] == counter);
    own.map(|reading| reading["end"].as_f64().unwrap()).collect()
}

/// What a run says whose instructions are counted under emulation; none, with the reason printed,
/// where this host has no emulator.
fn emulated(lab: &Lab, progress: &str) -> Option<String> {
    let output = lab.run(&["run", "mine.toml", "--counts", "emulated", "--progress", progress]);
    let said = text(&output.stderr);
    if said.contains("there is no `qemu-x86_64`") {
        println!("skipped: {said}");
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some(said)
}

/// Postgres before 16 works in its signal handlers, whose stacks QEMU 7.2 does not align. MariaDB
/// 10.5 brings a glibc that is older than this host's.
#[test]
fn old_and_new_servers_are_counted_over_many_operations() {
    let lab = Lab::with_small_logs();
    lab.write(
        "mine.toml",
        &format!("{MINE}build = [\"postgres@11\", \"postgres@18\", \"mariadb@10.5\"]\n"),
    );
    let Some(said) = emulated(&lab, "none") else { return };
    for (phase, range) in [("point-query", 25_000.0..75_000.0), ("insert", 50_000.0..300_000.0)] {
        let instructions = counters(&lab, phase, "emulated_user_instructions");
        let operations = counters(&lab, phase, "emulated_operations");
        assert_eq!((instructions.len(), operations.len()), (3, 3), "{phase}: {said}");
        for (instructions, operations) in instructions.iter().zip(&operations) {
            let each = instructions / operations;
            // A busy host does fewer in the time that there is.
            assert!(*operations >= 20.0 && range.contains(&each), "{phase}: {operations} {each}");
        }
    }
}

/// A search that looks at all 10,000 rows takes 64 multiplications for each, and millions of
/// instructions.
#[test]
fn searches_are_counted_with_the_index_that_a_phase_has_built() {
    let lab = Lab::with_small_logs();
    let text_of = MINE.replace("workloads = [\"point-query\", \"insert\"]", "suite = \"vectors\"");
    let factors = "build = [\"postgres@18\"]\nconfig = [\"vectors\"]\nm = [16]\nef = [10]\n";
    lab.write("mine.toml", &format!("{text_of}{factors}"));
    let Some(said) = emulated(&lab, "none") else { return };
    let instructions = counters(&lab, "vector-search", "emulated_user_instructions");
    let operations = counters(&lab, "vector-search", "emulated_operations");
    assert_eq!((instructions.len(), operations.len()), (1, 1), "{said}");
    let each = instructions[0] / operations[0];
    assert!((20_000.0..2_000_000.0).contains(&each), "{each}");
}

/// A `qemu-x86_64` in a folder of its own that everybody can enter, which emulates all programs
/// but `postgres`; none where there is no emulator.
fn refusing(lab: &Lab) -> Option<PathBuf> {
    let found = Command::new("sh").args(["-c", "command -v qemu-x86_64"]).output().unwrap();
    let emulator = text(&found.stdout).trim().to_owned();
    if emulator.is_empty() {
        println!("skipped: there is no `qemu-x86_64`");
        return None;
    }
    let script = lab.write(
        "qemu-x86_64",
        &format!(
            "#!/bin/sh\ncase \"$*\" in */bin/postgres*) echo not here >&2; exit 1;; esac\n\
             exec {emulator} \"$@\"\n"
        ),
    );
    let open = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    open(&script);
    open(script.parent().unwrap());
    Some(script.parent().unwrap().to_owned())
}

#[test]
fn no_server_is_counted_if_one_cannot_be_emulated() {
    let lab = Lab::with_small_logs();
    let Some(folder) = refusing(&lab) else { return };
    lab.write("mine.toml", &format!("{MINE}build = [\"sqlite\", \"postgres@18\"]\n"));
    let run = |counts: &[&str]| {
        let words = ["run", "mine.toml", "--only", "point-query", "--progress", "plain"];
        let mut command = lab.command(&[&words[..], counts].concat());
        let path = std::env::var("PATH").unwrap();
        ends(0, command.env("PATH", format!("{}:{path}", folder.display()))).1
    };
    let said = run(&[]);
    if !counters(&lab, "point-query", "user_instructions").is_empty() {
        println!("skipped: this host has hardware counters");
        return;
    }
    assert!(said.contains("no instructions are counted: "), "{said}");
    assert!(said.contains("not here"), "{said}");
    assert!(counters(&lab, "point-query", "emulated_user_instructions").is_empty());
    // What is asked for stays, and the rest of the run is unharmed.
    std::fs::remove_dir_all(lab.path("dbdyno-results")).unwrap();
    run(&["--counts", "emulated"]);
    let slices = lab.slices();
    assert_eq!(slices.len(), 2 + 2, "measured and discarded");
    let marked = |slice: &&serde_json::Value| {
        slice["subject"].as_str().unwrap().starts_with("postgres")
            && slice["marks"].to_string().contains("not counted by emulation")
    };
    assert_eq!(slices.iter().filter(marked).count(), 1, "{slices:?}");
}

#[test]
fn phases_that_differ_in_clients_alone_are_counted_once() {
    let lab = Lab::with_small_logs();
    lab.write("mine.toml", &format!("{MINE}build = [\"postgres@18\"]\nclients = [1, 4]\n"));
    let Some(said) = emulated(&lab, "plain") else { return };
    assert_eq!(said.matches("counting instructions of").count(), 2, "{said}");
    for workload in ["point-query", "insert"] {
        let of = |clients: u32| {
            let phase = format!("{workload}.clients{clients}");
            counters(&lab, &phase, "emulated_user_instructions")
        };
        assert_eq!(of(1).len(), 1, "{workload}: {said}");
        assert_eq!(of(1), of(4), "{workload}");
    }
    let compared = lab.run(&["compare"]);
    let warned = text(&compared.stderr);
    assert!(warned.contains("under emulation, on one connection"), "{warned}");
}
