//! Freezing a server: by its control group, or by SIGSTOP to each of its processes.

use crate::{Result, cgroup, process::send, task};
use rustix::process::Signal;
use std::{
    io,
    path::PathBuf,
    time::{Duration, Instant},
};

/// A task that waits for a slow disk can be neither frozen nor stopped before the disk answers.
const LIMIT: Duration = Duration::from_secs(60);
/// Rounds of signals after which all that are stopped go on for a moment.
const ROUNDS: u32 = 100;

/// How one server is frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Freezer {
    /// By its group of version 2.
    Group(PathBuf),
    /// By SIGSTOP and SIGCONT to a process and all below it.
    Signals {
        pid: u32,
        /// When it was started, which tells it from a later process with its number.
        start: Option<u64>,
    },
}

impl Freezer {
    /// By signals, for a process that was just started or is a child that nobody has waited for.
    pub(crate) fn of_process(pid: u32) -> Self {
        Self::Signals { pid, start: task::start(pid) }
    }

    /// Processes of the server.
    pub(crate) fn processes(&self) -> Vec<u32> {
        match self {
            Self::Group(group) => cgroup::processes(group),
            Self::Signals { pid, start } if task::start(*pid) == *start => task::family(*pid),
            Self::Signals { .. } => Vec::new(),
        }
    }

    /// Returns when nothing of the server executes any more.
    pub(crate) fn freeze(&self) -> Result<()> {
        self.freeze_within(LIMIT)
    }

    /// The same, with an error after another limit.
    pub(crate) fn freeze_within(&self, limit: Duration) -> Result<()> {
        match self {
            Self::Group(group) => cgroup::set_frozen(group, "1", limit),
            Self::Signals { .. } => self.stop_all(limit),
        }
    }

    /// Returns when the server may execute again.
    pub(crate) fn thaw(&self) -> Result<()> {
        match self {
            Self::Group(group) => cgroup::set_frozen(group, "0", LIMIT),
            Self::Signals { .. } => {
                self.processes().iter().for_each(|pid| send(*pid, Signal::CONT));
                Ok(())
            }
        }
    }

    // A process that was not stopped yet may have made another one meanwhile, so it goes round
    // until all that are there are stopped. One that waits for its child of a `vfork` stops only
    // after that child has gone on.
    fn stop_all(&self, limit: Duration) -> Result<()> {
        let (start, mut rounds) = (Instant::now(), 0_u32);
        loop {
            let processes = self.processes();
            let running: Vec<u32> = processes.into_iter().filter(|pid| !is_stopped(*pid)).collect();
            if running.is_empty() {
                return Ok(());
            }
            if start.elapsed() > limit {
                let text = format!("processes {running:?} do not stop");
                return Err(io::Error::new(io::ErrorKind::TimedOut, text).into());
            }
            rounds += 1;
            if rounds.is_multiple_of(ROUNDS) {
                self.thaw()?;
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            running.iter().for_each(|pid| send(*pid, Signal::STOP));
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

fn is_stopped(pid: u32) -> bool {
    task::stat(pid).is_none_or(|stat| matches!(stat.state, 'T' | 't' | 'Z' | 'X'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_stop_a_family_and_let_it_go_on() {
        let mut child =
            std::process::Command::new("sh").args(["-c", "sleep 60 & sleep 60"]).spawn().unwrap();
        let freezer = Freezer::of_process(child.id());
        while freezer.processes().len() < 3 {
            std::thread::sleep(Duration::from_millis(5));
        }
        freezer.freeze().unwrap();
        let stopped = freezer.processes();
        assert_eq!(stopped.len(), 3);
        assert!(stopped.iter().all(|pid| is_stopped(*pid)));
        freezer.thaw().unwrap();
        let running = stopped.iter().filter(|pid| !is_stopped(**pid)).count();
        stopped.iter().rev().for_each(|pid| send(*pid, Signal::KILL));
        child.wait().unwrap();
        assert_eq!(running, 3);
    }

    #[test]
    fn a_later_process_with_the_number_of_a_server_is_not_stopped() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let Freezer::Signals { pid, start } = Freezer::of_process(child.id()) else { panic!() };
        let earlier = Freezer::Signals { pid, start: start.map(|ticks| ticks - 1) };
        earlier.freeze().unwrap();
        let stopped = is_stopped(pid);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((earlier.processes(), stopped), (Vec::new(), false));
    }

    /// Its parent is not stopped before it has replaced itself, and it is stopped before that.
    #[test]
    fn a_parent_that_waits_for_its_child_is_stopped_too() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("wait.c"), folder.path().join("wait"));
        let text = "#include <unistd.h>\n\
                    int main(void) { if (!vfork()) { while (access(\"go\", F_OK)) usleep(1000); \
                    _exit(0); } sleep(60); }\n";
        fs_err::write(&source, text).unwrap();
        let mut compiler = std::process::Command::new("cc");
        assert!(compiler.arg("-w").arg("-o").args([&program, &source]).status().unwrap().success());
        let mut started = std::process::Command::new(&program);
        let mut child = started.current_dir(folder.path()).spawn().unwrap();
        let freezer = Freezer::of_process(child.id());
        while freezer.processes().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (go, looked) = (folder.path().join("go"), freezer.clone());
        let ending = std::thread::spawn(move || {
            // Not before somebody is being stopped, which may be later on a busy host.
            let limit = Instant::now() + LIMIT;
            let begins = || looked.processes().iter().any(|pid| is_stopped(*pid));
            while !begins() && Instant::now() < limit {
                std::thread::sleep(Duration::from_millis(5));
            }
            fs_err::write(go, "").unwrap();
        });
        let frozen = freezer.freeze();
        ending.join().unwrap();
        send(child.id(), Signal::KILL);
        freezer.processes().iter().for_each(|pid| send(*pid, Signal::KILL));
        child.wait().unwrap();
        frozen.unwrap();
    }
}
