//! Counting by single steps: known work in child processes, which are forked without a new program
//! so that they execute nothing but what is written here.

#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test, helpers included; known numbers of instructions need assembly"
)]
#![cfg(target_arch = "x86_64")]

use probe::{StepCount, Stepper, stepping_permitted, stepping_rate};
use rustix::{fd::OwnedFd, io, pipe::pipe, thread};
use std::time::{Duration, Instant};

/// Instructions of a loop of two, `rounds` times.
const LOOP: u8 = 0;
/// One string instruction that stores `rounds` bytes.
const STORE: u8 = 1;
const STORE_MAX: usize = 1 << 18;
/// System calls.
const CALLS: u8 = 2;
/// Ends the child.
const END: u8 = 3;

/// A child that works when told.
struct Worker {
    task: u32,
    orders: OwnedFd,
    done: OwnedFd,
}

impl Worker {
    fn start() -> Self {
        let (ordered, orders) = pipe().unwrap();
        let (done, finished) = pipe().unwrap();
        // SAFETY: the child of a process with several threads may use what is safe in signal
        // handlers: it makes system calls and computes, allocates nothing, and never returns.
        match unsafe { libc::fork() } {
            0 => {
                drop((orders, done));
                obey(&ordered, &finished)
            }
            child => Self { task: u32::try_from(child).unwrap(), orders, done },
        }
    }

    fn work(&self, kind: u8, rounds: u64) {
        let mut order = [kind; 9];
        order[1..].copy_from_slice(&rounds.to_ne_bytes());
        io::write(&self.orders, &order).unwrap();
        while matches!(io::read(&self.done, &mut [0]), Err(io::Errno::INTR)) {}
    }

    /// Instructions of one order.
    fn count(&self, kind: u8, rounds: u64) -> u64 {
        let stepper = Stepper::attach(&[self.task]).unwrap();
        self.work(kind, rounds);
        self.one(stepper)
    }

    fn one(&self, stepper: Stepper) -> u64 {
        let counts = stepper.stop().unwrap();
        assert_eq!((counts.len(), counts[0].task), (1, self.task));
        counts[0].instructions
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: no memory is involved, and the child is ours and not yet waited for.
        assert_eq!(unsafe { libc::kill(self.task as libc::pid_t, signal) }, 0);
    }

    /// Waits for a state as `/proc` names it: it may take some steps until then.
    fn await_state(&self, expected: char) {
        let looks = (0..10_000).map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            self.state()
        });
        assert!(looks.into_iter().any(|state| state == expected), "{}", self.state());
    }

    fn state(&self) -> char {
        let stat = fs_err::read_to_string(format!("/proc/{}/stat", self.task)).unwrap();
        stat[stat.rfind(')').unwrap() + 2..].chars().next().unwrap()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // SAFETY: no memory is involved but the null pointer, which means nothing is stored.
        unsafe {
            libc::kill(self.task as libc::pid_t, libc::SIGKILL);
            libc::waitpid(self.task as libc::pid_t, std::ptr::null_mut(), 0);
        }
    }
}

/// The child's life, in a group of its own as that of a server. Reading resumes by itself after a
/// stop.
fn obey(ordered: &OwnedFd, finished: &OwnedFd) -> ! {
    let _ = rustix::process::setpgid(None, None);
    let mut order = [0; 9];
    while io::read(ordered, &mut order) == Ok(9) && order[0] != END {
        let rounds = u64::from_ne_bytes(std::array::from_fn(|i| order[i + 1]));
        match order[0] {
            LOOP => spin(rounds),
            STORE => store(rounds),
            _ => (0..rounds).for_each(|_| {
                let _ = thread::gettid();
            }),
        }
        let _ = io::write(finished, &[0]);
    }
    // SAFETY: ends this process at once.
    unsafe { libc::_exit(0) }
}

/// Two instructions per round, and as many others whatever the rounds.
fn spin(rounds: u64) {
    // SAFETY: the loop changes its own register only, and ends, because it begins above 0.
    unsafe {
        std::arch::asm!("2:", "dec {0}", "jnz 2b", inout(reg) rounds.max(1) => _);
    }
}

/// One instruction that repeats.
fn store(bytes: u64) {
    let mut place = [0_u8; STORE_MAX];
    let bytes = bytes.min(STORE_MAX as u64);
    // SAFETY: it stores at most as many bytes as the place has.
    unsafe {
        std::arch::asm!("rep stosb", inout("rcx") bytes => _,
            inout("rdi") place.as_mut_ptr() => _, in("al") 1_u8);
    }
    std::hint::black_box(&place);
}

/// Whether steps are permitted here; says why a test is skipped.
fn permitted() -> bool {
    let rate = stepping_rate();
    println!("{rate:.0} steps per second");
    if !stepping_permitted() {
        println!("skipped: stepping is not permitted here");
    }
    stepping_permitted()
}

#[test]
fn counts_are_exact_and_the_same_each_time() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let least = worker.count(LOOP, 1);
    println!("least {least}");
    for rounds in [1, 1_000, 3_000, 1_000] {
        assert_eq!(worker.count(LOOP, rounds), least + 2 * (rounds - 1), "{rounds} rounds");
    }
}

#[test]
fn a_string_instruction_is_one_however_often_it_repeats() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let few = worker.count(STORE, 2);
    for bytes in [3, 100, STORE_MAX as u64] {
        assert_eq!(worker.count(STORE, bytes), few, "{bytes} bytes");
    }
}

#[test]
fn a_system_call_costs_the_same_each_time() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let [one, ten, hundred] = [1, 10, 100].map(|calls| worker.count(CALLS, calls));
    let each = (ten - one) / 9;
    println!("{each} instructions around a system call");
    assert_eq!((ten - one) % 9, 0);
    assert_eq!(hundred - one, 99 * each);
}

#[test]
fn an_idle_task_executes_nothing_and_goes_on_sleeping() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    for _ in 0..3 {
        let stepper = Stepper::attach(&[worker.task]).unwrap();
        assert_eq!(worker.one(stepper), 0);
    }
    worker.work(LOOP, 1);
    worker.await_state('S');
}

#[test]
fn several_tasks_are_counted_each_on_its_own() {
    if !permitted() {
        return;
    }
    let (one, other) = (Worker::start(), Worker::start());
    let least = one.count(LOOP, 1);
    let stepper = Stepper::attach(&[other.task, one.task, other.task]).unwrap();
    one.work(LOOP, 501);
    other.work(LOOP, 101);
    let expected = [(other.task, least + 200), (one.task, least + 1_000)]
        .map(|(task, instructions)| StepCount { task, instructions });
    assert_eq!(stepper.stop().unwrap(), expected);
}

#[test]
fn the_cpus_of_a_task_are_its_own_again() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let cpus = || {
        let status = fs_err::read_to_string(format!("/proc/{}/status", worker.task)).unwrap();
        status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap().to_owned()
    };
    let before = cpus();
    drop(Stepper::attach(&[worker.task]).unwrap());
    assert_eq!(cpus(), before);
}

#[test]
fn signals_reach_the_task() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let stepper = Stepper::attach(&[worker.task]).unwrap();
    // Ignored ones do not disturb, not even those without a name.
    worker.signal(libc::SIGURG);
    worker.signal(libc::SIGCONT);
    worker.work(LOOP, 1);
    // Stopped and continued, and nothing of the order is lost.
    worker.signal(libc::SIGSTOP);
    worker.await_state('t');
    worker.signal(libc::SIGCONT);
    worker.work(LOOP, 1);
    assert!(worker.one(stepper) > 0);
    worker.work(LOOP, 1);

    let stepper = Stepper::attach(&[worker.task]).unwrap();
    worker.work(LOOP, 1_000);
    worker.signal(libc::SIGRTMIN() + 3);
    // Its default is to end the process; what was counted is kept.
    assert!(worker.one(stepper) >= 2_000);
    assert!(!fs_err::exists(format!("/proc/{}", worker.task)).unwrap());
}

#[test]
fn a_task_that_is_stopped_stays_stopped() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    worker.work(LOOP, 1);
    let stepper = Stepper::attach(&[worker.task]).unwrap();
    worker.signal(libc::SIGSTOP);
    worker.await_state('t');
    drop(stepper);
    worker.await_state('T');
    worker.signal(libc::SIGCONT);
    worker.work(LOOP, 1);
}

#[test]
fn a_task_without_an_end_is_let_go() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let stepper = Stepper::attach(&[worker.task]).unwrap();
    io::write(&worker.orders, &[LOOP, 255, 255, 255, 255, 255, 255, 255, 127]).unwrap();
    assert!(worker.one(stepper) < u64::MAX / 4);
    worker.await_state('R');
}

#[test]
fn what_takes_too_long_is_given_up() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let stepper = Stepper::attach_within(&[worker.task], Duration::from_millis(20)).unwrap();
    let began = Instant::now();
    // Stepped to its end it would take hours; at full speed it takes less than a second.
    worker.work(LOOP, 400_000_000);
    println!("let go and done after {:?}", began.elapsed());
    let message = stepper.stop().unwrap_err().to_string();
    assert!(message.contains("longer than `0.02` seconds"), "{message}");
}

#[test]
fn what_cannot_be_stepped_is_an_error_with_the_task() {
    if !permitted() {
        return;
    }
    let worker = Worker::start();
    let own = std::process::id();
    let check = |tasks: &[u32], task: u32| {
        let error = Stepper::attach(tasks).err().unwrap().to_string();
        assert!(error.starts_with(&format!("cannot count task `{task}`")), "{error}");
    };
    // Threads of one process cannot step each other.
    check(&[worker.task, own], own);
    let stepper = Stepper::attach(&[worker.task]).unwrap();
    check(&[worker.task], worker.task);
    drop(stepper);
    worker.work(LOOP, 1);
    assert_eq!(Stepper::attach(&[]).unwrap().stop().unwrap(), []);
}
