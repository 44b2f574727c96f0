//! The tests of all crates, two programs at a time: those of the whole wait for servers for longer
//! than they compute, and cargo would execute the programs of the other crates before or after.

use crate::{repository::root, say};
use anyhow::{Context, anyhow, ensure};
use serde_json::Value;
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The program that tests the whole, with real servers.
const WHOLE: &str = "it";

/// Tests at a time of the whole, and of each other program beside it.
const AT_ONCE: [u32; 2] = [5, 2];
/// Failed tests of a program that are executed once more, alone. A verdict of a real server is
/// wrong at a stated rate, and a host whose other tenants are busy may starve a server for seconds;
/// neither happens twice in a row to a test that nothing disturbs. More failures are no chance.
const MOST_AGAIN: usize = 4;

/// A test program that is built.
#[derive(Debug, PartialEq, Eq)]
struct Program {
    name: String,
    executable: PathBuf,
    /// Folder of its crate, where cargo would execute it.
    folder: PathBuf,
}

impl Program {
    fn is_whole(&self) -> bool {
        self.name == WHOLE && self.folder == root()
    }

    /// Its tests, so many at a time.
    fn command(&self, at_once: u32) -> Command {
        let mut command = Command::new(&self.executable);
        command.current_dir(&self.folder).arg(format!("--test-threads={at_once}"));
        command
    }

    /// Executes it; its lines are shown as they come.
    fn shown(&self, command: &mut Command) -> anyhow::Result<Outcome> {
        let failed = || format!("cannot execute the tests `{}`", self.name);
        let mut child = command.stdout(Stdio::piped()).spawn().with_context(failed)?;
        let mut text = String::new();
        for line in child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()) {
            let line = line.with_context(failed)?;
            say(&line);
            text.push_str(&line);
            text.push('\n');
        }
        Ok(Outcome { text, is_good: child.wait().with_context(failed)?.success() })
    }

    /// Executes it; its lines are shown later.
    fn kept(&self, at_once: u32) -> anyhow::Result<Outcome> {
        let output = self.command(at_once).stdin(Stdio::null()).output();
        let output = output.with_context(|| format!("cannot execute the tests `{}`", self.name))?;
        let [out, errors] =
            [&output.stdout, &output.stderr].map(|one| String::from_utf8_lossy(one));
        let folder = self.folder.display();
        let text = format!("tests `{}` in {folder}\n{out}{errors}", self.name);
        Ok(Outcome { text, is_good: output.status.success() })
    }
}

/// What the tests of a program said.
struct Outcome {
    text: String,
    is_good: bool,
}

impl Outcome {
    /// The names of the tests that failed, from the list at the end; none where the program ended
    /// before it.
    fn failed(&self) -> Vec<&str> {
        let (_, listed) = self.text.rsplit_once("\nfailures:\n").unwrap_or_default();
        listed.lines().map_while(|line| line.strip_prefix("    ")).collect()
    }

    /// Why tests failed; all that was said where the program ended before it told that.
    fn failures(&self) -> Option<&str> {
        let told = self.text.split_once("\nfailures:\n").map_or(&*self.text, |(_, why)| why);
        (!self.is_good).then_some(told)
    }
}

/// Executes all that `cargo test --workspace --no-run` has built, also after one that failed, and
/// then alone what measures time, and what failed beside others. Why tests failed is said once more
/// at the end, where it is seen.
pub(super) fn execute() -> anyhow::Result<()> {
    let (whole, others): (Vec<Program>, Vec<Program>) =
        programs()?.into_iter().partition(Program::is_whole);
    let whole = whole.first().context("the tests of the whole are not built")?;
    let [of_whole, of_others] = AT_ONCE;
    let (first, beside) = std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            others.iter().map(|one| one.kept(of_others)).collect::<anyhow::Result<Vec<_>>>()
        });
        let first = whole.shown(&mut whole.command(of_whole));
        let beside = beside.join().map_err(|_| anyhow!("the tests of other crates were cut off"));
        (first, beside)
    });
    let mut all = vec![(whole, first?)];
    for (program, outcome) in others.iter().zip(beside??) {
        say(&outcome.text);
        all.push((program, outcome));
    }
    say("executing the tests that measure time, which nothing may disturb");
    all.push((whole, whole.shown(whole.command(1).arg("--ignored"))?));
    let mut are_good = true;
    for (program, outcome) in all.iter().filter(|(_, outcome)| !outcome.is_good) {
        let is_good = passes_alone(program, outcome)?;
        outcome.failures().into_iter().for_each(say);
        let passed = outcome.failed().join(", ");
        if is_good {
            say(&format!("passed alone, after the failure above: {passed}"));
        }
        are_good &= is_good;
    }
    ensure!(are_good, "tests failed");
    Ok(())
}

/// Whether the few tests that failed pass when they are executed once more and alone.
fn passes_alone(program: &Program, outcome: &Outcome) -> anyhow::Result<bool> {
    let failed = outcome.failed();
    if failed.is_empty() || failed.len() > MOST_AGAIN {
        return Ok(false);
    }
    say(&format!("executing once more, alone: {}", failed.join(", ")));
    let mut command = program.command(1);
    command.args(["--exact", "--include-ignored"]).args(failed);
    Ok(program.shown(&mut command)?.is_good)
}

/// The test programs, by what cargo says of them.
fn programs() -> anyhow::Result<Vec<Program>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["test", "--workspace", "--no-run", "--message-format=json"];
    let output = Command::new(cargo)
        .args(arguments)
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot execute cargo")?;
    ensure!(output.status.success(), "the tests cannot be built");
    let said = String::from_utf8(output.stdout).context("cargo's messages are no text")?;
    Ok(said.lines().filter_map(program).collect())
}

/// The test program of a message of cargo, if it is about one.
fn program(line: &str) -> Option<Program> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["profile"]["test"] != true {
        return None;
    }
    Some(Program {
        name: message["target"]["name"].as_str()?.to_owned(),
        executable: message["executable"].as_str()?.into(),
        folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_known_from_messages() {
        let message = |test: bool| {
            let target = r#""manifest_path":"/a/Cargo.toml","target":{"name":"x"}"#;
            format!(r#"{{{target},"profile":{{"test":{test}}},"executable":"/t/x-1"}}"#)
        };
        let expected =
            Program { name: "x".to_owned(), executable: "/t/x-1".into(), folder: "/a".into() };
        assert_eq!(program(&message(true)), Some(expected));
        assert_eq!(program(&message(false)), None);
        assert_eq!(program("warning"), None);
    }

    #[test]
    fn few_failed_tests_have_a_second_chance_and_many_have_none() {
        let program = |name: &str| Program {
            name: name.to_owned(),
            executable: name.into(),
            folder: "/".into(),
        };
        let outcome = |count: usize| Outcome {
            text: format!("x\nfailures:\n{}", "    a\n".repeat(count)),
            is_good: false,
        };
        let passes = |name, count| passes_alone(&program(name), &outcome(count)).unwrap();
        assert!(passes("true", 1) && passes("true", MOST_AGAIN));
        assert!(!passes("false", 1), "it fails again");
        assert!(!passes("true", 0), "the program ended before it told its failures");
        assert!(!passes("true", MOST_AGAIN + 1));
    }

    #[test]
    fn why_tests_failed_is_cut_out_of_what_they_said() {
        let failures = |text: &str, is_good| {
            Outcome { text: text.to_owned(), is_good }.failures().map(str::to_owned)
        };
        let said =
            "test a ... FAILED\n\nfailures:\n\n---- a stdout ----\nwhy\n\nfailures:\n    a\n";
        let why = "\n---- a stdout ----\nwhy\n\nfailures:\n    a\n";
        assert_eq!(failures(said, false).as_deref(), Some(why));
        assert_eq!(failures("killed", false).as_deref(), Some("killed"));
        let outcome = |text: &str| Outcome { text: text.to_owned(), is_good: false };
        let two = format!("{said}    b::c\n\ntest result: FAILED. 1 passed; 2 failed\n");
        assert_eq!(outcome(&two).failed(), ["a", "b::c"]);
        assert_eq!(outcome("killed").failed(), [""; 0]);
        assert_eq!(failures(said, true), None);
    }
}
