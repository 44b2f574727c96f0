//! What servers leave in the kernel when they are killed: System V segments and semaphores, POSIX
//! shared memory.

#![allow(unsafe_code, reason = "System V removal has no safe interface")]

use fs_err as fs;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

const POSIX_FOLDER: &str = "/dev/shm/";

/// Shared memory by the process that was seen with it.
#[derive(Debug, Default)]
pub(super) struct Remains {
    posix: BTreeMap<u32, BTreeSet<PathBuf>>,
    segments: BTreeMap<u32, BTreeSet<i32>>,
}

impl Remains {
    /// Writes down what a process has mapped now.
    pub(super) fn note(&mut self, pid: u32) {
        let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let (posix, segments) = shared_in(&maps);
        self.posix.entry(pid).or_default().extend(posix);
        self.segments.entry(pid).or_default().extend(segments);
    }

    /// Removes what these processes, which have ended, made or had mapped.
    pub(super) fn remove(&mut self, pids: &BTreeSet<u32>) {
        let mut segments = created_by(pids, Path::new("/proc/sysvipc/shm"));
        for pid in pids {
            segments.extend(self.segments.remove(pid).unwrap_or_default());
            for path in self.posix.remove(pid).unwrap_or_default() {
                // Gone already is as good as removed.
                let _ = fs::remove_file(path);
            }
        }
        segments.into_iter().filter(|id| nobody_uses(*id)).for_each(remove_segment);
        semaphores_of(pids).into_iter().for_each(remove_semaphores);
    }
}

/// POSIX files and System V segments in the text of `/proc/PID/maps`; the inode of a segment is its
/// id.
fn shared_in(maps: &str) -> (Vec<PathBuf>, Vec<i32>) {
    let (mut posix, mut segments) = (Vec::new(), Vec::new());
    for line in maps.lines() {
        let mut fields = line.split_whitespace().skip(4);
        let (Some(inode), Some(name)) = (fields.next(), fields.next()) else { continue };
        let is_removed = fields.next() == Some("(deleted)");
        if name.starts_with("/SYSV") {
            segments.extend(inode.parse::<i32>());
        } else if name.starts_with(POSIX_FOLDER) && !is_removed {
            posix.push(PathBuf::from(name));
        }
    }
    (posix, segments)
}

/// Ids in `/proc/sysvipc/shm` whose creator is one of the processes.
fn created_by(pids: &BTreeSet<u32>, table: &Path) -> BTreeSet<i32> {
    let text = fs::read_to_string(table).unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let Some(head) = lines.next() else { return BTreeSet::new() };
    let column = |name: &str| head.iter().position(|field| *field == name);
    let (Some(id), Some(creator)) = (column("shmid"), column("cpid")) else {
        return BTreeSet::new();
    };
    lines
        .filter_map(|fields| {
            let creator: u32 = fields.get(creator)?.parse().ok()?;
            pids.contains(&creator).then(|| fields.get(id)?.parse().ok()).flatten()
        })
        .collect()
}

fn nobody_uses(segment: i32) -> bool {
    // SAFETY: `shmctl` fills a structure of the type that it documents, which is plain data.
    unsafe {
        let mut about: libc::shmid_ds = std::mem::zeroed();
        libc::shmctl(segment, libc::IPC_STAT, &raw mut about) == 0 && about.shm_nattch == 0
    }
}

fn remove_segment(segment: i32) {
    // SAFETY: removal by id takes no structure.
    let _ = unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) };
}

/// Semaphore sets that one of the processes was the last to change: Postgres 9.6 has them.
fn semaphores_of(pids: &BTreeSet<u32>) -> Vec<i32> {
    let text = fs::read_to_string("/proc/sysvipc/sem").unwrap_or_default();
    let sets = text.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let id: i32 = fields.next()?.parse().ok()?;
        Some((id, fields.nth(1)?.parse::<i32>().ok()?))
    });
    sets.filter(|(id, count)| {
        (0..*count).any(|number| {
            // SAFETY: this command takes no further argument.
            let pid = unsafe { libc::semctl(*id, number, libc::GETPID) };
            u32::try_from(pid).is_ok_and(|pid| pids.contains(&pid))
        })
    })
    .map(|(id, _)| id)
    .collect()
}

fn remove_semaphores(id: i32) {
    // SAFETY: removal by id takes no further argument.
    let _ = unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_found_in_maps() {
        let maps = "7f1-7f2 rw-s 00000000 00:01 98319 /SYSV0052e2c1 (deleted)\n\
                    7f2-7f3 rw-s 00000000 00:1a 12 /dev/shm/PostgreSQL.81\n\
                    7f3-7f4 rw-s 00000000 00:1a 13 /dev/shm/gone (deleted)\n\
                    7f4-7f5 r-xp 00000000 fe:00 14 /usr/lib/libc.so.6\n\
                    7f5-7f6 rw-p 00000000 00:00 0\n";
        let (posix, segments) = shared_in(maps);
        assert_eq!(posix, [PathBuf::from("/dev/shm/PostgreSQL.81")]);
        assert_eq!(segments, [98319]);
    }

    #[test]
    fn segments_are_told_by_their_creator() {
        let table = tempfile::NamedTempFile::new().unwrap();
        let text = "       key      shmid perms  size  cpid  lpid nattch\n\
                    5432001  7  600  56  100  100  0\n\
                    5432002  8  600  56  200  200  6\n";
        fs::write(table.path(), text).unwrap();
        assert_eq!(created_by(&BTreeSet::from([100, 300]), table.path()), BTreeSet::from([7]));
        assert_eq!(created_by(&BTreeSet::from([300]), table.path()), BTreeSet::new());
    }

    #[test]
    fn a_segment_and_a_file_that_a_process_left_are_removed() {
        // SAFETY: a private segment of one page, removed below whatever happens.
        let segment = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600) };
        assert!(segment >= 0);
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let me = std::process::id();
        let mut remains = Remains::default();
        remains.posix.entry(me).or_default().insert(file.path().to_owned());
        let exists = nobody_uses(segment);
        remains.remove(&BTreeSet::from([me]));
        assert!(exists);
        assert!(!nobody_uses(segment), "the segment is still there");
        assert!(!file.path().exists());
    }
}
