//! Trees of calls of programs whose calls are known.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]
#![cfg(target_arch = "x86_64")]

use emulator::{Chosen, Counters, Emulator, Frame, Names, Prepared, frames};
use std::{
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

struct Program {
    _folder: TempDir,
    binary: PathBuf,
    prepared: Prepared,
}

impl Program {
    /// None where this host has no emulator.
    fn compile(file: &str, options: &[&str]) -> Option<Self> {
        let emulator = match Emulator::find() {
            Ok(emulator) => emulator,
            Err(error) => {
                println!("skipped: {error}");
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("program");
        let source = Path::new("tests/programs").join(file);
        let mut compiler = Command::new("cc");
        compiler.args(options).arg("-o").arg(&binary).arg(source);
        assert!(compiler.status().unwrap().success());
        let prepared = emulator.prepare_with_calls(folder.path(), "program").unwrap();
        Some(Self { _folder: folder, binary, prepared })
    }

    fn start(&self) -> Child {
        let mut command = Command::new(&self.prepared.words[0]);
        command.args(&self.prepared.words[1..]).arg(&self.binary);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }
}

/// The tree has every instruction of each thread, whatever interrupts it.
fn check_sum(file: &str) {
    let options = ["-nostdlib", "-static", "-no-pie"];
    let Some(program) = Program::compile(file, &options) else { return };
    program.prepared.calls.begin().unwrap();
    assert!(program.start().wait_with_output().unwrap().status.success());
    let counts = program.prepared.counters.read().unwrap();
    assert!(!counts.threads.is_empty());
    for thread in &counts.threads {
        let tree = program.prepared.calls.read(thread.task).unwrap();
        let sums = (tree.instructions(), thread.unplaced);
        assert_eq!(sums, (thread.instructions, 0), "{file}: {}", thread.name);
    }
}

#[test]
fn the_tree_of_each_thread_has_every_instruction() {
    for file in ["loop.S", "repeated.S", "fault.S", "timer.S", "family.S"] {
        check_sum(file);
    }
}

fn ask(child: &mut Child) {
    child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    for _ in 0..60_000 {
        let stat = fs_err::read_to_string(&stat).unwrap();
        if stat[stat.rfind(')').unwrap()..].starts_with(") S") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("the program does not wait");
}

/// The names of a frame's callers and its own.
fn path(frames: &[Frame], frame: &Frame) -> String {
    let above = frame.parent.map(|parent| path(frames, &frames[parent]));
    above.map_or_else(|| frame.name.to_string(), |above| format!("{above};{}", frame.name))
}

#[test]
fn calls_are_named_and_counted_by_their_callers() {
    let Some(program) = Program::compile("calls.c", &["-O2", "-fno-inline"]) else { return };
    let mut child = program.start();
    ask(&mut child);
    let before = program.prepared.counters.read().unwrap();
    program.prepared.calls.begin().unwrap();
    (0..10).for_each(|_| ask(&mut child));
    program.prepared.calls.end().unwrap();
    let done = program.prepared.counters.read().unwrap().since(&before);
    let tree = program.prepared.calls.read(child.id()).unwrap();
    let frames = frames(&tree, &mut Names::of(child.id()).unwrap());
    ask(&mut child);
    assert_eq!(program.prepared.calls.read(child.id()).unwrap(), tree, "recording has ended");
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(tree.instructions(), done.threads[0].instructions);
    assert_eq!(frames.iter().map(|f| f.instructions).sum::<u64>(), tree.instructions());
    let calls = |suffix: &str| {
        let ends = |frame: &&Frame| path(&frames, frame).ends_with(suffix);
        frames.iter().filter(ends).map(|frame| frame.calls).collect::<Vec<_>>()
    };
    assert_eq!(calls("main;round_of_work"), [10]);
    assert_eq!(calls(";round_of_work;tail"), [70]);
    assert_eq!(calls(";round_of_work;tail;leaf"), [70], "by a jump");
    assert_eq!(calls(";round_of_work;leaves"), [10]);
    assert_eq!(calls(";round_of_work;depth;depth;depth;depth;depth;depth"), [10]);
    // `leaves` has no return; what follows it is called by its caller again once that returns.
    assert_eq!(calls(";after").iter().sum::<u64>(), 10);
    assert!(calls("main;read@plt")[0] == 10 || calls("main;read")[0] == 10);
}

#[test]
fn chosen_functions_are_counted_with_all_that_they_call() {
    let Some(program) = Program::compile("calls.c", &["-O2", "-fno-inline"]) else { return };
    let wanted = ["round_of_work", "leaves", "none", "depth", "after"].map(str::to_owned);
    let named = wanted.iter().map(|name| (name.as_str(), std::slice::from_ref(name)));
    let chosen = Chosen::find(&program.binary, named).unwrap();
    let folder = program.binary.parent().unwrap();
    let emulator = Emulator::find().unwrap();
    let words = emulator.prepare_with_chosen(folder, "program", &chosen).unwrap();
    let counters = Counters::open(folder).unwrap();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).arg(&program.binary);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    ask(&mut child);
    let before = counters.read().unwrap();
    (0..10).for_each(|_| ask(&mut child));
    let done = counters.read().unwrap().since(&before);
    drop(child.stdin.take());
    child.wait().unwrap();
    let [thread] = done.threads.as_slice() else { panic!("{done:?}") };
    assert_eq!(done.chosen, ["round_of_work", "leaves", "depth", "after"]);
    let calls: Vec<u64> = thread.within.iter().map(|one| one.calls).collect();
    // `depth` calls itself five times.
    assert_eq!(calls, [10, 10, 60, 10, 0, 0, 0]);
    let all = thread.within[0].instructions;
    // 7 loops of 100 rounds each, and one of 10, of several instructions.
    assert!(all > 10 * 7 * 100 * 3 && all < thread.instructions, "{thread:?}");
    let read_and_write = thread.instructions - all;
    assert!(read_and_write < 10 * 200, "{read_and_write} instructions around the rounds");
    let others = thread.within[1..].iter().map(|one| one.instructions).sum::<u64>();
    assert_eq!(others, 0, "they are called within a round");
}
