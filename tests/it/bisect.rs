//! Which setting, and which revision, a change came with.

use crate::lab::{Lab, text};
use std::{path::Path, process::Command};

const EXPERIMENT: &str = r#"
question = "Since when do inserts take longer?"
workloads = ["insert"]
rows = 2000
blocks = 4
rounds = 1
slice_seconds = 0.1
warmup_seconds = 0.02
factors.build = ["sqlite"]
factors.config = ["c1", "c2", "c3", "c4", "c5", "c6"]
[configs.c1]
extends = "wal"
[configs.c2]
extends = "wal"
settings = { cache_size = -1000001 }
[configs.c3]
extends = "wal"
settings = { cache_size = -1000002 }
[configs.c4]
extends = "base"
settings = { cache_size = -1000003 }
[configs.c5]
extends = "base"
settings = { cache_size = -1000004 }
[configs.c6]
extends = "base"
settings = { cache_size = -1000005 }
"#;

/// What commits with the rollback journal do more often, on a busy host as on a quiet one.
const METRIC: &str = "write_calls_per_op";

const WORDS: [&str; 13] = [
    "bisect",
    "mine.toml",
    "--over",
    "config",
    "--good",
    "c1",
    "--bad",
    "c6",
    "--metric",
    METRIC,
    "--counts",
    "none",
    "--progress=none",
];

fn runs(lab: &Lab) -> usize {
    std::fs::read_dir(lab.path("dbdyno-results/bisect/runs")).map_or(0, Iterator::count)
}

#[test]
fn the_setting_that_changed_a_test_is_found_and_nothing_is_measured_twice() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let (out, err) = lab.ends(0, &WORDS);
    assert!(out.contains("`c4` changed `write_calls_per_op` of `insert`"), "{out}\n{err}");
    assert!(out.contains("`c3` before it does not have the change"), "{out}");
    assert!(out.contains("dbdyno explain") && out.contains("Both ends: ratio"), "{out}");
    // The records are all that the search remembers.
    let before = runs(&lab);
    let again = lab.run(&WORDS);
    assert_eq!((text(&again.stdout), runs(&lab)), (out, before));
    // The folder of a bisection is none of the runs that are compared.
    assert_eq!(lab.succeed(&["list", "runs"]).trim(), "");
}

#[test]
fn ends_that_do_not_differ_and_wrong_usage_are_one_sentence() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let refused = |words: &[&str], expected: &str| {
        let said = lab.refuses(&[&["bisect", "mine.toml"], words].concat());
        assert!(said.contains(expected), "{said}");
    };
    let over = ["--over", "config", "--good", "c1"];
    refused(&[&over[..], &["--bad", "c9"]].concat(), "`c9` is no level of `factors.config`");
    refused(&[&over[..], &["--bad", "c1"]].concat(), "the ends are the same");
    let one = ["--bad", "c6", "--set", "blocks=1"];
    refused(&[&over[..], &one].concat(), "`--set blocks=4` gives it more");
    refused(&["--over", "clients", "--good", "1", "--bad", "2"], "needs no start of its own");
    refused(&["--over", "colour", "--good", "1", "--bad", "2"], "`--over colour`: unknown factor");
    let memory = ["--over", "memory", "--good", "1G", "--bad", "2G"];
    refused(&memory, "the experiment has no factor `memory`: add `factors.memory`");
    refused(
        &[&over[..], &["--bad", "c6", "--test", "inset"]].concat(),
        "`--test inset`: unknown test; did you mean `insert`?",
    );
    let two = ["--good", "sqlite", "--bad", "postgres@18"];
    refused(&two, "`postgres@18` is no level of `factors.build`; there are: `sqlite`");
    refused(&["--good", "a", "--bad", "b", "--source", "."], "--build");
    refused(&["--good", "3.24.0", "--bad", "3.46.0"], "write `sqlite@3.24.0`");
    assert!(!lab.path("dbdyno-results").exists(), "nothing is left behind");
}

#[test]
fn a_metric_without_values_and_an_end_that_fails_end_the_search() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let refused = |lab: &Lab, words: &[&str], expected: &str| {
        let said = lab.refuses(words);
        assert!(said.contains(expected) && !said.contains("is skipped"), "{said}");
        said.contains("you trust its author")
    };
    let words = WORDS.map(|word| if word == METRIC { "lag_us_max" } else { word });
    let missing = " has no values of `lag_us_max` in `insert` for its ends: `--metric ";
    assert!(!refused(&lab, &words, missing));
    assert_eq!(runs(&lab), 1);

    let other = Lab::new();
    other.write("broken.so", "no library");
    let (head, _) = EXPERIMENT.split_once("factors.build").unwrap();
    let builds = "factors.build = [\"sqlite\", \"middle\", \"broken\"]\n\
                  servers.middle = { server = \"sqlite\" }\n\
                  servers.broken = { server = \"sqlite\", basedir = \"broken.so\" }\n";
    other.write("mine.toml", &format!("{head}{builds}"));
    let words = ["bisect", "mine.toml", "--good", "sqlite", "--bad", "broken", "--counts", "none"];
    assert!(refused(&other, &words, "the end `broken` cannot be measured: "), "it is code");
}

fn git(folder: &Path, words: &[&str]) {
    let own = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").arg("-C").arg(folder).args(own).args(words).output().unwrap();
    assert!(output.status.success(), "{words:?} {}", text(&output.stderr));
}

/// Commits that each replace the library by one of the host's SQLite, if it has one: all of equal
/// code, so that nothing is left to measure.
#[test]
fn revisions_of_equal_code_are_not_measured() {
    let libraries = ["/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/lib64/libsqlite3.so.0"];
    let library = libraries.iter().find(|path| Path::new(path).is_file());
    let (Some(library), true) = (library, Command::new("git").arg("--version").output().is_ok())
    else {
        println!("skipped: git and a SQLite library are needed");
        return;
    };
    let lab = Lab::new();
    lab.write("mine.toml", &EXPERIMENT.replace("factors.config", "factors.config = [\"base\"] #"));
    let repository = lab.path("tree");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q"]);
    for commit in ["one", "two"] {
        std::fs::write(repository.join("file"), commit).unwrap();
        git(&repository, &["add", "file"]);
        git(&repository, &["commit", "-q", "-m", commit]);
    }
    let build = format!("cp {library} $PREFIX/libsqlite3.so.0");
    let words = ["bisect", "mine.toml", "--good", "HEAD~1", "--bad", "HEAD", "--source", "tree"];
    let words = [&words[..], &["--server", "sqlite", "--build", &build]].concat();
    let said = lab.refuses(&words);
    assert!(said.contains("both ends are the same code"), "{said}");
    // Before anything is built.
    let refused = |set: &str, expected: &str| {
        let said = lab.refuses(&[&words[..], &["--set", set]].concat());
        assert!(said.contains(expected) && !said.contains("building "), "{said}");
    };
    refused("factors.flags=[\"rel\"]", "take `flags` out of the experiment's factors");
    refused("factors.clients=[1, 2]", "write `--set factors.clients=[LEVEL]`");
    assert_eq!(runs(&lab), 0);
}
