//! One task that is stepped: where it is, what its stops mean, and its count.

use super::{
    leap::{Landing, Leaps, Pace},
    ptrace,
};
use rustix::process::WaitStatus;
use std::io;

pub(super) struct Tracee {
    pub(super) task: u32,
    state: State,
    /// Address of the next instruction, after a step or a leap.
    at: Option<u64>,
    /// The first step ends the system call that the task slept in, and counts; the last one is
    /// missing in return.
    pub(super) instructions: u64,
    leaps: Leaps,
    /// Whether it is not known what was executed.
    pub(super) strayed: bool,
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

/// What the kernel reports about a task.
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
    pub(super) fn seize(task: u32, pace: Pace) -> io::Result<Self> {
        ptrace::seize(task)?;
        // It fails only for a task that has ended, which waiting tells.
        let _ = ptrace::interrupt(task);
        let leaps = Leaps::new(task, pace);
        Ok(Self { task, state: State::Seized, at: None, instructions: 0, leaps, strayed: false })
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

    /// Counts a stop and lets the task take its next step or leap. Requests fail only for a task
    /// that is being killed: waiting will tell its end.
    pub(super) fn answer(&mut self, stop: Stop) {
        self.note(stop);
        match self.state {
            State::Stopped(signal) => {
                self.state = State::Working;
                let _ = self.advance(signal);
            }
            State::Suspended => {
                let _ = ptrace::listen(self.task);
            }
            State::Seized | State::Working | State::Gone => {}
        }
    }

    /// Leaps only on from a step or a leap: after an interruption a system call may start again,
    /// and a signal leads to its handler.
    fn advance(&mut self, signal: i32) -> io::Result<()> {
        if self.at.is_some_and(|at| self.leaps.prepare(at)) {
            return ptrace::go_on(self.task);
        }
        self.leaps.disable();
        ptrace::step(self.task, signal)
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
        self.leaps.disable();
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
        let at = ptrace::next_instruction(self.task).ok();
        match self.leaps.end(at) {
            Landing::Leapt(instructions) => self.instructions += instructions,
            Landing::Strayed => self.strayed = true,
            Landing::Stepped if stop == Stop::Step => self.instructions += 1,
            Landing::Stepped => {}
        }
        self.at = at.filter(|_| stop == Stop::Step);
        self.state = match stop {
            Stop::Step | Stop::Interrupted => State::Stopped(0),
            Stop::Signal(signal) => State::Stopped(signal),
            Stop::Suspended => State::Suspended,
            Stop::Ended => State::Gone,
        };
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
