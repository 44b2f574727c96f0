//! Syncs of files by a process of this test.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]

use model::reading::{Reading, Scope};
use probe::{Meter, SyncCounts, Target, sync_counts};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

/// A shell that does as it is told, one line at a time, and says when it is done.
const SHELL: &str = "while read line; do eval \"$line\"; echo done; done";

#[test]
fn every_sync_of_a_child_is_counted_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let SyncCounts::Counted(_) = sync_counts(folder.path()) else {
        println!("skipped: syncs of files cannot be counted here");
        return;
    };
    let mut shell = Command::new("sh")
        .args(["-c", SHELL])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut orders = shell.stdin.take().unwrap();
    let mut answers = BufReader::new(shell.stdout.take().unwrap());
    let mut order = |text: &str| {
        writeln!(orders, "{text}").unwrap();
        answers.read_line(&mut String::new()).unwrap();
    };
    order("true");
    let target = Target { server_pids: vec![shell.id()], ..Target::new(folder.path()) };
    let mut meter = Meter::open(&target).unwrap();
    let mut syncs = |text: &str| {
        let before = meter.snapshot().unwrap();
        order(text);
        let readings = Meter::readings(&before, &meter.snapshot().unwrap());
        let of_server = |one: &&Reading| one.scope == Scope::Server && one.counter == "fsyncs";
        readings.iter().find(of_server).map(Reading::delta)
    };
    for (text, expected) in [
        ("dd if=/dev/zero of=a bs=512 count=3 2>/dev/null", 0.0),
        ("dd if=/dev/zero of=a bs=512 count=3 conv=fsync 2>/dev/null", 1.0),
        ("for i in 1 2 3; do dd if=/dev/zero of=a count=1 conv=fdatasync 2>/dev/null; done", 3.0),
    ] {
        assert_eq!(syncs(text), Some(expected), "{text}");
    }
    drop(orders);
    shell.wait().unwrap();
}
