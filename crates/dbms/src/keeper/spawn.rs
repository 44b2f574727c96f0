//! Starting a server so that it cannot outlive its keeper.

#![allow(unsafe_code, reason = "what a child does between fork and exec has no safe interface")]

use super::{apart::Apart, message::Spawn};
use crate::process::child_succeeds;
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use std::{
    io,
    os::{fd::AsRawFd, unix::process::CommandExt},
    path::Path,
    process::{Command, Stdio},
};

/// Open files of a server, at most: in containers millions may be permitted, and MySQL 5 fills a
/// table with an entry for each, gigabytes of memory.
const FILES_MAX: libc::rlim_t = 1 << 20;

/// Where a process runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Site<'a> {
    /// Its control group.
    pub(super) group: Option<&'a Path>,
    /// The one that limits its memory.
    pub(super) memory: Option<&'a Path>,
    /// Its own namespaces.
    pub(super) apart: Option<&'a Apart>,
}

/// Starts a process and returns its number. The calling thread must live as long as the process
/// may.
pub(super) fn spawn(spawn: &Spawn, site: Site<'_>) -> io::Result<u32> {
    let Some((program, arguments)) = spawn.words.split_first() else {
        return Err(io::Error::other("a command has no words"));
    };
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let log = options.open(&spawn.log)?;
    let input = match &spawn.input {
        Some(path) => Stdio::from(fs::File::open(path)?.into_file()),
        None => Stdio::null(),
    };
    let groups = site.group.into_iter().chain(site.memory);
    let joins =
        groups.map(|group| fs::OpenOptions::new().write(true).open(group.join("cgroup.procs")));
    let joins: Vec<fs::File> = joins.collect::<io::Result<_>>()?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(spawn.environment.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(input)
        .stdout(log.file().try_clone()?)
        .stderr(log.into_file());
    let (user, apart) = (spawn.user, site.apart.cloned());
    let keeper = std::process::id();
    // SAFETY: the closure runs in the child between fork and exec, makes system calls only,
    // allocates nothing and takes no lock; the descriptors in `joins` are open because the closure
    // owns them.
    unsafe {
        command.pre_exec(move || {
            let check = |done| if done { Ok(()) } else { Err(io::Error::last_os_error()) };
            for join in &joins {
                check(libc::write(join.file().as_raw_fd(), c"0".as_ptr().cast(), 1) == 1)?;
            }
            if let Some(apart) = &apart {
                apart.enter()?;
            }
            if let Some(user) = user {
                check(libc::setgroups(1, &raw const user.gid) == 0)?;
                check(libc::setgid(user.gid) == 0)?;
                check(libc::setuid(user.uid) == 0)?;
            }
            limit_files(FILES_MAX)?;
            let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            check(libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core) == 0)?;
            // After the change of user, which clears it.
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) == 0)?;
            // The keeper may have died before the line above.
            check(u32::try_from(libc::getppid()) == Ok(keeper))
        });
    }
    command.spawn().map(|child| child.id()).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot execute `{program}`: {error}"))
    })
}

/// Lowers the limit of open files of the calling process where it is higher. Makes system calls
/// only.
fn limit_files(most: libc::rlim_t) -> io::Result<()> {
    let mut files = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes to and reads from a place of this type, which outlives the calls.
    let done = unsafe {
        let read = libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut files) == 0;
        let is_higher = read && files.rlim_cur > most;
        files.rlim_cur = files.rlim_cur.min(most);
        read && (!is_higher || libc::setrlimit(libc::RLIMIT_NOFILE, &raw const files) == 0)
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a process may be put into this group: a child tries, because moving the keeper would be
/// for good.
pub(super) fn can_join(group: &Path) -> bool {
    let file = fs::OpenOptions::new().write(true).open(group.join("cgroup.procs"));
    let Ok(file) = file else { return false };
    let descriptor = file.file().as_raw_fd();
    // SAFETY: the descriptor is open and the byte is static.
    child_succeeds(|| unsafe { libc::write(descriptor, c"0".as_ptr().cast(), 1) } == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_open_so_many_files_and_no_more_than_before() {
        let limit = |most: libc::rlim_t| -> libc::rlim_t {
            let mut command = Command::new("sh");
            command.args(["-c", "ulimit -Sn"]);
            // SAFETY: it makes system calls only.
            unsafe { command.pre_exec(move || limit_files(most)) };
            let said = command.output().unwrap().stdout;
            String::from_utf8(said).unwrap().trim().parse().unwrap_or(libc::RLIM_INFINITY)
        };
        let before = limit(libc::RLIM_INFINITY);
        assert_eq!([limit(100), limit(before)], [100, before]);
    }
}
