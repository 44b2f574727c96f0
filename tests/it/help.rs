//! What the binary says when somebody asks for help or mistypes: the texts themselves are compared
//! with `tests/help` beside the commands.

use crate::lab::{Lab, text};

fn said(arguments: &[&str]) -> (Option<i32>, String, String) {
    let lab = Lab::new();
    let output = lab.command(arguments).env("COLUMNS", "80").output().unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn every_way_to_ask_for_help_gives_it() {
    let all = include_str!("../help/dbdyno.txt");
    for words in ["help", "--help", "-h"] {
        assert_eq!(said(&[words]), (Some(0), all.to_owned(), String::new()));
    }
    assert_eq!(said(&[]), (Some(2), String::new(), all.to_owned()));
    let run = include_str!("../help/run.txt");
    assert_eq!(said(&["run", "--help"]), (Some(0), run.to_owned(), String::new()));
    assert_eq!(said(&["help", "run"]), (Some(0), run.to_owned(), String::new()));
}

#[test]
fn mistyped_words_suggest_the_nearest() {
    let cases: &[(&[&str], &str)] = &[
        (&["rnu"], "unknown command `rnu`; did you mean `run`?"),
        (&["comapre"], "did you mean `compare`?"),
        (&["zebra"], "known: `run`, `plan`"),
        (&["quickstart"], "use `dbdyno run quickstart`"),
        (&["my own.toml"], "use `dbdyno run 'my own.toml'`"),
        (&["run", "--resluts", "x"], "'--results'"),
        (&["list", "serves"], "'servers'"),
        (&["compare", "--format", "jsno"], "'json'"),
    ];
    for (arguments, part) in cases {
        let (code, out, err) = said(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(part), "{arguments:?}: `{part}` is not in: {err}");
        assert!(!err.contains("`keep`"), "hidden commands stay hidden: {err}");
    }
}

#[test]
fn completions_and_manual_pages_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let (code, script, err) = said(&["completions", shell]);
        assert_eq!(code, Some(0), "{err}");
        for word in ["compare", "sysbench-report", "results"] {
            assert!(script.contains(word), "{shell}: `{word}` is missing");
        }
        assert!(!script.contains("drive"), "{shell}: hidden commands stay hidden");
        let Some(mut check) = interpreter(shell) else { continue };
        let lab = Lab::new();
        let file = lab.write("script", &script);
        let output = check.arg("-n").arg(file).output().unwrap();
        assert!(output.status.success(), "{shell}: {}", text(&output.stderr));
    }
    let (code, page, err) = said(&["man"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(page.contains(".TH dbdyno 1") && page.contains("dbdyno\\-compare"), "{page}");
    let (code, page, err) = said(&["man", "run"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(page.contains("sysbench\\-report") && page.contains("Examples:"), "{page}");
}

/// The shell itself, which checks a script's syntax; `None` where it is not installed.
fn interpreter(shell: &str) -> Option<std::process::Command> {
    let mut version = std::process::Command::new(shell);
    if version.arg("--version").output().is_ok() {
        return Some(std::process::Command::new(shell));
    }
    println!("skipped: {shell} is not installed, its script is not parsed");
    None
}
