//! Bad input: one clear sentence and exit code 2, as tables.

use crate::lab::{Lab, text};
use std::{os::unix::process::CommandExt, process::Command};

/// Lines of an experiment, and parts of the sentence that refuses it.
struct Case {
    name: &'static str,
    lines: &'static [&'static str],
    parts: &'static [&'static str],
}

const QUESTION: &str = "question = \"?\"";
const SUITE: &str = "suite = \"quick\"";
const SQLITE: &str = "factors.build = [\"sqlite\"]";

const CASES: &[Case] = &[
    Case {
        name: "unknown key",
        lines: &[QUESTION, SUITE, "row = 1000", SQLITE],
        parts: &["bad.toml:3", "`row`", "`rows`"],
    },
    Case {
        name: "unknown server",
        lines: &[QUESTION, SUITE, "factors.build = [\"mysqll@9\"]"],
        parts: &["`mysqll`", "`mysql`"],
    },
    Case {
        name: "unknown workload",
        lines: &[QUESTION, "workloads = [\"point-qery\"]", SQLITE],
        parts: &["`point-qery`", "`point-query`"],
    },
    Case {
        name: "version that does not exist",
        lines: &[QUESTION, SUITE, "factors.build = [\"postgres@8.1\"]"],
        parts: &["8.1", "postgres", "`basedir`"],
    },
    Case {
        name: "a base folder that is none",
        lines: &[
            QUESTION,
            SUITE,
            "factors.build = [\"mine\"]",
            "servers.mine = { server = \"mysql\", basedir = \"/nowhere/at/all\" }",
        ],
        parts: &["/nowhere/at/all"],
    },
    Case { name: "not TOML", lines: &["<html>no</html>"], parts: &["bad.toml:1"] },
    Case {
        name: "no space",
        lines: &[QUESTION, SUITE, "rows = 900_000_000_000", SQLITE],
        parts: &["no space", "MiB"],
    },
    Case {
        name: "an unknown demand",
        lines: &[QUESTION, SUITE, "require = [\"speed\"]", SQLITE],
        parts: &["`speed`", "`perf`"],
    },
];

/// The sentence that a command must fail with, with exit code 2 and no panic.
fn refusal(command: &mut Command, name: &str) -> String {
    let output = command.output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{name}: {err}");
    let errors: Vec<&str> = err.lines().filter(|line| line.starts_with("error: ")).collect();
    assert_eq!(errors.len(), 1, "{name}: {err}");
    assert!(!err.contains("panicked"), "{name}: {err}");
    errors[0].to_owned()
}

#[test]
fn bad_input_gives_one_clear_sentence_and_exit_code_2() {
    for case in CASES {
        let lab = Lab::new();
        lab.write("bad.toml", &case.lines.join("\n"));
        let err = refusal(&mut lab.command(&["run", "bad.toml"]), case.name);
        for part in case.parts {
            assert!(err.contains(part), "{}: `{part}` is not in: {err}", case.name);
        }
    }
}

#[test]
fn arguments_that_name_nothing_are_named() {
    let cases: &[(&[&str], &str)] = &[
        (&["run", "nowhere.toml"], "nowhere.toml"),
        (&["plan", "quickstrat"], "`quickstart`"),
        (&["show", "workload", "point-qery"], "`point-query`"),
        (&["install", "mysqll@9"], "`mysqll`"),
        (&["up", "sqlite"], "embedded"),
        (&["compare"], "dbdyno-results"),
        (&["run", "--resume"], "no unfinished run"),
        (&["run", "--set", "rows=many"], "rows"),
        (&["run", "--only", "point-qery"], "`point-qery`"),
    ];
    for (arguments, part) in cases {
        let lab = Lab::new();
        let err = refusal(&mut lab.command(arguments), &format!("{arguments:?}"));
        assert!(err.contains(part), "{arguments:?}: `{part}` is not in: {err}");
    }
}

#[test]
fn a_results_folder_that_is_a_file_is_named() {
    let lab = Lab::new();
    let file = lab.write("taken", "a file");
    let file = file.to_string_lossy();
    let err = refusal(&mut lab.command(&["run", "--results", &file]), "results");
    assert!(err.contains("taken"), "{err}");
}

/// A command as a user without rights and with a cache of its own; `None` where that is impossible.
fn as_nobody(lab: &Lab, arguments: &[&str]) -> Option<Command> {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return None;
    }
    let cache = lab.path("cache");
    std::fs::create_dir(&cache).unwrap();
    for folder in [lab.path("."), cache.clone()] {
        std::os::unix::fs::chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let mut command = lab.command(arguments);
    command.uid(NOBODY).gid(NOBODY).env("XDG_CACHE_HOME", &cache).env("HOME", &cache);
    Some(command)
}

#[test]
fn a_registry_that_cannot_be_reached_is_said_with_the_remedy() {
    let lab = Lab::new();
    let Some(mut command) = as_nobody(&lab, &["install", "mysql@5.6.24"]) else { return };
    command.env("npm_config_registry", "http://127.0.0.1:9/").env("npm_config_fetch_retries", "0");
    let err = refusal(&mut command, "registry");
    assert!(err.contains("mysql") && err.contains("`basedir`"), "{err}");
}

#[test]
fn perf_that_is_demanded_and_not_permitted_ends_the_run_before_it_starts() {
    let lab = Lab::new();
    let lines = [QUESTION, SUITE, "require = [\"perf\"]", SQLITE];
    lab.write("bad.toml", &lines.join("\n"));
    if probe::permission() != probe::Permission::Full {
        let err = refusal(&mut lab.command(&["run", "bad.toml"]), "perf");
        assert!(err.contains("requires `perf`") && err.contains("perf_event_paranoid"), "{err}");
        return;
    }
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap();
    if paranoid.trim().parse::<i32>().unwrap() < 2 {
        println!("skipped: this host permits perf to everybody");
        return;
    }
    let Some(mut command) = as_nobody(&lab, &["run", "bad.toml"]) else { return };
    let err = refusal(&mut command, "perf");
    assert!(err.contains("requires `perf`") && err.contains("perf_event_paranoid"), "{err}");
}
