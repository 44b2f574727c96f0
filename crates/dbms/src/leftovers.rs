//! Folders of runs: each belongs to one process at a time, and what a killed run has left is found
//! and removed by the next one.
//!
//! Whoever holds the lock in a folder owns it. Locks are taken, and folders leave the place of
//! their name, only while the gate beside them is held, so nobody takes a lock that is about to
//! vanish.

use crate::{Error, Result, folder::file_error, remains::Remains};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
};
use std::{
    io::ErrorKind,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime},
};

/// Held by the process that uses a run's folder, and by its keeper.
const LOCK: &str = "lock";
/// Says that the user asked for the folder to stay.
pub(crate) const KEPT: &str = "kept";
/// Held for the moment in which a lock is taken or a folder renamed.
const GATE: &str = ".gate";
/// Prefix of folders that are being removed.
const REMOVED: &str = ".removed-";

/// A keeper whose run was killed has ended all servers within this time.
pub(crate) const KEEPER_LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);
/// A folder that has no lock after this time is no longer being made: it is half removed.
const MAKING_LIMIT: Duration = Duration::from_secs(60);

/// Makes a run's folder by `make`, which may find it there, and takes its lock, which the file
/// holds as long as it or a copy of it is open. Waits for the keeper of a killed run. Fails where
/// another process keeps the lock, and where the file system has no locks.
pub(crate) fn claim(folder: &Path, make: impl Fn(&Path) -> Result<()>) -> Result<fs::File> {
    let start = Instant::now();
    loop {
        let gate = gate(folder)?;
        make(folder)?;
        let lock = open(&folder.join(LOCK))?;
        if try_lock(&lock)? {
            return Ok(lock);
        }
        drop(gate);
        if start.elapsed() > KEEPER_LIMIT {
            return Err(Error::FolderInUse { path: folder.to_owned() });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes every folder below `runs` whose processes are gone, but for kept ones, with its sockets
/// and with what its servers left in the kernel. What cannot be removed stays: it harms nobody but
/// the disk.
pub(crate) fn sweep(runs: &Path, sockets: impl Fn(&Path) -> PathBuf) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    let folders = entries.flatten().map(|entry| entry.path());
    for folder in folders.filter(|path| path.is_dir() && !path.is_symlink()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_removed = name.starts_with(REMOVED);
        // What is half removed may have no lock any more, and needs none.
        let making = if is_removed { Duration::ZERO } else { MAKING_LIMIT };
        let Some(lock) = take(&folder, making) else { continue };
        if is_removed {
            let _ = fs::remove_dir_all(&folder);
            continue;
        }
        Remains::sweep(&folder);
        let sockets = sockets(&folder);
        // Whoever listens there now was not started by a run of this folder.
        if living_socket(&sockets).is_some() {
            continue;
        }
        let _ = fs::remove_dir_all(sockets);
        if folder.join(KEPT).exists() {
            continue;
        }
        let _ = remove(&folder);
        drop(lock);
    }
}

/// Removes a folder whose lock the caller holds. Its name is free at once, so that nobody takes a
/// lock in a folder that is half removed.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let aside = format!("{REMOVED}{name}-{}-{count}", std::process::id());
    let aside = folder.with_file_name(aside);
    let gate = gate(folder)?;
    fs::rename(folder, &aside)?;
    drop(gate);
    match fs::remove_dir_all(aside) {
        // Somebody who sweeps was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => Ok(removed?),
    }
}

/// The lock of a folder that nobody uses; none where somebody does. A folder without a lock may be
/// just being made until it is older than `making`.
fn take(folder: &Path, making: Duration) -> Option<Option<fs::File>> {
    let _gate = gate(folder).ok()?;
    // A lock is looked for and never made here: in a folder that is being removed, a new file would
    // keep it from going.
    match lock_options().open(folder.join(LOCK)) {
        Ok(lock) => return try_lock(&lock).ok()?.then_some(Some(lock)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    let changed = fs::metadata(folder).and_then(|metadata| metadata.modified()).ok()?;
    let age = SystemTime::now().duration_since(changed).unwrap_or_default();
    (age >= making).then_some(None)
}

/// The lock of the folder that holds `folder`. It is held for moments only.
fn gate(folder: &Path) -> Result<fs::File> {
    let runs = folder.parent().unwrap_or(folder);
    let gate = open(&runs.join(GATE))?;
    let start = Instant::now();
    while !try_lock(&gate)? {
        if start.elapsed() > KEEPER_LIMIT {
            return Err(Error::FolderInUse { path: runs.to_owned() });
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(gate)
}

/// Opens a file to lock, which is made where there is none.
fn open(path: &Path) -> Result<fs::File> {
    Ok(lock_options().create(true).mode(0o600).open(path)?)
}

/// How a file to lock is opened: never through a link.
fn lock_options() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.append(true).custom_flags(libc::O_NOFOLLOW);
    options
}

/// Whether the lock was free. Fails where the file system has none.
pub(crate) fn try_lock(file: &fs::File) -> Result<bool> {
    match flock(file.file(), FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(file_error(file.path(), error)),
    }
}

/// A socket below a folder that somebody listens on.
pub(crate) fn living_socket(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().find_map(|entry| {
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            return living_socket(&entry.path());
        }
        let is_used = kind.is_socket() && is_listened_on(&entry.path());
        is_used.then(|| entry.path())
    })
}

/// Whether somebody listens on a socket, who may take no connection for ever.
fn is_listened_on(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let connected = socket.and_then(|socket| connect(socket, &SocketAddrUnix::new(path)?));
    matches!(connected, Ok(()) | Err(Errno::WOULDBLOCK))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn make(folder: &Path) -> Result<()> {
        Ok(fs::create_dir_all(folder)?)
    }

    fn no_sockets(_: &Path) -> PathBuf {
        PathBuf::from("/nonexistent")
    }

    #[test]
    fn only_folders_that_nobody_uses_or_wants_are_removed() {
        let runs = tempfile::tempdir().unwrap();
        let make_one = |name: &str| {
            let folder = runs.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let [own, left, used, kept, new] = ["own", "left", "used", "kept", "new"].map(make_one);
        let _own = claim(&own, make).unwrap();
        let _used = claim(&used, make).unwrap();
        drop(claim(&left, make).unwrap());
        drop(claim(&kept, make).unwrap());
        fs::write(kept.join(KEPT), b"").unwrap();
        sweep(runs.path(), no_sockets);
        let there = [&own, &left, &used, &kept, &new].map(|folder| folder.exists());
        assert_eq!(there, [true, false, true, true, true]);
    }

    #[test]
    fn what_is_half_removed_is_removed() {
        let runs = tempfile::tempdir().unwrap();
        let old = runs.path().join("old");
        let half = runs.path().join(format!("{REMOVED}x"));
        for folder in [&old, &half] {
            fs::create_dir(folder).unwrap();
        }
        let long_ago = SystemTime::now() - 2 * MAKING_LIMIT;
        fs::File::open(&old).unwrap().file().set_modified(long_ago).unwrap();
        sweep(runs.path(), no_sockets);
        assert!(!old.exists() && !half.exists());
    }

    #[test]
    fn a_lock_is_not_taken_through_a_link() {
        let runs = tempfile::tempdir().unwrap();
        let folder = runs.path().join("r");
        fs::create_dir(&folder).unwrap();
        let target = runs.path().join("precious");
        std::os::unix::fs::symlink(&target, folder.join(LOCK)).unwrap();
        assert!(claim(&folder, make).is_err());
        assert!(!target.exists(), "it was made through the link");
    }

    /// Runs that start, sweep, are killed, are resumed and end, all at the same time. A run owns
    /// its folder and its sockets from the claim to its end.
    #[test]
    fn sweeping_and_resuming_do_not_race() {
        const RUNS: usize = 3;
        let root = tempfile::tempdir().unwrap();
        let (runs, base) = (root.path().join("run"), root.path().join("s"));
        fs::create_dir(&runs).unwrap();
        fs::create_dir(&base).unwrap();
        let sockets = |folder: &Path| base.join(folder.file_name().unwrap());
        let live = |number: usize| {
            for turn in 0..300 {
                let folder = runs.join((number % RUNS).to_string());
                let lock = claim(&folder, make).unwrap();
                fs::create_dir_all(sockets(&folder)).unwrap();
                let (file, socket) = (folder.join("data"), sockets(&folder).join("s"));
                fs::write(&file, number.to_string()).unwrap();
                fs::write(&socket, number.to_string()).unwrap();
                sweep(&runs, sockets);
                for path in [&file, &socket] {
                    let text = fs::read_to_string(path).expect("it vanished while it was used");
                    assert_eq!(text, number.to_string());
                }
                // Every other run is killed, and leaves its folders.
                if turn % 2 == 0 {
                    fs::remove_dir_all(sockets(&folder)).unwrap();
                    remove(&folder).unwrap();
                }
                drop(lock);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..2 * RUNS).map(|n| scope.spawn(move || live(n))).collect();
            workers.into_iter().for_each(|worker| worker.join().unwrap());
        });
        sweep(&runs, sockets);
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 1, "only the gate is left");
    }

    #[test]
    fn whoever_takes_no_connection_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        rustix::net::bind(&socket, &SocketAddrUnix::new(path.as_path()).unwrap()).unwrap();
        rustix::net::listen(&socket, 0).unwrap();
        for _ in 0..3 {
            assert_eq!(living_socket(folder.path()), Some(path.clone()));
        }
    }

    #[test]
    fn a_socket_is_living_as_long_as_somebody_listens() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/pid"), "1").unwrap();
        let path = folder.path().join("a/s");
        assert_eq!(living_socket(folder.path()), None);
        symlink(folder.path(), folder.path().join("a/loop")).unwrap();
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(living_socket(folder.path()), Some(path.clone()));
        // Not by closing it: a child that another test is starting may still hold a copy.
        rustix::net::shutdown(&listener, rustix::net::Shutdown::Both).unwrap();
        assert!(path.exists());
        assert_eq!(living_socket(folder.path()), None);
    }
}
