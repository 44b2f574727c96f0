//! Whether this host lets us step, found once by stepping a child process.

use super::Stepper;
use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

/// Time for which the child is stepped: some thousand steps.
const TRIAL: Duration = Duration::from_millis(60);

/// Whether tasks that this process started may be stepped; tried once and then remembered.
///
/// Debuggers, filters of system calls and `kernel.yama.ptrace_scope` may forbid it; servers that
/// somebody else started may be forbidden even where this is permitted.
pub fn stepping_permitted() -> bool {
    steps_per_second() > 0.0
}

/// Steps per second on this host, to tell how many operations can be stepped; 0 if none may be.
/// Measured once on a small child process, and only roughly: a busy host is slower.
pub fn steps_per_second() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| rate().unwrap_or(0.0))
}

fn rate() -> Option<f64> {
    let mut child =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    let rate = rate_of(&mut child);
    drop(child.stdin.take());
    // The tracer may have seen its end already.
    let _ = child.wait();
    rate
}

fn rate_of(child: &mut Child) -> Option<f64> {
    let (mut input, mut output) = (child.stdin.take()?, child.stdout.take()?);
    let mut echo = || -> std::io::Result<()> {
        input.write_all(b"x")?;
        output.read_exact(&mut [0])
    };
    // The first echo tells that the child has started; its end would hide the answer.
    echo().ok()?;
    let stepper = Stepper::attach(&[child.id()]).ok()?;
    let began = Instant::now();
    while began.elapsed() < TRIAL {
        echo().ok()?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let counts = stepper.stop().ok()?;
    Some(counts.first()?.instructions as f64 / seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_permission() {
        assert_eq!(stepping_permitted(), steps_per_second() > 0.0);
        assert!(steps_per_second().is_finite());
    }
}
