//! Namespaces of a server: it has its own System V objects and its own `/dev/shm`. The kernel
//! removes both with the server's last process, however that process and the keeper end.

#![allow(unsafe_code, reason = "what a child does between fork and exec has no safe interface")]

use super::message::Spawn;
use crate::{process::child_succeeds, task};
use std::{ffi::CString, io};

const POSIX_FOLDER: &str = "/dev/shm";
/// Options of the host's `/dev/shm` that decide how much fits and on which pages it lies.
const KEPT_OPTIONS: &[&str] = &["size", "nr_inodes", "huge"];

/// What a process needs to enter namespaces of its own.
#[derive(Debug, Clone)]
pub(super) struct Apart {
    options: CString,
}

impl Apart {
    /// None where this host does not permit it: only root may, and some containers forbid it.
    pub(super) fn permitted() -> Option<Self> {
        let mounts = task::text("/proc/self/mounts");
        let apart = Self { options: CString::new(options_in(&mounts)).ok()? };
        child_succeeds(|| apart.enter().is_ok()).then_some(apart)
    }

    /// Moves the calling process. Makes system calls only, so it may run between fork and exec.
    pub(super) fn enter(&self) -> io::Result<()> {
        let check = |code| if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
        // SAFETY: all pointers are to terminated strings that outlive the calls, or null where the
        // kernel ignores them.
        unsafe {
            check(libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWIPC))?;
            // What the host unmounts later goes here too, and nothing goes from here to the host.
            let (none, slave) = (std::ptr::null(), libc::MS_SLAVE | libc::MS_REC);
            check(libc::mount(none, c"/".as_ptr(), none, slave, std::ptr::null()))?;
            check(libc::mount(
                c"tmpfs".as_ptr(),
                c"/dev/shm".as_ptr(),
                c"tmpfs".as_ptr(),
                libc::MS_NOSUID | libc::MS_NODEV,
                self.options.as_ptr().cast(),
            ))
        }
    }
}

/// Whether files that a process names lie in the host's `/dev/shm`, which it could not see apart.
pub(super) fn hides_files_of(spawn: &Spawn) -> bool {
    let values = spawn.environment.iter().map(|(_, value)| value);
    let mut texts = spawn.words.iter().chain(values);
    spawn.names_shared || texts.any(|text| text.contains("/dev/shm/"))
}

/// Options for another `/dev/shm` like the one in the text of `/proc/self/mounts`.
fn options_in(mounts: &str) -> String {
    let mut found = String::from("mode=1777");
    let mut fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    // The last one covers the others.
    let shared = fields.rfind(|fields| fields.get(1) == Some(&POSIX_FOLDER));
    for option in shared.iter().filter_map(|fields| fields.get(3)).flat_map(|all| all.split(',')) {
        let name = option.split('=').next().unwrap_or_default();
        if KEPT_OPTIONS.contains(&name) {
            found.push(',');
            found.push_str(option);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;
    use std::{os::unix::process::CommandExt, path::Path, process::Command};

    #[test]
    fn shared_memory_is_as_large_as_the_hosts() {
        let check = |mounts, expected| assert_eq!(options_in(mounts), expected, "{mounts}");
        check("proc /proc proc rw 0 0\n", "mode=1777");
        check(
            "tmpfs /dev/shm tmpfs rw,size=9k 0 0\n\
             tmpfs /dev/shm tmpfs rw,nosuid,size=2468k,huge=advise,inode64 0 0\n",
            "mode=1777,size=2468k,huge=advise",
        );
    }

    #[test]
    fn files_in_shared_memory_are_not_hidden() {
        let check = |words: &[&str], value: &str, [names_shared, expected]: [bool; 2]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            let environment = vec![("LD_PRELOAD".to_owned(), value.to_owned())];
            let (input, log, memory) = (None, "/log".into(), None);
            let spawn = Spawn { words, environment, user: None, input, log, memory, names_shared };
            assert_eq!(hides_files_of(&spawn), expected, "{spawn:?}");
        };
        check(&["/b/postgres", "-D", "/data"], "", [false, false]);
        check(&["/b/postgres", "-D", "/dev/shm/data"], "", [false, true]);
        check(&["/b/mysqld", "--defaults-file=/dev/shm/conf"], "", [false, true]);
        check(&["/b/mysqld"], "/dev/shm/lib.so", [false, true]);
        check(&["/b/mysqld"], "", [true, true]);
    }

    #[test]
    fn what_a_process_apart_shares_is_not_seen_outside_and_ends_with_it() {
        let Some(apart) = Apart::permitted() else {
            println!("skipped: only root has namespaces of its own");
            return;
        };
        let file = format!("/dev/shm/dbdyno-apart-{}", std::process::id());
        let script = format!(
            "echo x > {file} && ipcmk -M 4096 > {file}.id && ls /dev/shm && \
             grep -c ' 4096 ' /proc/sysvipc/shm && readlink /proc/self/ns/ipc"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        // SAFETY: `enter` makes system calls only.
        unsafe { command.pre_exec(move || apart.enter()) };
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = said.lines().collect();
        let name = file.trim_start_matches("/dev/shm/");
        let own = [name, &format!("{name}.id"), "1"];
        assert_eq!(lines[..3], own, "it sees its own and nothing else: {said}");
        assert!(!Path::new(&file).exists());
        let here = fs::read_link("/proc/self/ns/ipc").unwrap();
        assert_ne!(Path::new(lines[3]), here, "its segments are not ours");
    }
}
