//! Whether this host lets us step, and how fast: found once by stepping a child process.

use super::{Stepper, leap::Pace};
use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Time for which the child is stepped: some thousand steps.
const TRIAL: Duration = Duration::from_millis(60);
/// Echoes that are counted by steps, and again by leaps.
const ECHOES: u32 = 5;

/// Whether tasks that this process started may be stepped; tried once and then remembered.
///
/// Debuggers, filters of system calls and `kernel.yama.ptrace_scope` may forbid it; servers that
/// somebody else started may be forbidden even where this is permitted.
pub fn stepping_permitted() -> bool {
    stepping_rate() > 0.0
}

/// Instructions per second that are counted by single steps on this host, to tell how many
/// operations can be stepped; 0 if none may be. Measured once on a small child process, and only
/// roughly: a busy host is slower, and code with longer ways between its branches is faster.
pub fn stepping_rate() -> f64 {
    found().1
}

/// Leaps, if they were found to count what steps count.
pub(super) fn pace() -> Pace {
    found().0
}

fn found() -> (Pace, f64) {
    static FOUND: OnceLock<(Pace, f64)> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let Some(mut echo) = Echo::start() else { return (Pace::Steps, 0.0) };
        let [by_steps, by_leaps] = [Pace::Steps, Pace::Leaps].map(|pace| echo.count(pace));
        let agree = by_steps.is_some() && by_steps == by_leaps;
        let pace = if agree { Pace::Leaps } else { Pace::Steps };
        (pace, echo.rate(pace).unwrap_or(0.0))
    })
}

/// A child that says what it hears.
struct Echo {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
}

impl Echo {
    fn start() -> Option<Self> {
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        let mut echo = Self { child, input, output };
        // The first echo tells that the child has started; its end would hide the answer.
        echo.one()?;
        Some(echo)
    }

    fn one(&mut self) -> Option<()> {
        self.input.write_all(b"x").ok()?;
        self.output.read_exact(&mut [0]).ok()
    }

    /// Instructions of some echoes.
    fn count(&mut self, pace: Pace) -> Option<u64> {
        let stepper = Stepper::attach_at(pace, &[self.child.id()], Duration::MAX).ok()?;
        for _ in 0..ECHOES {
            self.one()?;
        }
        Some(stepper.stop().ok()?.first()?.instructions)
    }

    fn rate(&mut self, pace: Pace) -> Option<f64> {
        let stepper = Stepper::attach_at(pace, &[self.child.id()], Duration::MAX).ok()?;
        let began = Instant::now();
        while began.elapsed() < TRIAL {
            self.one()?;
        }
        let seconds = began.elapsed().as_secs_f64();
        Some(stepper.stop().ok()?.first()?.instructions as f64 / seconds)
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        // It would end with its input, but that is closed only after this.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    #[test]
    fn a_rate_is_a_permission() {
        assert_eq!(stepping_permitted(), stepping_rate() > 0.0);
        assert!(stepping_rate().is_finite());
    }

    #[test]
    fn leaps_count_what_steps_count() {
        if !stepping_permitted() {
            println!("skipped: this host does not permit single steps");
            return;
        }
        // More than `cat` does: loops, calls through tables, comparisons of strings.
        let mut shell = Command::new("sh");
        let shell = shell.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut line = || {
            input.write_all(b"echo $((6 * 7)) abc${HOME:-none}\n").unwrap();
            let mut answer = [0; 11];
            output.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"42 abcnone\n");
        };
        line();
        line();
        let counts = [Pace::Steps, Pace::Leaps, Pace::Steps, Pace::Leaps].map(|pace| {
            let stepper = Stepper::attach_at(pace, &[child.id()], Duration::MAX).unwrap();
            line();
            stepper.stop().unwrap()[0].instructions
        });
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(counts[0] > 1000 && counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    }
}
