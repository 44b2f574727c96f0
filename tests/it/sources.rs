//! Builds from source: compiled by a run that needs them, told in records and lists, and refused in
//! one sentence where they cannot be.

use crate::lab::{Lab, known, text};
use std::process::Command;

const SHORT: &str = "
question = \"Does the release matter?\"
workloads = [\"point-query\"]
blocks = 1
rounds = 1
rows = 1000
slice_seconds = 0.1
warmup_seconds = 0.02
";

fn has(program: &str) -> bool {
    let has = Command::new(program).arg("--version").output().is_ok();
    if !has {
        println!("skipped: there is no {program}");
    }
    has
}

/// An old release and a tree of the user's, whose library is the same with one function more.
#[test]
fn a_release_and_a_tree_of_sqlite_are_compiled_and_measured() {
    if !has("gcc") || !has("cargo") || !has("git") {
        return;
    }
    let lab = Lab::new();
    let out = lab.succeed(&["install", "sqlite@3.24"]);
    let (name, folder) = out.trim().split_once('\t').unwrap();
    assert_eq!(name, "sqlite@3.24.0");
    let folder = std::path::Path::new(folder);
    assert!(
        folder.join("lib/libsqlite3.so").is_file() && folder.join("dbdyno-build.log").is_file()
    );

    let listed = lab.succeed(&["list", "builds", "sqlite@3.24.0"]);
    let line = listed.lines().find(|line| line.contains("rel: -O2 -g1")).unwrap();
    let parts =
        ["pinned by SHA-256; crate: libsqlite3-sys 0.9.4; installed: GCC ", "binary SHA-256 "];
    assert!(parts.iter().all(|part| line.contains(part)), "{line}");

    // A library that calls itself something else, from a repository.
    let tree = lab.path("tree");
    std::fs::create_dir(&tree).unwrap();
    let git = |words: &[&str]| {
        let own = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"];
        let output = Command::new("git").args(own).args(words).current_dir(&tree).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout).trim().to_owned()
    };
    git(&["init", "--quiet", "."]);
    std::fs::write(tree.join("sqlite3.h"), "").unwrap();
    std::fs::write(tree.join("sqlite3.c"), "const char sqlite3_version[] = \"3.24.9\";\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "no engine"]);
    let commit = git(&["rev-parse", "HEAD"]);

    let factors = "[factors]\nbuild = [\"sqlite@3.24\", \"sqlite\"]\n";
    lab.write("mine.toml", &format!("{SHORT}{factors}"));
    lab.succeed(&["run", "mine.toml", "--counts", "none"]);
    let headers = lab.of_records("trial.toml");
    let old = headers.iter().find(|text| text.contains("server_version = \"3.24.0\"")).unwrap();
    for part in ["source = \"crate\"", "packager = \"compiled here\"", "flags = \"rel: -O2 -g1\""] {
        assert!(old.contains(part), "{part}\n{old}");
    }
    assert!(!old.contains("binary_sha256 = \"\""), "{old}");
    let comparison = lab.comparison();
    for build in ["sqlite-3.24.0", "sqlite-bundled"] {
        let rate = known(&comparison, "point-query", build, "ops_per_second");
        assert!(rate.is_none_or(|rate| rate > 0.0), "{build}: {rate:?}");
    }

    // What is no engine is compiled all the same, and named where it is loaded.
    let own = format!(
        "{SHORT}[factors]\nbuild = [\"mine\"]\n[servers.mine]\nserver = \"sqlite\"\n\
         source = {{ git = \"tree\", rev = \"{commit}\" }}\nflags = \"-O1\"\n"
    );
    lab.write("own.toml", &own.replace(&commit, "v0"));
    let said = lab.refuses(&["plan", "own.toml"]);
    assert!(said.contains("has no such revision; name a tag, a branch or a commit"), "{said}");
    lab.write("own.toml", &own);
    let plan = lab.succeed(&["plan", "own.toml"]);
    assert!(plan.contains("sqlite compiled from git ") && plan.contains(&commit[..40]), "{plan}");
    let said = lab.refuses(&["run", "own.toml", "--counts", "none"]);
    assert!(said.contains("is no SQLite library of 3.20 or later"), "{said}");
    let listed = lab.succeed(&["list", "builds", &commit]);
    assert!(listed.starts_with("sqlite@3.24.9") && listed.contains(", -O1, commit "), "{listed}");
    let folder = listed.trim().rsplit_once(", in ").unwrap().1;
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_cannot_be_compiled_is_refused_in_one_sentence() {
    let lab = Lab::new();
    let check = |own: &str, expected: &str| {
        lab.write("own.toml", &format!("{SHORT}[factors]\n{own}"));
        let said = lab.refuses(&["plan", "own.toml"]);
        assert!(said.contains(expected), "{expected}\n{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    let mine = "build = [\"mine\"]\n[servers.mine]\nserver = \"sqlite\"\n";
    let own = |text: &str| format!("{mine}{text}\n");
    check(
        &own("source = { path = \"no\" }"),
        "the source `path no` does not exist; name the folder of a source tree",
    );
    check(&own("source = { git = \".\" }"), "`git` needs `rev`; add it");
    check(
        &own("source = { git = \"no\", rev = \"main\" }"),
        "the source `git no main` does not exist; name the folder of a repository, or its address",
    );
    check(
        &own("source = { crate = \"libsqlite3-sys\", version = \"0.30.1\" }")
            .replace("\"sqlite\"", "\"mysql\""),
        "holds a library, and mysql is a server; write `path`, `git` or `archive`",
    );
    check(&own("source = { path = \".\" }\nversion = \"3.46\""), "remove `version`: `source` says");
    check(&own("source = {}"), "a `source` has one of `path`");
    check(&own("version = \"3.46\"\nflags = \"fast\""), "`fast` is no set of flags: write `rel`");
    check(&own("version = \"3.46\"\ncompiler = \"nocc\""), "this host has no compiler `nocc`");
    let packaged = "`flags` and `compiler` are for builds from source";
    check("build = [\"postgres@18\"]\nflags = [\"rel\", \"rel_o3\"]\n", packaged);
    check("build = [\"postgres@18\"]\ncompiler = [\"gcc\"]\n", packaged);
    check("build = [\"sqlite@3.17\"]\n", "no known source has `sqlite@3.17`");
}

/// The log is where the message says.
#[test]
fn a_build_that_fails_ends_the_run_with_the_end_of_its_log() {
    if !has("gcc") {
        return;
    }
    let lab = Lab::new();
    std::fs::create_dir(lab.path("tree")).unwrap();
    lab.write("tree/sqlite3.h", "");
    lab.write("tree/sqlite3.c", "int broken( {\n");
    let own = format!(
        "{SHORT}[factors]\nbuild = [\"mine\"]\n[servers.mine]\nserver = \"sqlite\"\n\
         source = {{ path = \"tree\" }}\n"
    );
    lab.write("own.toml", &own);
    let said = lab.refuses(&["run", "own.toml", "--counts", "none"]);
    let start = said.find("cannot compile sqlite from path ").unwrap();
    let message = &said[start..];
    assert!(message.contains(": step 1 of 1, `gcc`: exit code 1; the log is `"), "{said}");
    let log = message.split('`').nth(3).unwrap();
    let kept = std::fs::read_to_string(log).unwrap();
    assert!(kept.contains("error: ") && message.contains("error: "), "{said}\n{kept}");
    std::fs::remove_file(log).unwrap();
}
