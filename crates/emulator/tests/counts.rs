//! Counts of programs whose instructions are known, and of the same work in single steps.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]
#![cfg(target_arch = "x86_64")]

use emulator::{Counters, Emulator, Snapshot, Thread};
use std::{
    io::Write,
    mem::offset_of,
    os::unix::process::CommandExt,
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

/// Instructions that a program executes natively from its first to its last, one step each; none
/// where the host forbids to trace.
#[allow(unsafe_code, reason = "no safe wrapper steps a task")]
fn stepped(binary: &Path, input: &[u8]) -> Option<u64> {
    let mut command = Command::new(binary);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // SAFETY: the call touches no memory.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            println!("skipped: {error}");
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input).unwrap();
    let (task, mut steps, mut status) = (i32::try_from(child.id()).unwrap(), 0, 0);
    let place = offset_of!(libc::user, regs) + offset_of!(libc::user_regs_struct, rip);
    let mut before = 0;
    loop {
        // SAFETY: the status lives for the call, and the task is this thread's own.
        unsafe {
            assert_eq!(libc::waitpid(task, &raw mut status, libc::__WALL), task);
            if libc::WIFEXITED(status) {
                return Some(steps);
            }
            let next = libc::ptrace(libc::PTRACE_PEEKUSER, task, place, 0);
            // A repeated instruction stops at itself each time, and counts once.
            steps += u64::from(next != before);
            before = next;
            assert_eq!(libc::ptrace(libc::PTRACE_SINGLESTEP, task, 0, 0), 0);
        }
    }
}

#[test]
fn single_steps_count_the_same() {
    let Some(program) = Program::assemble("server") else { return };
    let input = [1, 20];
    let mut emulated = program.start();
    emulated.stdin.take().unwrap().write_all(&input).unwrap();
    assert!(emulated.wait().unwrap().success());
    let counts = program.counters.read().unwrap();
    let Some(stepped) = stepped(&program.binary, &input) else { return };
    assert_eq!(only(&counts).calls, [(0, 3), (1, 2), (39, 21), (60, 1)]);
    assert_eq!(only(&counts).instructions, stepped);
}
