//! Real counters on threads of this process. Each test looks at threads of its own only, because
//! two sets of counters on one task would spoil each other.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test, helpers included")]

use model::reading::{Reading, Scope};
use probe::{Meter, Permission, Target, permission};
use std::{
    hint::black_box,
    sync::mpsc::{Receiver, Sender, channel},
    thread,
    time::Duration,
};

/// Burns user instructions in proportion to `rounds`.
fn spin(rounds: u64) {
    let mut state = rounds;
    for round in 0..rounds {
        state = black_box(state ^ round);
    }
}

/// A thread that works when told, and its task.
struct Worker {
    task: u32,
    orders: Sender<Box<dyn FnOnce() + Send>>,
    done: Receiver<u32>,
}

impl Worker {
    fn start() -> Self {
        let (orders, ordered) = channel::<Box<dyn FnOnce() + Send>>();
        let (reply, done) = channel();
        thread::spawn(move || {
            reply.send(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()).unwrap();
            while let Ok(order) = ordered.recv() {
                order();
                reply.send(0).unwrap();
            }
        });
        let task = done.recv().unwrap();
        // A busy host lets it come to its rest later.
        let stat = format!("/proc/self/task/{task}/stat");
        while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
            thread::sleep(Duration::from_millis(1));
        }
        Self { task, orders, done }
    }

    fn work(&self, order: impl FnOnce() + Send + 'static) {
        self.orders.send(Box::new(order)).unwrap();
        self.done.recv().unwrap();
    }
}

fn meter(workers: &[&Worker]) -> Meter {
    let mut target = Target::new(&std::env::temp_dir());
    target.foreground = workers.iter().map(|worker| worker.task).collect();
    Meter::open(&target).unwrap()
}

fn during(meter: &mut Meter, work: impl FnOnce()) -> Vec<Reading> {
    let start = meter.snapshot().unwrap();
    work();
    Meter::readings(&start, &meter.snapshot().unwrap())
}

fn moved(readings: &[Reading], scope: Scope, counter: &str) -> f64 {
    let of = readings.iter().find(|r| r.scope == scope && r.counter == counter);
    of.unwrap_or_else(|| panic!("no {scope:?} {counter} in {readings:#?}")).delta()
}

/// Whether hardware counters may be used here; says why a test is skipped.
fn counts() -> bool {
    let permitted = permission() != Permission::None;
    if !permitted {
        println!("skipped: perf does not permit hardware counters here");
    }
    permitted
}

#[test]
fn instructions_follow_the_work_and_rest_where_there_is_none() {
    if !counts() {
        return;
    }
    let worker = Worker::start();
    let mut meter = meter(&[&worker]);
    let instructions = |meter: &mut Meter, rounds| {
        let readings = during(meter, || worker.work(move || spin(rounds)));
        moved(&readings, Scope::Server, "user_instructions")
    };
    let idle = moved(&during(&mut meter, || {}), Scope::Server, "user_instructions");
    let nothing = instructions(&mut meter, 0);
    let once = instructions(&mut meter, 5_000_000) - nothing;
    let twice = instructions(&mut meter, 10_000_000) - nothing;
    println!("idle {idle}, nothing {nothing}, once {once}, twice {twice}");
    assert_eq!(idle, 0.0);
    assert!(once >= 5_000_000.0);
    let ratio = twice / once;
    assert!((1.999..2.001).contains(&ratio), "{ratio}");
}

#[test]
fn a_thread_that_is_born_and_ends_after_attaching_is_counted() {
    let worker = Worker::start();
    let mut meter = meter(&[&worker]);
    let readings = during(&mut meter, || {
        worker.work(|| {
            thread::spawn(|| spin(20_000_000)).join().unwrap();
        });
    });
    if !readings.iter().any(|r| r.counter == "task_clock_ns") {
        println!("skipped: perf is not permitted here");
        return;
    }
    let of = |counter| moved(&readings, Scope::Foreground, counter);
    let (clock, own) = (of("task_clock_ns"), of("cpu_ns"));
    println!("clock {clock} ns, of which the thread that started the other one {own} ns");
    // The work takes milliseconds, and starting a thread takes microseconds.
    assert!(clock > 4.0 * own, "{clock} {own}");
    if counts() {
        assert!(of("user_instructions") >= 20_000_000.0);
    }
}

#[test]
fn only_the_thread_that_works_is_counted_as_working() {
    let (busy, lazy) = (Worker::start(), Worker::start());
    let counted = if counts() { "user_instructions" } else { "cpu_ns" };
    let work = || busy.work(|| spin(20_000_000));
    // One meter after the other: the first one is dropped before the second one opens.
    let of_busy = moved(&during(&mut meter(&[&busy]), work), Scope::Foreground, counted);
    let of_lazy = moved(&during(&mut meter(&[&lazy]), work), Scope::Foreground, counted);
    println!("busy {of_busy}, lazy {of_lazy} {counted}");
    assert!(of_busy > 0.0);
    assert_eq!(of_lazy, 0.0);
}

#[test]
fn kernel_work_is_told_from_user_work() {
    if permission() != Permission::Full {
        println!("skipped: perf does not permit counting in the kernel here");
        return;
    }
    let worker = Worker::start();
    let mut meter = meter(&[&worker]);
    let readings = during(&mut meter, || {
        worker.work(|| {
            for _ in 0..10_000 {
                thread::yield_now();
            }
        });
    });
    let of = |counter| moved(&readings, Scope::Server, counter);
    let (user, kernel) = (of("user_instructions"), of("kernel_instructions"));
    println!("10,000 system calls: {user} user, {kernel} kernel instructions");
    assert!(kernel > user);
    assert!(of("user_cycles") > 0.0 && of("kernel_cycles") > 0.0);
    assert!(of("context_switches") >= 1.0);
    assert_eq!(meter.marks(), [""; 0]);
}
