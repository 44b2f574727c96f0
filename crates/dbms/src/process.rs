//! A process by its number: sending signals to it, waiting for its end, and what that was.

#![allow(unsafe_code, reason = "a child for one system call has no safe interface")]

use crate::{Error, Result, folder::file_error};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open},
};
use std::{
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::Path,
    time::Duration,
};

/// A script of the shell that executes its arguments, and kills the group of processes when its
/// input ends: that is when whoever holds the other end lets go of it, or dies.
pub(crate) const GUARD: &str =
    "exec 3<&0 </dev/null; { read -r _ <&3; kill -KILL 0; } & exec 3<&-; exec \"$@\"";

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(formatter, "exit code {code}"),
            (None, Some(signal)) => write!(formatter, "signal {signal}"),
            (None, None) => write!(formatter, "unknown end"),
        }
    }
}

/// Names a process among all on this host: its number and that of the namespace which gave it. In
/// a container the numbers of processes outside are nobody's, or somebody else's.
pub(crate) fn host_wide(pid: u32) -> String {
    let namespace = fs_err::metadata("/proc/self/ns/pid").map_or(0, |about| about.ino());
    format!("{namespace}-{pid}")
}

/// Sends a signal to a process; one that is gone is no error.
pub(crate) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Whether a process ends within a time, and before a signal arrives.
pub(crate) fn ended_within(process: &OwnedFd, limit: Duration) -> bool {
    let limit = Timespec::try_from(limit).ok();
    let mut fds = [PollFd::new(process, PollFlags::IN)];
    poll(&mut fds, limit.as_ref()).is_ok_and(|count| count > 0)
}

/// A descriptor of a process, which stays valid when its number is used again.
pub(crate) fn open(pid: u32) -> Result<OwnedFd> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| Error::Keeper { reason: format!("no process is {pid}") })?;
    pidfd_open(number, PidfdFlags::empty()).map_err(|error| no_descriptor(pid, error))
}

/// Why there is no descriptor of a process: the kernel has none, or a filter of a container does
/// not know the call.
fn no_descriptor(pid: u32, error: Errno) -> Error {
    if !matches!(error, Errno::NOSYS | Errno::PERM) {
        return file_error(Path::new(&format!("/proc/{pid}")), error);
    }
    let error = std::io::Error::from(error);
    let text = format!(
        "this host gives no descriptors of processes (`pidfd_open`: {error}): take Linux 5.3 or \
         newer, and in a container a seccomp profile that permits this call"
    );
    std::io::Error::new(error.kind(), text).into()
}

/// Whether a child of the keeper does `act`, which makes system calls only.
pub(crate) fn child_succeeds(act: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child makes system calls only, which is sound beside other threads too.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let code = i32::from(!act());
        // SAFETY: `_exit` runs nothing of the parent's.
        unsafe { libc::_exit(code) };
    }
    if child < 0 {
        return false;
    }
    let mut status = 0;
    // SAFETY: `child` is a child of this process and `status` outlives the call.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_without_descriptors_of_processes_is_told_from_a_process_that_is_gone() {
        let check = |error: Errno, expected: &str| {
            let said = no_descriptor(7, error).to_string();
            assert!(said.contains(expected), "{said}");
        };
        check(Errno::NOSYS, "take Linux 5.3 or newer");
        check(Errno::PERM, "a seccomp profile that permits this call");
        check(Errno::SRCH, "`/proc/7`");
    }
}
