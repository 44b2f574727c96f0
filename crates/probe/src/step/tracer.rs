//! The thread that steps: it attaches, steps until told to stop, and detaches.

use super::{StepCount, cpu::OneCpu, ptrace};
use crate::Error;
use rustix::{
    io::Errno,
    process::{WaitOptions, WaitStatus, waitpid},
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
}

/// Tasks that are stepped by this thread.
pub(super) struct Tracer {
    tracees: Vec<Tracee>,
    /// Stops of all tasks, those that are no steps included.
    stops: u64,
    _one_cpu: OneCpu,
}

struct Tracee {
    task: u32,
    state: State,
    /// Address of the next instruction at the last step. Nothing before the first step: it ends the
    /// system call that the task slept in, and the last step is missing one in return.
    next: u64,
    instructions: u64,
}

/// Where a task is. It begins with `Seized`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Was interrupted, and has not stopped yet.
    Seized,
    /// Executes one instruction, or sleeps in a system call: until it stops or ends.
    Working,
    /// Stopped until we let it go on with this signal, 0 for none.
    Stopped(i32),
    /// Stopped by job control: until others continue it.
    Suspended,
    /// Ended.
    Gone,
}

/// What the kernel tells of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// One instruction was executed, or one repetition of a string instruction.
    Step,
    /// Our interruption, or the end of a stop of job control.
    Interrupted,
    /// Job control stopped it.
    Suspended,
    /// A signal is to be passed on.
    Signal(i32),
    /// It ended.
    Ended,
}

impl Stop {
    fn of(status: WaitStatus) -> Self {
        match status.stopping_signal() {
            Some(signal) => Self::of_signal(signal, status.as_raw() >> 16),
            None => Self::Ended,
        }
    }

    fn of_signal(signal: i32, event: i32) -> Self {
        match (event, signal) {
            (0, libc::SIGTRAP) => Self::Step,
            (0, signal) => Self::Signal(signal),
            (_, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => Self::Suspended,
            (_, _) => Self::Interrupted,
        }
    }
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
    pub(super) fn attach(tasks: &[u32]) -> Result<Self, Error> {
        await_sleep(tasks);
        let mut tracer = Self { tracees: Vec::new(), stops: 0, _one_cpu: OneCpu::bind(tasks) };
        for task in tasks {
            if tracer.tracees.iter().any(|tracee| tracee.task == *task) {
                continue;
            }
            if let Err(reason) = ptrace::seize(*task) {
                tracer.let_go();
                return Err(Error::Step { task: *task, reason });
            }
            let state = State::Seized;
            tracer.tracees.push(Tracee { task: *task, state, next: 0, instructions: 0 });
            // It fails only for a task that has ended, which waiting tells.
            let _ = ptrace::interrupt(*task);
        }
        // Work that came before the first step would end the system call unseen.
        while tracer.tracees.iter().any(|tracee| tracee.state == State::Seized) {
            match tracer.wait() {
                Found::Stop(index, stop) => {
                    tracer.note(index, stop);
                    tracer.go_on(index);
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
                    self.note(index, stop);
                    self.go_on(index);
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
        Outcome { counts: self.tracees.iter().map(count).collect(), in_time }
    }

    fn wait(&mut self) -> Found {
        // No other child of this process is waited for: that is the meaning of the options.
        match waitpid(None, WaitOptions::from_bits_retain(ptrace::WAIT_OPTIONS)) {
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

    /// Counts a stop and keeps what is to be done about it.
    fn note(&mut self, index: usize, stop: Stop) {
        let tracee = &mut self.tracees[index];
        tracee.state = match stop {
            Stop::Step => {
                // Where the address stays, a string instruction repeats: that is one instruction.
                if let Ok(next) = ptrace::next_instruction(tracee.task)
                    && next != tracee.next
                {
                    tracee.next = next;
                    tracee.instructions += 1;
                }
                State::Stopped(0)
            }
            Stop::Interrupted => State::Stopped(0),
            Stop::Signal(signal) => State::Stopped(signal),
            Stop::Suspended => State::Suspended,
            Stop::Ended => State::Gone,
        };
    }

    /// Requests fail only for a task that is being killed: waiting will tell its end.
    fn go_on(&mut self, index: usize) {
        let tracee = &mut self.tracees[index];
        match tracee.state {
            State::Stopped(signal) => {
                tracee.state = State::Working;
                let _ = ptrace::step(tracee.task, signal);
            }
            State::Suspended => {
                let _ = ptrace::listen(tracee.task);
            }
            State::Seized | State::Working | State::Gone => {}
        }
    }

    /// Interrupts what works, and detaches from everything.
    fn let_go(&mut self) {
        for tracee in self.tracees.iter().filter(|tracee| tracee.state != State::Gone) {
            let _ = ptrace::interrupt(tracee.task);
        }
        let mut nudges = 0;
        while self.tracees.iter().any(|tracee| tracee.state != State::Gone) {
            match self.wait() {
                Found::Stop(index, stop) => self.detach(index, stop),
                Found::Nudge if nudges < PATIENCE_NUDGES => nudges += 1,
                Found::Nudge | Found::Nothing => return,
            }
        }
    }

    /// Lets a stopped task go on alone.
    ///
    /// A step that our interruption cut short, one over a system call, leaves its trap behind. To a
    /// task that nobody traces it would be deadly, so we take it first. It is no instruction: the
    /// system call starts again.
    fn detach(&mut self, index: usize, stop: Stop) {
        let task = self.tracees[index].task;
        if matches!(stop, Stop::Interrupted | Stop::Suspended) && has_trap_pending(task) {
            self.tracees[index].state = State::Stopped(0);
            let _ = ptrace::go_on(task);
            return;
        }
        let is_left_behind = self.tracees[index].state == State::Stopped(0);
        if !(stop == Stop::Step && is_left_behind) {
            self.note(index, stop);
        }
        let signal = if let Stop::Signal(signal) = stop { signal } else { 0 };
        let _ = ptrace::detach(task, signal);
        self.tracees[index].state = State::Gone;
    }
}

/// Whether a trap waits for a stopped task: the fifth bit of the signals that are pending for it.
fn has_trap_pending(task: u32) -> bool {
    let status = fs_err::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    pending.is_some_and(|mask| mask & (1 << (libc::SIGTRAP - 1)) != 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_are_told_apart() {
        for (signal, event, expected) in [
            (libc::SIGTRAP, 0, Stop::Step),
            (libc::SIGTRAP, ptrace::EVENT_STOP, Stop::Interrupted),
            (libc::SIGSTOP, ptrace::EVENT_STOP, Stop::Suspended),
            (libc::SIGSTOP, 0, Stop::Signal(libc::SIGSTOP)),
            (libc::SIGUSR1, 0, Stop::Signal(libc::SIGUSR1)),
            (40, 0, Stop::Signal(40)),
        ] {
            assert_eq!(Stop::of_signal(signal, event), expected, "{signal} {event}");
        }
    }
}
