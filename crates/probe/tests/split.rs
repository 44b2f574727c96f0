//! Foreground and background of a whole process: this one. It has one test only, so that nobody
//! else's threads work in it at the same time.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]

use model::reading::Scope;
use probe::{Meter, Permission, Target, permission};
use std::{hint::black_box, sync::mpsc::channel, thread};

#[test]
fn the_busy_thread_is_the_foreground_and_the_rest_is_background() {
    let (told, task) = channel();
    let (go, start) = channel::<()>();
    let (finished, done) = channel();
    let busy = thread::spawn(move || {
        told.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
        start.recv().unwrap();
        let mut state = 0_u64;
        for round in 0..50_000_000 {
            state = black_box(state ^ round);
        }
        finished.send(()).unwrap();
        // Stays until its counters have been read.
        let _ = start.recv();
    });
    let mut target = Target::new(&std::env::temp_dir());
    target.server_pids = vec![std::process::id()];
    target.foreground = vec![task.recv().unwrap()];
    let mut meter = Meter::open(&target).unwrap();
    let before = meter.snapshot().unwrap();
    go.send(()).unwrap();
    done.recv().unwrap();
    let readings = Meter::readings(&before, &meter.snapshot().unwrap());
    drop(go);
    busy.join().unwrap();

    let perf = ["task_clock_ns", "user_instructions"];
    let counted = perf.into_iter().filter(|name| readings.iter().any(|r| r.counter == *name));
    let counters: Vec<&str> = counted.chain(["cpu_ns"]).collect();
    if permission() == Permission::None {
        println!("skipped for instructions: perf does not permit hardware counters here");
    }
    for counter in counters {
        let of = |scope| {
            let reading = readings.iter().find(|r| r.scope == scope && r.counter == counter);
            reading.map(|reading| reading.delta()).unwrap()
        };
        let (all, front) = (of(Scope::Server), of(Scope::Foreground));
        let back = of(Scope::Background);
        println!("{counter}: server {all}, foreground {front}, background {back}");
        assert_eq!(all, front + back, "{counter}");
        assert!(front > 0.9 * all, "{counter}: {front} of {all}");
    }
    let memory = readings.iter().find(|r| r.counter == "rss_kib").unwrap();
    assert!(memory.end > 0.0);
}
