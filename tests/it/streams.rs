//! What surrounds the data: streams that are full or closed, folders that may not be read, Ctrl-C.

use crate::{
    errors::as_nobody,
    lab::{Lab, ends, text},
    running::{eventually, send},
};
use std::{
    fs::File,
    process::{Command, Stdio},
};

/// A run of a few seconds on the embedded engine, with one block.
const SHORT: [&str; 12] = [
    "run",
    "--counts",
    "none",
    "--set",
    "rows=1000",
    "--set",
    "blocks=1",
    "--set",
    "slice_seconds=0.05",
    "--only",
    "point-query",
    "--progress=none",
];

#[test]
fn a_full_stdout_is_named() {
    let lab = Lab::new();
    let commands: &[&[&str]] =
        &[&["list", "metrics"], &["--help"], &["run", "--help"], &["plan"], &["man"]];
    for arguments in commands {
        let full = File::create("/dev/full").unwrap();
        let (_, err) = ends(2, lab.command(arguments).stdout(full));
        assert!(err.starts_with("error: cannot write to stdout: No space"), "{arguments:?}: {err}");
    }
}

/// Runs a command whose reader has gone before it writes.
fn with_closed_stdout(mut command: Command) -> (Option<i32>, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).stderr(Stdio::piped()).output().unwrap();
    (output.status.code(), text(&output.stderr))
}

#[test]
fn a_closed_pipe_ends_quietly_and_hides_no_exit_code() {
    let lab = Lab::new();
    for arguments in [&["list", "metrics"][..], &["--help"], &["plan"]] {
        let found = with_closed_stdout(lab.command(arguments));
        assert_eq!(found, (Some(0), String::new()), "{arguments:?}");
    }
    let (code, err) = with_closed_stdout(lab.command(&SHORT));
    assert_eq!(code, Some(0), "{err}");
    assert!(lab.path("dbdyno-results/report.html").exists(), "{err}");
    // One block decides nothing.
    let (code, err) = with_closed_stdout(lab.command(&["compare", "--fail-on", "regression"]));
    assert_eq!(code, Some(3), "{err}");
}

#[test]
fn a_script_ends_with_its_reader_and_no_report_is_lost_without_a_word() {
    let lab = Lab::new();
    lab.write("x.lua", "function event() end");
    let endless = ["sysbench", "x.lua", "--time=0", "--report-interval=1", "run"];
    assert_eq!(with_closed_stdout(lab.command(&endless)), (Some(0), String::new()));
    let full = File::create("/dev/full").unwrap();
    let (_, err) = ends(2, lab.command(&endless).stdout(full));
    assert!(err.starts_with("error: cannot write to stdout: No space"), "{err}");
}

#[test]
fn a_folder_that_may_not_be_read_is_no_folder_without_results() {
    let lab = Lab::new();
    let locked = lab.path("locked");
    let Some(_) = as_nobody(&lab, &[]) else { return };
    lab.succeed(&[&SHORT[..], &["--results", "locked"]].concat());
    std::fs::remove_dir(lab.path("cache")).unwrap();
    for arguments in [
        &["compare", "--results", "locked"][..],
        &["report", "--results", "locked"],
        &["list", "runs", "--results", "locked"],
        &["export", "--format", "csv", "--out", "out", "--results", "locked"],
        &["run", "--results", "locked"],
    ] {
        let Some(command) = as_nobody(&lab, arguments) else { return };
        let (_, err) = ends(2, command);
        let reason = "belongs to user `root`, who does not let others in";
        assert!(err.contains("locked") && err.contains(reason), "{err}");
        assert!(!err.contains("holds no results"), "{err}");
        std::fs::remove_dir_all(lab.path("cache")).unwrap();
    }
    assert!(locked.exists());
}

#[test]
fn ctrl_c_prints_the_command_that_continues_the_run() {
    let lab = Lab::new();
    let catalog = lab.path("my catalog");
    std::fs::create_dir(&catalog).unwrap();
    let arguments = [
        "run",
        "quickstart",
        "--counts",
        "none",
        "--set",
        "blocks=4",
        "--set=rows=1000",
        "--set",
        "factors.config=[\"rollback\", \"wal\"]",
        "--set",
        "slice_seconds=0.5",
        "--only",
        "point-query",
        "--results",
        "it's here",
        "--catalog",
        "my catalog",
        "--progress=plain",
    ];
    let err = File::create(lab.path("stderr")).unwrap();
    let mut child = lab.command(&arguments).stdout(Stdio::null()).stderr(err).spawn().unwrap();
    let said = || std::fs::read_to_string(lab.path("stderr")).unwrap();
    eventually("two slices were measured", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
        (said().lines().filter(|line| line.contains("] thds:")).count() >= 2).then_some(())
    });
    send("-INT", &child.id().to_string());
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", said());
    let said = said();
    let command = said.lines().find_map(|line| line.split_once("Continue with: "));
    let command = command.unwrap_or_else(|| panic!("no command: {said}")).1;
    let words = in_shell(&lab, &format!("printf '%s\\n' {command}")).output().unwrap();
    let words = text(&words.stdout);
    let words: Vec<&str> = words.lines().collect();
    assert_eq!(words[1..3], ["run", "--resume"]);
    assert_eq!(words[3..], arguments[1..]);
    // Blocks that count otherwise compare with none of the others.
    let otherwise = command.replace("--counts none", "--counts emulated");
    assert_ne!(otherwise, command);
    let (_, err) = ends(2, in_shell(&lab, &otherwise));
    assert!(err.contains("was begun with `--counts none`"), "{err}");
    // It is a comparison all the same, and says that it is not whole.
    let shown = lab.succeed(&["compare", "--results", "it's here"]);
    let unfinished = "of 4 blocks complete: it still measures, or `--resume` continues it.";
    assert!(shown.contains(unfinished), "{shown}");
    ends(0, in_shell(&lab, command));
    let runs = lab.succeed(&["list", "runs", "--results", "it's here"]);
    assert_eq!(runs.lines().count(), 1, "{runs}");
    assert!(runs.contains("quickstart") && runs.contains("finished  4 of 4 blocks"), "{runs}");
}

/// A command line that was printed, as its reader executes it.
fn in_shell(lab: &Lab, line: &str) -> Command {
    let own = lab.command(&[]);
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(lab.path(""));
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn the_command_that_resumes_a_run_without_a_complete_block_works() {
    let lab = Lab::new();
    let arguments = ["run", "--counts", "none", "--set", "blocks=2", "--set", "rows=50000"];
    let arguments = [&arguments[..], &["--set", "slice_seconds=0.3", "--progress=plain"]].concat();
    let err = File::create(lab.path("stderr")).unwrap();
    let mut child = lab.command(&arguments).stdout(Stdio::null()).stderr(err).spawn().unwrap();
    let said = || std::fs::read_to_string(lab.path("stderr")).unwrap();
    eventually("the load began", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", said());
        said().contains("loading").then_some(())
    });
    send("-INT", &child.id().to_string());
    assert_eq!(child.wait().unwrap().code(), Some(130), "{}", said());
    let said = said();
    assert!(!said.contains("] thds:"), "nothing was measured yet: {said}");
    assert!(said.contains("interrupted; no block is complete. "), "{said}");
    let other = ["--set", "rows=40000", "--resume"];
    let reason = lab.refuses(&[&arguments[..], &other].concat());
    let expected = " differs in `rows` (50000 there, 40000 here), and began as `dbdyno run \
                    quickstart --set blocks=2 --set rows=50000 ";
    assert!(reason.contains(expected), "{reason}");
    let command = said.lines().find_map(|line| line.split_once("Continue with: "));
    let command = command.unwrap_or_else(|| panic!("no command: {said}")).1;
    ends(0, in_shell(&lab, command));
    let runs = lab.succeed(&["list", "runs"]);
    assert!(runs.lines().count() == 1 && runs.contains("finished  2 of 2 blocks"), "{runs}");
}

#[test]
fn ctrl_c_while_a_build_is_fetched_is_no_failure_of_its_registry() {
    let lab = Lab::new();
    let build = "factors.build = [\"mysql@5.6.24\"]";
    lab.write("old.toml", &["question = \"?\"", "suite = \"quick\"", build].join("\n"));
    // A terminal sends it to the client too, which gives up.
    let client = lab.write("npm", "#!/bin/sh\nkill -INT $PPID\nexit 1\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(client, mode).unwrap();
    let Some(mut command) = as_nobody(&lab, &["run", "old.toml"]) else { return };
    let search = std::env::var("PATH").unwrap();
    let search = format!("{}:{search}", lab.path("").display());
    let (_, said) = ends(130, command.env("PATH", search));
    assert!(said.contains("error: interrupted before anything was measured"), "{said}");
}

#[test]
fn files_of_the_catalog_are_shown_as_they_are() {
    let lab = Lab::new();
    let shown = |kind: &str, name: &str| lab.succeed(&["show", kind, name]);
    let quickstart = include_str!("../../experiments/quickstart.toml");
    assert_eq!(shown("experiment", "quickstart"), quickstart);
    assert_eq!(shown("suite", "quick"), include_str!("../../catalog/suites/quick.toml"));
    assert_eq!(shown("schema", "sbtest"), include_str!("../../catalog/schemas/sbtest.toml"));
    let base = include_str!("../../catalog/configs/mysql/base.toml");
    assert_eq!(shown("config", "mysql/base"), base);
    // A workload stays a workload file, with the SQL of each server as comments.
    let workload = shown("workload", "insert");
    assert!(workload.starts_with(include_str!("../../catalog/workloads/insert.toml")));
    assert!(workload.contains("#     INSERT INTO {table}"), "{workload}");
    lab.write("own.toml", &workload);
    lab.succeed(&["show", "workload", "./own.toml"]);
    let coded = shown("workload", "tpcc");
    assert!(coded.ends_with("# The operations are coded in Rust: see docs/tpcc.md\n"), "{coded}");
    for line in lab.succeed(&["list", "workloads"]).lines() {
        shown("workload", line.split_whitespace().next().unwrap());
    }
    for (kind, name, part) in [
        ("config", "base", "`mysql/base`"),
        ("config", "mysql/bsae", "`mysql/base`"),
        ("config", "mysql", "known: `mysql/adaptive-hash`, `mysql/base`"),
        ("suite", "quik", "`quick`"),
        ("schema", "./nowhere.toml", "nowhere.toml"),
    ] {
        let err = lab.refuses(&["show", kind, name]);
        assert!(err.contains(part), "`{part}` is not in: {err}");
    }
}
