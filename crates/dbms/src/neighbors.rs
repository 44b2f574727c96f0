//! Who else loads this host. Every command that does leaves a file in a folder that all users see,
//! and locks it as long as it works; the lock dies with the process.
//!
//! The folder is writable by everybody and sticky: files of others can be neither removed nor
//! replaced, and nothing is opened through a link, so the worst that another user can do is to
//! pretend to be a run, which `--allow-concurrent` passes by.

use crate::{Error, Result, process::host_wide};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    io::{Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Folders that all users of a host share, the best first.
const SHARED: [&str; 2] = ["/run/lock", "/tmp"];
const GATE: &str = "dbdyno.gate";
const PREFIX: &str = "dbdyno-";
const SUFFIX: &str = ".run";
const BYTES_MAX: u64 = 4096;
const NAME_MAX: usize = 60;
const GATE_LIMIT: Duration = Duration::from_secs(5);

/// Something that loads the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Neighbor {
    /// The command or the experiment, as users know it.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Whether it measures; otherwise it only loads the host.
    pub measures: bool,
}

/// What becomes of a run that is not alone on its host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// It is refused.
    Refused,
    /// It goes on, and both results are marked.
    Allowed,
}

/// The folder for [`announce`]: the first that everybody may write to. Root and other users find
/// the same one.
pub fn shared_folder() -> PathBuf {
    let is_shared = |path: &&&str| {
        let about = fs::symlink_metadata(path);
        about.is_ok_and(|about| about.is_dir() && about.permissions().mode() & 0o1777 == 0o1777)
    };
    PathBuf::from(SHARED.iter().find(is_shared).unwrap_or(&"/tmp"))
}

/// All that have announced themselves in a folder and live.
pub fn neighbors(folder: &Path) -> Vec<Neighbor> {
    others(folder, Path::new(""), |_| ())
}

/// Says to others that this process loads the host, until it is dropped.
#[derive(Debug)]
pub struct Announcement {
    folder: PathBuf,
    path: PathBuf,
    /// Holds the lock.
    _file: fs::File,
}

/// Announces this process. Fails if it is to be alone and is not: a command that measures is alone
/// with no other, and one that does not with those that do not measure either.
pub fn announce(
    folder: &Path,
    (name, measures): (&str, bool),
    concurrency: Concurrency,
) -> Result<Announcement> {
    let pid = std::process::id();
    let _gate = gate(folder)?;
    let path = own_file(folder);
    let living = others(folder, &path, |dead| drop(fs::remove_file(dead)));
    let in_the_way = living.into_iter().find(|other| measures || other.measures);
    if let (Some(Neighbor { name, pid, measures }), Concurrency::Refused) =
        (in_the_way, concurrency)
    {
        return Err(match measures {
            true => Error::OtherRun { name, pid },
            false => Error::OtherLoad { name, pid },
        });
    }
    // One that an earlier process with this number left; if it is not ours, it cannot be.
    let _ = fs::remove_file(&path);
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
    // Somebody may just look whether it is locked.
    flock(file.file(), FlockOperation::LockExclusive).map_err(std::io::Error::from)?;
    let neighbor = Neighbor { name: name.to_owned(), pid, measures };
    file.write_all(&serde_json::to_vec(&neighbor).map_err(std::io::Error::from)?)?;
    // Whatever the umask is: other users must see who measures.
    fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644))?;
    Ok(Announcement { folder: folder.to_owned(), path, _file: file })
}

impl Announcement {
    /// Everything else that has announced itself and lives.
    pub fn others(&self) -> Vec<Neighbor> {
        others(&self.folder, &self.path, |_| ())
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Without its lock the file means nothing.
        let _ = fs::remove_file(&self.path);
    }
}

/// The file of this process. With its user: what another user's process of this number has left can
/// be neither removed nor replaced.
fn own_file(folder: &Path) -> PathBuf {
    let (process, user) = (host_wide(std::process::id()), rustix::process::geteuid().as_raw());
    folder.join(format!("{PREFIX}{process}-{user}{SUFFIX}"))
}

/// The living ones but for `own`; `bury` gets the files of the others. Without the gate, one that
/// is not locked may just be beginning.
fn others(folder: &Path, own: &Path, bury: impl Fn(&Path)) -> Vec<Neighbor> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path != own) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(PREFIX) || !name.ends_with(SUFFIX) {
            continue;
        }
        let Ok(mut file) = open(&path) else { continue };
        match flock(file.file(), FlockOperation::NonBlockingLockShared) {
            Ok(()) => bury(&path),
            Err(Errno::WOULDBLOCK) => found.extend(read(&mut file)),
            Err(_) => {}
        }
    }
    found
}

/// What a file says. It may be anybody's, so all of it is taken for text of limited length.
fn read(file: &mut fs::File) -> Option<Neighbor> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let said: Neighbor = serde_json::from_slice(&bytes).ok()?;
    let plain = said.name.chars().filter(|c| !c.is_control() && *c != '`').take(NAME_MAX);
    Some(Neighbor { name: plain.collect(), ..said })
}

/// Held while somebody looks around and announces himself: of two that begin at once, one sees the
/// other.
fn gate(folder: &Path) -> Result<fs::File> {
    let path = folder.join(GATE);
    let file = match open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).mode(0o600);
            match options.open(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => open(&path)?,
                made => {
                    let made = made?;
                    // Whatever the umask is: other users must pass it too.
                    made.set_permissions(std::fs::Permissions::from_mode(0o644))?;
                    made
                }
            }
        }
        opened => opened?,
    };
    let start = Instant::now();
    loop {
        match flock(file.file(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if start.elapsed() < GATE_LIMIT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                let text =
                    format!("another process holds `{}`, which `fuser` names", path.display());
                return Err(std::io::Error::other(text).into());
            }
            Err(error) => return Err(crate::folder::file_error(&path, error)),
        }
    }
}

/// Opens a regular file to lock it, never through a link, never waiting for a pipe's other end.
fn open(path: &Path) -> std::io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = options.read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if about.is_file() && about.nlink() == 1 {
        return Ok(file);
    }
    Err(std::io::Error::other(format!("`{}` is no file of dbdyno", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// Another process that holds an announcement, with whatever text.
    fn other(folder: &Path, name: &str, text: &str) -> Child {
        let path = folder.join(format!("{PREFIX}{name}{SUFFIX}"));
        fs::write(&path, text).unwrap();
        let mut command = Command::new("flock");
        command.arg("--no-fork").arg(&path).args(["sh", "-c", "echo held; exec sleep 60"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 5];
        child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        child
    }

    fn said(name: &str, pid: u32, measures: bool) -> String {
        serde_json::to_string(&Neighbor { name: name.to_owned(), pid, measures }).unwrap()
    }

    #[test]
    fn a_second_run_is_refused_by_name_or_sees_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = other(folder.path(), "1", &said("quick`start\u{1b}[31m", 123, true));
        let refused = |measures| {
            announce(folder.path(), ("mine", measures), Concurrency::Refused)
                .map_err(|error| error.to_string())
        };
        let expected = "another run, `quickstart[31m` (pid 123), is measuring on this host: pass \
                        `--wait` to begin after it, or `--allow-concurrent`, which marks the \
                        results of both";
        assert_eq!(refused(true).unwrap_err(), expected);
        assert_eq!(refused(false).unwrap_err(), expected);
        let mine = announce(folder.path(), ("mine", true), Concurrency::Allowed).unwrap();
        assert_eq!(mine.others().len(), 1);
        first.kill().unwrap();
        first.wait().unwrap();
        assert_eq!(mine.others(), [], "its lock died with it");
        drop(mine);
        assert!(refused(true).is_ok());
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "only the gate is left");
    }

    #[test]
    fn what_does_not_measure_disturbs_only_what_does() {
        let folder = tempfile::tempdir().unwrap();
        let mut first = other(folder.path(), "1", &said("up mysql@9", 5, false));
        let announce = |measures| announce(folder.path(), ("mine", measures), Concurrency::Refused);
        assert!(announce(false).is_ok());
        let error = announce(true).unwrap_err().to_string();
        assert!(error.contains("`up mysql@9` (pid 5)"), "{error}");
        first.kill().unwrap();
        first.wait().unwrap();
    }

    #[test]
    fn files_of_others_are_never_followed_nor_believed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = tempfile::NamedTempFile::new().unwrap();
        let name = |name: &str| folder.path().join(format!("{PREFIX}{name}{SUFFIX}"));
        std::os::unix::fs::symlink(precious.path(), name("link")).unwrap();
        Command::new("mkfifo").arg(name("pipe")).status().unwrap();
        let mut noise = other(folder.path(), "noise", "not JSON");
        let mine = announce(folder.path(), ("mine", true), Concurrency::Refused).unwrap();
        assert_eq!(mine.others(), []);
        assert!(precious.path().exists() && name("pipe").exists());
        noise.kill().unwrap();
        noise.wait().unwrap();
        let own = own_file(folder.path());
        for path in [own, folder.path().join(GATE)] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o644);
        }
    }
}
