//! A child process of this one that is born and ends in the window. One test only, because every
//! child of this process would count.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]

use model::reading::Scope;
use probe::{Meter, Target, task_cpu};
use std::process::Command;

#[test]
fn a_process_that_is_born_and_ends_in_the_window_is_counted() {
    let pid = std::process::id();
    let own = || task_cpu(&[pid]).iter().map(|task| task.cpu_ns).sum::<u64>();
    let mut target = Target::new(&std::env::temp_dir());
    target.server_pids = vec![pid];
    let mut meter = Meter::open(&target).unwrap();
    let before = (meter.snapshot().unwrap(), own());
    let count = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    assert!(Command::new("sh").args(["-c", count]).status().unwrap().success());
    let used_here = (own() - before.1) as f64;
    let readings = Meter::readings(&before.0, &meter.snapshot().unwrap());
    let of = |counter: &str| {
        let reading = readings.iter().find(|r| r.scope == Scope::Server && r.counter == counter);
        reading.map(|reading| reading.delta())
    };
    let (cpu, clock) = (of("cpu_ns").unwrap(), of("task_clock_ns"));
    println!("cpu {cpu} ns, of which this process {used_here} ns, perf clock {clock:?} ns");
    assert!(cpu > 4.0 * used_here, "{cpu} {used_here}");
}
