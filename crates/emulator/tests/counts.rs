//! Counts of programs whose instructions are known, and of the same work in single steps.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]
#![cfg(target_arch = "x86_64")]

use emulator::{Counters, Emulator, Snapshot, Thread};
use std::{
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// An assembled program, and the words that start it under the emulator.
struct Program {
    folder: TempDir,
    binary: PathBuf,
    words: Vec<String>,
    counters: Counters,
}

impl Program {
    /// None where this host has no emulator.
    fn assemble(name: &str) -> Option<Self> {
        let emulator = match Emulator::find() {
            Ok(emulator) => emulator,
            Err(error) => {
                println!("skipped: {error}");
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new("tests/programs").join(name).with_extension("S");
        let binary = folder.path().join(name);
        let mut compiler = Command::new("cc");
        compiler.args(["-nostdlib", "-static", "-no-pie", "-o"]).arg(&binary).arg(source);
        assert!(compiler.status().unwrap().success());
        let (words, counters) = emulator.prepare(folder.path(), name).unwrap();
        Some(Self { folder, binary, words, counters })
    }

    fn start(&self) -> Child {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).arg(&self.binary);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    /// What it did, when it has ended.
    fn execute(&self) -> Snapshot {
        let done = self.start().wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert!(self.folder.path().exists());
        self.counters.read().unwrap()
    }
}

/// The only thread of a program that has ended.
fn only(counts: &Snapshot) -> &Thread {
    assert_eq!((counts.threads.len(), counts.lost), (1, 0), "{counts:?}");
    assert!(counts.threads[0].ended);
    &counts.threads[0]
}

fn check(name: &str, expected: u64) {
    let Some(program) = Program::assemble(name) else { return };
    let counts = program.execute();
    let thread = only(&counts);
    assert_eq!((thread.instructions, thread.name.as_str()), (expected, name));
}

#[test]
fn every_round_of_a_loop_counts() {
    check("loop", 2_000_004);
}

#[test]
fn a_repeated_instruction_counts_once() {
    check("repeated", 17);
}

#[test]
fn a_block_that_a_fault_left_counts_up_to_the_fault() {
    check("fault", 9 + 100 * (4 + 3 + 2 + 4) + 3);
}

#[test]
fn signals_add_the_instructions_of_their_handlers_alone() {
    let Some(program) = Program::assemble("timer") else { return };
    let counts = program.execute();
    // Each handler returns by a system call.
    let returns = only(&counts).calls.iter().find(|(number, _)| *number == 15);
    let signals = returns.map_or(0, |(_, calls)| *calls);
    assert!(signals > 10, "{signals}");
    assert_eq!(only(&counts).instructions, 16 + 20_000 * 46 + 9 + 4 * signals);
}

#[test]
fn each_process_and_each_thread_has_counters_of_its_own() {
    let Some(program) = Program::assemble("family") else { return };
    let counts = program.execute();
    let [first, child, thread] = counts.threads.as_slice() else { panic!("{counts:?}") };
    assert_eq!(first.process, first.task);
    assert_eq!(child.process, child.task);
    assert_eq!(thread.process, first.process);
    let names = [first, child, thread].map(|one| one.name.as_str());
    assert_eq!(names, ["family", "family", "worker"]);
    assert_eq!([child, thread].map(|one| one.instructions), [2_006, 4_010]);
    let waits = first.calls.iter().filter(|(number, _)| *number != 202).copied();
    assert_eq!(waits.collect::<Vec<_>>(), [(56, 1), (57, 1), (61, 1), (231, 1)]);
    assert_eq!(child.calls, [(60, 1)]);
    assert_eq!(thread.calls, [(60, 1), (157, 1)]);
}

/// Asks the server for work, and waits for its answer.
fn ask(server: &mut Child, amount: u8) {
    server.stdin.as_mut().unwrap().write_all(&[amount]).unwrap();
    server.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
}

/// Waits until a process waits for input: what it did is complete then.
fn await_sleep(process: u32) {
    for _ in 0..5_000 {
        let stat = fs_err::read_to_string(format!("/proc/{process}/stat")).unwrap();
        if stat[stat.rfind(')').unwrap()..].starts_with(") S") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{process} does not wait");
}

#[test]
fn single_steps_count_the_same() {
    let Some(program) = Program::assemble("server") else { return };
    let mut emulated = program.start();
    ask(&mut emulated, 1);
    await_sleep(emulated.id());
    let before = program.counters.read().unwrap();
    ask(&mut emulated, 20);
    await_sleep(emulated.id());
    let done = program.counters.read().unwrap().since(&before);
    drop(emulated.stdin.take());
    emulated.wait().unwrap();
    assert_eq!(done.threads[0].calls, [(0, 1), (1, 1), (39, 20)]);

    if !probe::stepping_permitted() {
        println!("skipped: single steps are not permitted");
        return;
    }
    let mut native = Command::new(&program.binary);
    let mut native = native.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    ask(&mut native, 1);
    await_sleep(native.id());
    let stepper = probe::Stepper::attach(&[native.id()]).unwrap();
    ask(&mut native, 20);
    let stepped = stepper.stop().unwrap();
    drop(native.stdin.take());
    native.wait().unwrap();
    assert_eq!(stepped[0].instructions, done.instructions());
}
