//! `dbdyno plan` of damaged files: exit code 0 or 2, in bounded time and memory.

use crate::{lab::text, mutant};
use std::{
    collections::BTreeMap,
    path::Path,
    process::Command,
    sync::Mutex,
    time::{Duration, Instant},
};

/// Files that are damaged, unless others are asked for.
const MUTANTS: u64 = 100;

/// Address space, KiB.
const MEMORY_KIB: u64 = 500 << 10;

/// When a plan that does not end is killed, seconds. Far beyond what any takes.
const KILL_SECONDS: u64 = 60;

/// What happened to all mutants.
#[derive(Default)]
struct Tally {
    exits: BTreeMap<i32, u64>,
    /// Time of the slowest and its number.
    slowest: (Duration, u64),
    failures: Vec<String>,
}

/// Plans one mutant. The error says what is wrong with how it ended.
fn plan(mutant: &mutant::Mutant, folder: &Path) -> (i32, Result<(), String>) {
    // A version that was damaged is not to be looked for in registries: no program is found.
    let alone = "env PATH=/nonexistent \"$@\"";
    let limited = format!("ulimit -v {MEMORY_KIB}; exec timeout -s KILL {KILL_SECONDS} {alone}");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_dbdyno"), "plan"]);
    command.arg(&mutant.experiment).arg("--catalog").arg(&mutant.catalog);
    let output = command.current_dir(folder).env("DBDYNO_ANNOUNCEMENTS", folder).output().unwrap();
    let code = output.status.code().unwrap_or(-1);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let control = |text: &str| text.chars().any(|letter| letter.is_control() && letter != '\n');
    let right = match code {
        0 => !out.is_empty(),
        2 => err.contains("error: ") && !err.contains("panicked"),
        _ => false,
    };
    match right && !control(&out) && !control(&err) {
        true => (code, Ok(())),
        false => (code, Err(format!("exit code {code}\n{err}\n{out}"))),
    }
}

#[test]
fn damaged_files_are_planned_or_refused_in_bounded_time_and_memory() {
    let numbers = mutant::numbers(MUTANTS);
    let count = numbers.end - numbers.start;
    let originals = mutant::originals();
    let (tally, next) = (Mutex::new(Tally::default()), Mutex::new(numbers));
    let worker = || {
        let lab = tempfile::tempdir().unwrap();
        loop {
            let Some(seed) = next.lock().unwrap().next() else { break };
            let mutant = mutant::write(&originals, seed, &lab.path().join("mutant"));
            let start = Instant::now();
            let (code, result) = plan(&mutant, lab.path());
            let took = start.elapsed();
            let mut tally = tally.lock().unwrap();
            *tally.exits.entry(code).or_default() += 1;
            tally.slowest = tally.slowest.max((took, seed));
            if let Err(wrong) = result {
                let bytes = String::from_utf8_lossy(&mutant.bytes);
                tally.failures.push(format!("mutant {seed}, {}: {wrong}\n{bytes}", mutant.path));
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(worker);
        }
    });
    let Tally { exits, slowest: (longest, seed), failures } = tally.into_inner().unwrap();
    println!("{count} mutants, exit codes {exits:?}, mutant {seed} took longest: {longest:.1?}");
    let first = failures.first().map_or("", String::as_str);
    assert!(failures.is_empty(), "{} of {count} are wrong; the first: {first}", failures.len());
}
