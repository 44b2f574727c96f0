//! What servers leave when they are killed: processes, control groups and, where they have no
//! namespaces of their own, System V segments and semaphores and POSIX shared memory. The keeper
//! writes it all down in the run's folder, so that whoever outlives the keeper can remove it.

#![allow(unsafe_code, reason = "System V removal has no safe interface")]

use crate::{
    Result, cgroup,
    process::{self, child_succeeds},
    task,
};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const POSIX_FOLDER: &str = "/dev/shm/";
const FILE: &str = "remains.json";
/// No keeper writes more; what is longer was not written by one.
const BYTES_MAX: u64 = 4 << 20;
/// Processes that do not die within this time hang in the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(3);

/// What one server has, by what was seen of its processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// Each process with its start time in ticks of the kernel, which tells it from a later one
    /// with the same number.
    processes: BTreeMap<u32, u64>,
    /// Those of the keeper's own namespace: what others make is not in its tables, where a later
    /// process may have their number.
    #[serde(default)]
    here: BTreeSet<u32>,
    posix: BTreeSet<PathBuf>,
    segments: BTreeSet<i32>,
    semaphores: BTreeSet<i32>,
}

/// What the servers of a run have in the system, by the first process of each.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Remains {
    /// The boot and the namespaces for which numbers mean something.
    world: String,
    /// The keeper and its start time.
    keeper: (u32, u64),
    /// Its control group.
    group: Option<PathBuf>,
    servers: BTreeMap<u32, Seen>,
    #[serde(skip)]
    file: Option<PathBuf>,
}

impl Remains {
    /// An account for this keeper in the folder of its run.
    pub(crate) fn begin(folder: &Path, group: Option<PathBuf>) -> Result<Self> {
        let me = std::process::id();
        let keeper = (me, task::start(me).unwrap_or(0));
        let servers = BTreeMap::new();
        let file = Some(folder.join(FILE));
        let remains = Self { world: world(), keeper, group, servers, file };
        remains.save()?;
        Ok(remains)
    }

    /// Writes down what processes of a server are, and what they have mapped now. Where the disk is
    /// full, this keeper knows it all the same.
    pub(crate) fn note(&mut self, server: u32, processes: &[u32]) {
        let seen = self.servers.entry(server).or_default();
        let before = seen.clone();
        let here = namespace("self");
        for pid in processes {
            let Some(start) = task::start(*pid) else { continue };
            seen.processes.insert(*pid, start);
            // Names and numbers of another namespace mean something else here, and the kernel
            // removes what they stand for. Whoever may not look at it, as root in most containers,
            // cannot make one either.
            let its = namespace(&pid.to_string());
            if its != here && !its.as_os_str().is_empty() {
                continue;
            }
            seen.here.insert(*pid);
            let maps = task::text(&format!("/proc/{pid}/maps"));
            let (posix, segments) = shared_in(&maps);
            seen.posix.extend(posix.into_iter().filter(|path| is_owner(*pid, path)));
            seen.segments.extend(segments);
        }
        seen.look();
        if *seen != before {
            let _ = self.save();
        }
    }

    /// Removes what the processes of a server, which have ended, made or had mapped.
    pub(crate) fn remove(&mut self, server: u32) {
        let Some(mut seen) = self.servers.remove(&server) else { return };
        seen.look();
        seen.remove();
        let _ = self.save();
    }

    /// Removes what all servers left, and the account itself.
    pub(crate) fn end(&mut self) {
        let servers: Vec<u32> = self.servers.keys().copied().collect();
        for server in servers {
            self.remove(server);
        }
        // Gone already is as good as removed.
        let _ = self.file.take().map(fs::remove_file);
    }

    /// Removes what a dead keeper of the run in `folder` has left: its servers, their shared memory
    /// and control groups. The caller holds the folder's lock.
    pub(crate) fn sweep(folder: &Path) {
        let Some(remains) = Self::read(folder) else { return };
        if remains.world == world() {
            remains.kill();
            remains.servers.values().for_each(Seen::remove);
        }
        let _ = fs::remove_file(folder.join(FILE));
    }

    /// Kills every process of the account that lives, and removes the control groups.
    fn kill(&self) {
        // Another process may have the keeper's number by now, and a group of that name.
        let (keeper, start) = self.keeper;
        let is_its = task::start(keeper).is_none_or(|other| other == start);
        let group = self.group.as_ref().filter(|_| is_its);
        let begin = Instant::now();
        loop {
            let groups = group.map(|group| cgroup::children(group)).unwrap_or_default();
            groups.iter().for_each(|group| cgroup::kill_all(group));
            let seen = self.servers.values().flat_map(|seen| &seen.processes);
            let alive = seen.filter(|(pid, start)| task::start(**pid) == Some(**start));
            let alive: Vec<u32> = alive.map(|(pid, _)| *pid).collect();
            alive.iter().for_each(|pid| process::send(*pid, Signal::KILL));
            let left = groups.iter().any(|group| !cgroup::processes(group).is_empty());
            if (alive.is_empty() && !left) || begin.elapsed() > KILL_LIMIT {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        group.into_iter().for_each(|group| cgroup::remove(group, Duration::from_secs(1)));
    }

    /// The account in a folder, if this user wrote it: the servers' user may write there as well.
    fn read(folder: &Path) -> Option<Self> {
        let mut options = fs::OpenOptions::new();
        let file = options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = file.open(folder.join(FILE)).ok()?;
        let about = file.metadata().ok()?;
        let me = rustix::process::geteuid().as_raw();
        let is_ours = about.is_file() && about.uid() == me && about.nlink() == 1;
        if !is_ours || about.mode() & 0o022 != 0 || about.len() > BYTES_MAX {
            return None;
        }
        let mut bytes = Vec::new();
        file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        serde_json::from_slice(&bytes).ok()
    }

    fn save(&self) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let text = serde_json::to_vec(self).map_err(std::io::Error::from)?;
        let new = file.with_extension("new");
        // A link of this name is removed, not followed.
        let _ = fs::remove_file(&new);
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(0o600).open(&new)?.write_all(&text)?;
        Ok(fs::rename(&new, file)?)
    }
}

impl Seen {
    /// Looks for what its processes made and may not have mapped.
    fn look(&mut self) {
        self.segments.extend(created_by(&self.here, Path::new("/proc/sysvipc/shm")));
        self.semaphores.extend(semaphores_of(&self.here));
    }

    fn remove(&self) {
        for path in self.posix.iter().filter(|path| path.parent() == Some(Path::new("/dev/shm"))) {
            // Gone already is as good as removed.
            let _ = fs::remove_file(path);
        }
        self.segments.iter().copied().filter(|id| nobody_uses(*id)).for_each(remove_segment);
        self.semaphores.iter().copied().for_each(remove_semaphores);
    }
}

/// Whether a file belongs to the user of a process: whatever a server maps of others stays.
fn is_owner(pid: u32, path: &Path) -> bool {
    let process = fs::metadata(format!("/proc/{pid}"));
    let file = fs::symlink_metadata(path);
    process.is_ok_and(|process| file.is_ok_and(|file| file.uid() == process.uid()))
}

/// Names this boot and the namespaces of System V numbers and of process numbers.
fn world() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let processes = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!("{} {} {}", boot.trim(), namespace("self").display(), processes.display())
}

/// The namespace of a process's System V objects.
fn namespace(process: &str) -> PathBuf {
    fs::read_link(format!("/proc/{process}/ns/ipc")).unwrap_or_default()
}

/// POSIX files and System V segments in the text of `/proc/PID/maps`; the inode of a segment is its
/// id.
fn shared_in(maps: &str) -> (Vec<PathBuf>, Vec<i32>) {
    let (mut posix, mut segments) = (Vec::new(), Vec::new());
    for line in maps.lines() {
        let mut fields = line.split_whitespace().skip(1);
        // What is preloaded may lie there too, and is private to each process.
        let is_shared = fields.next().is_some_and(|rights| rights.ends_with('s'));
        let mut fields = fields.skip(2);
        let (Some(inode), Some(name)) = (fields.next(), fields.next()) else { continue };
        let is_removed = fields.next() == Some("(deleted)");
        if name.starts_with("/SYSV") {
            segments.extend(inode.parse::<i32>());
        } else if is_shared && name.starts_with(POSIX_FOLDER) && !is_removed {
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
    state_of(segment).is_some_and(|about| about.shm_nattch == 0)
}

fn state_of(segment: i32) -> Option<libc::shmid_ds> {
    // SAFETY: `shmctl` fills a structure of the type that it documents, which is plain data.
    unsafe {
        let mut about: libc::shmid_ds = std::mem::zeroed();
        (libc::shmctl(segment, libc::IPC_STAT, &raw mut about) == 0).then_some(about)
    }
}

fn remove_segment(segment: i32) {
    // SAFETY: removal by id takes no structure.
    let remove = || unsafe { libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut()) } == 0;
    let _ = remove() || state_of(segment).is_some_and(|about| as_user(about.shm_perm.uid, remove));
}

/// Whether a child does `act` as another user. Where root lacks rights, as in containers, it may
/// not remove what belongs to others, and may still become them.
fn as_user(user: u32, act: impl Fn() -> bool) -> bool {
    // SAFETY: the call changes the child only, which does nothing else afterwards.
    child_succeeds(|| unsafe { libc::setuid(user) } == 0 && act())
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
    let remove = || unsafe { libc::semctl(id, 0, libc::IPC_RMID) } == 0;
    let _ = remove() || owner_of_semaphores(id).is_some_and(|user| as_user(user, remove));
}

fn owner_of_semaphores(id: i32) -> Option<u32> {
    // SAFETY: `semctl` fills a structure of the type that it documents, which is plain data.
    unsafe {
        let mut about: libc::semid_ds = std::mem::zeroed();
        let found = libc::semctl(id, 0, libc::IPC_STAT, &raw mut about);
        (found == 0).then_some(about.sem_perm.uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_found_in_maps() {
        let maps = "7f1-7f2 rw-s 00000000 00:01 98319 /SYSV0052e2c1 (deleted)\n\
                    7f2-7f3 rw-s 00000000 00:1a 12 /dev/shm/PostgreSQL.81\n\
                    7f3-7f4 rw-s 00000000 00:1a 13 /dev/shm/gone (deleted)\n\
                    7f3-7f4 r-xp 00000000 00:1a 15 /dev/shm/libjemalloc.so.2\n\
                    7f4-7f5 r-xp 00000000 fe:00 14 /usr/lib/libc.so.6\n\
                    7f5-7f6 rw-p 00000000 00:00 0\n";
        let (posix, segments) = shared_in(maps);
        assert_eq!(posix, [PathBuf::from("/dev/shm/PostgreSQL.81")]);
        assert_eq!(segments, [98319]);
    }

    #[test]
    fn shared_memory_of_another_user_is_not_the_servers() {
        let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let me = std::process::id();
        assert!(is_owner(me, file.path()));
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root has files of other users");
            return;
        }
        std::os::unix::fs::chown(file.path(), Some(64_321), None).unwrap();
        assert!(!is_owner(me, file.path()));
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
        let seen = remains.servers.entry(me).or_default();
        seen.here.insert(me);
        seen.posix.insert(file.path().to_owned());
        let exists = nobody_uses(segment);
        remains.remove(me);
        assert!(exists);
        assert!(!nobody_uses(segment), "the segment is still there");
        assert!(!file.path().exists());
    }

    #[test]
    fn what_a_dead_keeper_left_is_swept_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut remains = Remains::begin(folder.path(), None).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        remains.note(child.id(), &[child.id()]);
        let shared = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
        let outside = tempfile::NamedTempFile::new().unwrap();
        let seen = remains.servers.get_mut(&child.id()).unwrap();
        seen.posix.extend([shared.path().to_owned(), outside.path().to_owned()]);
        remains.save().unwrap();
        Remains::sweep(folder.path());
        assert!(!child.wait().unwrap().success(), "it was killed");
        assert!(!shared.path().exists());
        assert!(outside.path().exists(), "only shared memory is removed");
        assert!(Remains::read(folder.path()).is_none());
    }

    #[test]
    fn an_account_of_another_boot_or_by_a_link_is_not_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mut remains = Remains::begin(folder.path(), None).unwrap();
        remains.note(child.id(), &[child.id()]);
        remains.world = "another boot".to_owned();
        remains.save().unwrap();
        Remains::sweep(folder.path());
        assert!(child.try_wait().unwrap().is_none(), "its number means another process there");
        remains.world = world();
        remains.save().unwrap();
        fs::rename(&file, folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
        Remains::sweep(folder.path());
        assert!(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
