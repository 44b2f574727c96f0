//! The thread that steps: it attaches, steps until told to stop, and detaches.

use super::{
    StepCount,
    cpu::OneCpu,
    leap::Pace,
    ptrace,
    tracee::{Stop, Tracee},
};
use crate::Error;
use rustix::{
    io::Errno,
    process::{WaitOptions, wait},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Stops between two looks at the clock.
const LOOK_EVERY: u64 = 256;

/// Nudges in a row without a step that show that all tasks sleep.
const QUIET_NUDGES: u32 = 5;

/// Time for which tasks that do not sleep are waited for.
const SETTLE_MAX: Duration = Duration::from_millis(200);

/// Nudges without an answer after which a task is given up: seconds of a stalled disk are survived.
const PATIENCE_NUDGES: u32 = 30_000;

/// What stepping found.
pub(super) struct Outcome {
    pub(super) counts: Vec<StepCount>,
    pub(super) in_time: bool,
    /// A task of which it is not known what it executed.
    pub(super) strayed: Option<u32>,
}

/// Tasks that are stepped by this thread.
pub(super) struct Tracer {
    tracees: Vec<Tracee>,
    /// Stops of all tasks, those that are no steps included.
    stops: u64,
    _one_cpu: OneCpu,
}

/// What waiting brought.
enum Found {
    /// Index of a tracee, and its stop.
    Stop(usize, Stop),
    Nudge,
    /// No task is left.
    Nothing,
}

impl Tracer {
    /// Attaches to all tasks and begins to step them.
    pub(super) fn attach(tasks: &[u32], pace: Pace) -> Result<Self, Error> {
        await_sleep(tasks);
        let mut tracer = Self { tracees: Vec::new(), stops: 0, _one_cpu: OneCpu::bind(tasks) };
        for task in tasks {
            if tracer.tracees.iter().any(|tracee| tracee.task == *task) {
                continue;
            }
            match Tracee::seize(*task, pace) {
                Ok(tracee) => tracer.tracees.push(tracee),
                Err(reason) => {
                    tracer.let_go();
                    return Err(Error::Step { task: *task, reason });
                }
            }
        }
        // Work that came before the first step would end the system call unseen.
        while tracer.tracees.iter().any(|tracee| tracee.is_seized()) {
            match tracer.wait() {
                Found::Stop(index, stop) => {
                    tracer.tracees[index].answer(stop);
                }
                Found::Nudge => {}
                Found::Nothing => break,
            }
        }
        Ok(tracer)
    }

    /// Steps until told to stop, until the time is over, or until no task is left.
    pub(super) fn follow(mut self, stop: &AtomicBool, limit: Duration) -> Outcome {
        let began = Instant::now();
        let mut told: Option<Instant> = None;
        let (mut quiet, mut seen) = (0, 0);
        let mut in_time = true;
        loop {
            match self.wait() {
                Found::Nothing => break,
                Found::Stop(index, stop) => {
                    self.tracees[index].answer(stop);
                }
                Found::Nudge => {
                    quiet = if self.stops == seen { quiet + 1 } else { 0 };
                    seen = self.stops;
                    if stop.load(Ordering::Acquire) && quiet >= QUIET_NUDGES {
                        break;
                    }
                }
            }
            if self.stops.is_multiple_of(LOOK_EVERY) {
                in_time = began.elapsed() <= limit;
                if stop.load(Ordering::Acquire) {
                    told = told.or_else(|| Some(Instant::now()));
                }
                if !in_time || told.is_some_and(|told| told.elapsed() > SETTLE_MAX) {
                    break;
                }
            }
        }
        self.let_go();
        let count = |t: &Tracee| StepCount { task: t.task, instructions: t.instructions };
        let strayed = self.tracees.iter().find(|tracee| tracee.strayed).map(|tracee| tracee.task);
        Outcome { counts: self.tracees.iter().map(count).collect(), in_time, strayed }
    }

    fn wait(&mut self) -> Found {
        // No other child of this process is waited for: that is the meaning of the options.
        match wait(WaitOptions::from_bits_retain(ptrace::WAIT_OPTIONS)) {
            Ok(Some((pid, status))) => {
                self.stops += 1;
                let task = pid.as_raw_nonzero().get().unsigned_abs();
                match self.tracees.iter().position(|tracee| tracee.task == task) {
                    Some(index) => Found::Stop(index, Stop::of(status)),
                    None => Found::Nudge,
                }
            }
            Ok(None) | Err(Errno::INTR) => Found::Nudge,
            Err(_) => Found::Nothing,
        }
    }

    /// Interrupts what works, and detaches from everything.
    fn let_go(&mut self) {
        self.tracees.iter().for_each(Tracee::interrupt);
        let mut nudges = 0;
        while self.tracees.iter().any(|tracee| !tracee.is_gone()) {
            match self.wait() {
                Found::Stop(index, stop) => self.tracees[index].detach(stop),
                Found::Nudge if nudges < PATIENCE_NUDGES => nudges += 1,
                Found::Nudge | Found::Nothing => return,
            }
        }
    }
}

/// Waits until no task works any more: the end of earlier work would be counted. Tasks that never
/// sleep are not waited for.
fn await_sleep(tasks: &[u32]) {
    let began = Instant::now();
    while began.elapsed() < SETTLE_MAX && tasks.iter().any(|task| works(*task)) {
        thread::sleep(Duration::from_micros(200));
    }
}

/// Whether a task is on a CPU or ready for one. `/proc` answers for tasks as for processes, though
/// it does not list them.
fn works(task: u32) -> bool {
    let stat = fs_err::read_to_string(format!("/proc/{task}/stat")).unwrap_or_default();
    stat.rfind(')').is_some_and(|end| stat[end..].starts_with(") R"))
}
