//! Tables and doctor's findings on terminals of several widths, as `script` gives them one.

use crate::lab::{Lab, text};
use std::path::Path;

/// The output of a command on a terminal of so many columns; none where there is no `script`.
fn on_terminal(lab: &Lab, columns: usize, arguments: &str) -> Option<String> {
    if std::process::Command::new("script").arg("--version").output().is_err() {
        println!("skipped: this host has no `script`, which gives a command a terminal");
        return None;
    }
    let inner =
        format!("stty rows 24 cols {columns}; {} {arguments}", env!("CARGO_BIN_EXE_dbdyno"));
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &inner, "/dev/null"]);
    command.current_dir(lab.path("")).env("TERM", "xterm").env_remove("COLUMNS");
    let output = command.output().unwrap();
    Some(text(&output.stdout).replace('\r', ""))
}

/// Characters that a terminal shows: without colors.
fn visible(line: &str) -> usize {
    let mut rest = line;
    let mut count = 0;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        count += before.chars().count();
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    count + rest.chars().count()
}

#[test]
fn an_archive_of_forty_seven_variants_fits_terminals_of_all_widths() {
    let archive =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/archives/nov25.maria.sb");
    if !archive.is_dir() {
        println!("skipped: the archive nov25.maria.sb is not beside this repository");
        return;
    }
    let lab = Lab::new();
    lab.succeed(&["import", &archive.display().to_string()]);
    for columns in [40, 80, 120, 200] {
        let Some(out) = on_terminal(&lab, columns, "compare") else { return };
        let long: Vec<&str> = out.lines().filter(|line| visible(line) > columns).collect();
        assert_eq!(long, Vec::<&str>::new(), "{columns} columns");
        // The answer comes first, and its variants have numbers that the tables use.
        assert!(out.lines().nth(2).is_some_and(|line| line.starts_with("Compared with ")), "{out}");
        assert!(out.contains("\nwarning: "), "{columns} columns");
    }
    let output = lab.run(&["compare"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let warnings = err.lines().filter(|line| line.starts_with("warning: ")).count();
    assert!(
        out.contains(&format!("\n{warnings} warnings, below the tables or on stderr.\n")),
        "{err}"
    );
    assert!(!out.contains("warning: "), "{out}");
}

#[test]
fn findings_of_doctor_fit_the_terminal_and_their_sum_has_its_own_line() {
    let lab = Lab::new();
    let Some(out) = on_terminal(&lab, 60, "doctor") else { return };
    assert!(out.lines().all(|line| visible(line) <= 60), "{out}");
    let sum = text(&lab.run(&["doctor"]).stdout);
    let last = sum.lines().last().unwrap_or_default();
    assert!(last.contains(" checks: "), "{sum}");
}

#[test]
fn a_plan_fits_terminals_of_all_widths() {
    let lab = Lab::new();
    let whole = lab.succeed(&["plan", "sysbench-classic"]);
    // Long names are broken behind a full stop too.
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    for columns in [20, 40, 80] {
        let Some(out) = on_terminal(&lab, columns, "plan sysbench-classic 2> /dev/null") else {
            return;
        };
        let is_long = |line: &&str| visible(line) > columns && line.trim().contains(' ');
        let long: Vec<&str> = out.lines().filter(is_long).collect();
        assert_eq!(long, Vec::<&str>::new(), "{columns} columns");
        assert!(out.lines().count() > whole.lines().count(), "{columns} columns");
        assert_eq!(letters(&out), letters(&whole), "{columns} columns");
    }
}

#[test]
fn columns_of_the_environment_hold_for_pipes_and_terminals() {
    let lab = Lab::new();
    let of = |columns: &str, arguments: &[&str]| {
        text(&lab.command(arguments).env("COLUMNS", columns).output().unwrap().stdout)
    };
    let plan = ["plan", "sysbench-classic"];
    let whole = lab.succeed(&plan);
    assert!(whole.lines().any(|line| visible(line) > 60));
    for unset in ["", "0", "wide"] {
        assert_eq!(of(unset, &plan), whole, "`{unset}`");
    }
    let narrow = of("60", &plan);
    let is_long = |line: &&str| visible(line) > 60 && line.trim().contains(' ');
    assert_eq!(narrow.lines().filter(is_long).collect::<Vec<_>>(), Vec::<&str>::new());
    let findings = of("60", &["doctor"]);
    assert!(findings.lines().all(|line| visible(line) <= 60), "{findings}");
    if let Some(out) = on_terminal(&lab, 120, "plan sysbench-classic 2> /dev/null") {
        assert!(out.lines().any(|line| visible(line) > 60), "{out}");
    }
}
