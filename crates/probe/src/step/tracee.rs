//! One task that is stepped: where it is, what its stops mean, and its count.

use super::{ptrace, string};
use rustix::process::WaitStatus;
use std::io;

pub(super) struct Tracee {
    pub(super) task: u32,
    state: State,
    /// Address of the next instruction at the last step. Nothing before the first step: it ends the
    /// system call that the task slept in, and the last step is missing one in return.
    next: u64,
    pub(super) instructions: u64,
    /// Goes on to a breakpoint behind a string instruction, not by steps.
    leaps: bool,
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
pub(super) enum Stop {
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
    pub(super) fn of(status: WaitStatus) -> Self {
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

impl Tracee {
    /// Becomes the tracer of a task and interrupts it.
    pub(super) fn seize(task: u32) -> io::Result<Self> {
        ptrace::seize(task)?;
        // It fails only for a task that has ended, which waiting tells.
        let _ = ptrace::interrupt(task);
        Ok(Self { task, state: State::Seized, next: 0, instructions: 0, leaps: false })
    }

    /// Whether its first stop is still to come.
    pub(super) fn is_seized(&self) -> bool {
        self.state == State::Seized
    }

    /// Whether it ended or was let go.
    pub(super) fn is_gone(&self) -> bool {
        self.state == State::Gone
    }

    /// Makes it stop soon, in a system call too.
    pub(super) fn interrupt(&self) {
        if !self.is_gone() {
            let _ = ptrace::interrupt(self.task);
        }
    }

    /// Counts a stop and lets the task take its next step. Requests fail only for a task that is
    /// being killed: waiting will tell its end.
    pub(super) fn answer(&mut self, stop: Stop) {
        self.note(stop);
        match self.state {
            State::Stopped(_) if self.leaps => {
                self.state = State::Working;
                let _ = ptrace::go_on(self.task);
            }
            State::Stopped(signal) => {
                self.state = State::Working;
                let _ = ptrace::step(self.task, signal);
            }
            State::Suspended => {
                let _ = ptrace::listen(self.task);
            }
            State::Seized | State::Working | State::Gone => {}
        }
    }

    /// Answers a stop by letting the task go on alone.
    ///
    /// A step that our interruption cut short, one over a system call, leaves its trap behind. To a
    /// task that nobody traces it would be deadly, so we take it first. It is no instruction: the
    /// system call starts again.
    pub(super) fn detach(&mut self, stop: Stop) {
        let is_left_behind = stop == Stop::Step && self.state == State::Stopped(0);
        if !is_left_behind {
            self.note(stop);
        }
        // A breakpoint that nobody waits for would be deadly too.
        self.end_leap();
        if matches!(stop, Stop::Interrupted | Stop::Suspended) && has_trap_pending(self.task) {
            self.state = State::Stopped(0);
            let _ = ptrace::go_on(self.task);
            return;
        }
        let signal = if let Stop::Signal(signal) = stop { signal } else { 0 };
        let _ = ptrace::detach(self.task, signal);
        self.state = State::Gone;
    }

    /// Counts a stop and keeps what is to be done about it.
    fn note(&mut self, stop: Stop) {
        self.end_leap();
        self.state = match stop {
            Stop::Step => {
                if let Ok(next) = ptrace::next_instruction(self.task) {
                    self.step_to(next);
                }
                State::Stopped(0)
            }
            Stop::Interrupted => State::Stopped(0),
            Stop::Signal(signal) => State::Stopped(signal),
            Stop::Suspended => State::Suspended,
            Stop::Ended => State::Gone,
        };
    }

    fn step_to(&mut self, next: u64) {
        if next != self.next {
            self.next = next;
            self.instructions += 1;
            return;
        }
        // The same instruction again. A string instruction repeats, and is one however often it
        // does: clearing a large buffer would take seconds, so the rest is done in one leap.
        match ptrace::code(self.task, next).map(string::length) {
            Ok(Some(length)) => {
                self.leaps = ptrace::set_breakpoint(self.task, Some(next + length)).is_ok();
            }
            // A jump to itself.
            Ok(None) => self.instructions += 1,
            // The page ends within a few bytes: it goes on by steps.
            Err(_) => {}
        }
    }

    fn end_leap(&mut self) {
        if self.leaps {
            self.leaps = false;
            let _ = ptrace::set_breakpoint(self.task, None);
        }
    }
}

/// Whether a trap waits for a stopped task: the fifth bit of the signals that are pending for it.
fn has_trap_pending(task: u32) -> bool {
    let status = fs_err::read_to_string(format!("/proc/{task}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigPnd:"));
    let pending = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    pending.is_some_and(|mask| mask & (1 << (libc::SIGTRAP - 1)) != 0)
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
