//! What this process may use: open files (every attached counter is one) and memory.

use crate::{Error, Roots};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;

/// Open files left for everything else in this process.
const RESERVE: u64 = 64;

/// Raises the number of files that this process may open to its hard limit, and returns it.
///
/// Processes started later inherit the limit, and some servers size their caches by it: so call
/// this before the first server starts, or give servers a limit of their own.
pub fn raise_file_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        // A failure shows when the files are needed, with the remedy.
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Makes room for `needed` more open files, and leaves the limit as it is where there is room.
pub(crate) fn make_room(needed: u64) -> Result<(), Error> {
    let wanted = needed.saturating_add(open_files()).saturating_add(RESERVE);
    let current = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if current >= wanted {
        return Ok(());
    }
    let limit = raise_file_limit();
    if limit >= wanted { Ok(()) } else { Err(Error::Files { needed, limit }) }
}

/// Memory that this process and what it starts may still use, bytes: what the kernel calls
/// available, but no more than the control groups of version 2 around this process permit, as in a
/// container. None where it is not told.
pub fn available_memory(roots: &Roots) -> Option<u64> {
    let meminfo = fs_err::read_to_string(roots.proc.join("meminfo")).ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let available = kib.checked_mul(1024)?;
    let groups = fs_err::read_to_string(roots.proc.join("self/cgroup")).unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let tree = roots.sys.join("fs/cgroup");
    // Without a limit it says `max`.
    let limit = |group: &Path| -> Option<u64> {
        let text = fs_err::read_to_string(tree.join(group).join("memory.max")).ok()?;
        text.trim().parse().ok()
    };
    Some(Path::new(own).ancestors().filter_map(limit).fold(available, u64::min))
}

fn open_files() -> u64 {
    fs_err::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn available_memory_is_the_kernels_and_no_more_than_groups_permit() {
        let fake = FakeProc::new();
        let roots = Roots { proc: fake.root().into(), sys: fake.root().join("s") };
        let check = |expected| assert_eq!(available_memory(&roots), expected);
        check(None);
        fake.write("meminfo", "MemTotal:  5 kB\n");
        check(None);
        fake.write("meminfo", "MemAvailable: many kB\n");
        check(None);
        fake.write("meminfo", "MemTotal: 16265112 kB\nMemAvailable:    2048 kB\n");
        check(Some(2 << 20));
        fake.write("self/cgroup", "0::/a/b\n").write("s/fs/cgroup/a/b/memory.max", "max\n");
        check(Some(2 << 20));
        fake.write("s/fs/cgroup/a/memory.max", "1048576\n");
        check(Some(1 << 20));
        // A container may see its own group at the root, whatever it is called outside.
        fake.write("s/fs/cgroup/memory.max", "4096\n");
        check(Some(4096));
    }

    #[test]
    fn more_files_than_the_hard_limit_are_refused_with_the_remedy() {
        assert!(make_room(1).is_ok());
        let hard = getrlimit(Resource::Nofile).maximum;
        let Some(hard) = hard else { return };
        let message = make_room(hard).expect_err("more than the limit").to_string();
        assert!(message.contains("ulimit -n"), "{message}");
    }
}
