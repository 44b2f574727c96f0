//! Where builds, data folders, sockets and logs lie on this host, and who owns them.

use crate::{
    Error, Result,
    keeper::Remains,
    leftovers::{self, KEEPER_LIMIT},
};
use fs_err as fs;
use rustix::fs::{Gid, Uid};
use sha2::{Digest, Sha256};
use std::{
    os::unix::{
        fs::{DirBuilderExt, MetadataExt, PermissionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

const ROOT_OF_ROOT: &str = "/var/lib/dbdyno";

/// The user that server processes run as when dbdyno is root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerUser {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
}

impl ServerUser {
    fn named(name: &str) -> Result<Self> {
        let users = fs::read_to_string("/etc/passwd")?;
        let id = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        users
            .lines()
            .map(|line| line.split(':').collect::<Vec<_>>())
            .find(|fields| fields.first() == Some(&name))
            .and_then(|fields| {
                let uid = id(fields.get(2).copied())?;
                Some(Self { uid, gid: id(fields.get(3).copied())? })
            })
            .ok_or_else(|| Error::UnknownUser { name: name.to_owned() })
    }
}

/// The folders of dbdyno on this host.
#[derive(Debug, Clone)]
pub struct Places {
    /// Above all others.
    pub root: PathBuf,
    /// Who owns them and runs the servers; `None` means the caller.
    pub user: Option<ServerUser>,
}

impl Places {
    /// As root `/var/lib/dbdyno`, owned by `server_user`; else the caller's cache folder. Fails
    /// where the user is unknown or no cache folder is.
    pub fn of_this_host(server_user: &str) -> Result<Self> {
        if rustix::process::geteuid().is_root() {
            let user = ServerUser::named(server_user)?;
            if user.uid == 0 {
                return Err(Error::UnknownUser {
                    name: format!("{server_user}` other than `root"),
                });
            }
            return Self::at(Path::new(ROOT_OF_ROOT), Some(user));
        }
        let absolute = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let cache = absolute("XDG_CACHE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
            .ok_or(Error::NoCache)?;
        Self::at(&cache.join("dbdyno"), None)
    }

    /// Any folder, which is made where it is missing.
    pub fn at(root: &Path, user: Option<ServerUser>) -> Result<Self> {
        let places = Self { root: root.to_owned(), user };
        let mode = if user.is_some() { 0o755 } else { 0o700 };
        places.make(&places.root, mode)?;
        places.make(&places.builds(), mode)?;
        Ok(places)
    }

    /// Installed builds, one folder each.
    pub fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// Data folders, one folder for each run.
    pub fn runs(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Private states of registry clients.
    pub(crate) fn registry(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join("registry").join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The folders of one execution of an experiment; they may exist already (resumed). Fails where
    /// another process uses them or listens on one of the sockets.
    pub fn new_run(&self, id: &str) -> Result<RunPlace> {
        let runs = self.runs();
        self.make(&runs, if self.user.is_some() { 0o711 } else { 0o700 })?;
        let folder = runs.join(id);
        // First of all: until then another run may remove what is there.
        let lock = leftovers::claim(&folder, |folder| self.make(folder, 0o700))?;
        Remains::sweep(&folder);
        let sockets = self.sockets_of_run(&folder);
        if let Some(parent) = sockets.parent().filter(|parent| parent.starts_with(&self.root)) {
            self.make(parent, 0o711)?;
        }
        nobody_listens(&sockets)?;
        self.make(&sockets, 0o700)?;
        leftovers::sweep(&runs, |folder| self.sockets_of_run(folder));
        Ok(RunPlace { folder, sockets, user: self.user, lock: Arc::new(lock) })
    }

    fn sockets_of_run(&self, folder: &Path) -> PathBuf {
        self.socket_base().join(format!("dbdyno-{}", short_hash(folder)))
    }

    // Addresses of sockets end at 107 bytes, and caches may lie deep.
    fn socket_base(&self) -> PathBuf {
        if self.user.is_some() && self.root.as_os_str().len() < 40 {
            return self.root.join("s");
        }
        std::env::var_os("XDG_RUNTIME_DIR")
            .map(PathBuf::from)
            .filter(|path| self.user.is_none() && path.is_dir() && path.as_os_str().len() < 40)
            .unwrap_or_else(|| PathBuf::from("/tmp"))
    }

    fn make(&self, folder: &Path, mode: u32) -> Result<()> {
        if let Some(parent) = folder.parent().filter(|parent| !parent.exists()) {
            fs::create_dir_all(parent)?;
        }
        if !folder.is_dir() {
            create_folder(folder, mode)?;
        }
        // In a folder that all users share, somebody else may have been first.
        let me = rustix::process::geteuid();
        let owner = fs::metadata(folder)?.uid();
        let is_ours = owner == me.as_raw()
            || self.user.is_some_and(|user| user.uid == owner)
            || me.is_root() && folder.starts_with(&self.root);
        if !is_ours {
            return Err(Error::Access { user: me.as_raw(), path: folder.to_owned() });
        }
        fs::set_permissions(folder, std::fs::Permissions::from_mode(mode))?;
        own(folder, self.user)
    }
}

/// The folders of one execution of an experiment: data, logs, sockets.
#[derive(Debug, Clone)]
pub struct RunPlace {
    pub(crate) folder: PathBuf,
    pub(crate) sockets: PathBuf,
    pub(crate) user: Option<ServerUser>,
    /// Held as long as anything of this run is: tells a folder in use from one that was left.
    pub(crate) lock: Arc<fs::File>,
}

impl RunPlace {
    /// Leaves the data folders where they are, whatever happens to this run later.
    pub fn keep(&self) -> Result<()> {
        Ok(fs::write(self.folder.join(leftovers::KEPT), b"")?)
    }

    /// Removes the folder of data folders and logs. Other handles of this place must not be used
    /// any more.
    pub fn remove(&self) -> Result<()> {
        leftovers::remove(&self.folder)
    }

    /// Folder of data folders and logs; [`RunPlace::remove`] removes it.
    pub fn data(&self) -> &Path {
        &self.folder
    }

    /// Folder of all sockets; the keeper removes it at its end.
    pub fn sockets(&self) -> &Path {
        &self.sockets
    }

    /// Who runs the servers; `None` means the caller.
    pub fn user(&self) -> Option<ServerUser> {
        self.user
    }

    /// A private folder below the sockets, by a short name that depends on the label alone.
    pub(crate) fn sockets_of(&self, label: &str) -> Result<PathBuf> {
        let folder = self.sockets.join(&short_hash(Path::new(label))[..6]);
        create_private_folder(&folder)?;
        Ok(folder)
    }

    /// A private folder beside the data, e.g. for temporary files of one server.
    pub(crate) fn beside(&self, kind: &str, label: &str) -> Result<PathBuf> {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
        let folder = self.folder.join(kind).join(label.chars().map(plain).collect::<String>());
        create_private_folder(&folder)?;
        Ok(folder)
    }
}

/// Waits until no process listens on any socket in the folders of `sockets`, in case the keeper of
/// a killed run is at work there, and fails if that does not come.
fn nobody_listens(sockets: &Path) -> Result<()> {
    let start = Instant::now();
    while let Some(path) = living_socket(sockets) {
        if start.elapsed() > KEEPER_LIMIT {
            return Err(Error::SocketInUse { path });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// A socket below a folder that somebody listens on.
pub(crate) fn living_socket(folder: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder).ok()?;
    entries.flatten().map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            return living_socket(&path);
        }
        UnixStream::connect(&path).is_ok().then_some(path)
    })
}

/// Makes a folder of mode 0700 and the missing ones above it, each owned like the folder that holds
/// it, so that a folder in a run's place belongs to the server user. Does nothing where it exists.
pub fn create_private_folder(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_private_folder(parent)?;
    }
    create_folder(folder, 0o700)?;
    own_like_parent(folder)
}

// With its mode from the first moment on, which `fs_err` cannot do.
fn create_folder(folder: &Path, mode: u32) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.mode(mode).create(folder).map_err(|error| {
        let text = format!("cannot create folder `{}`: {error}", folder.display());
        Error::File(std::io::Error::new(error.kind(), text))
    })
}

/// Gives a file or folder to the owner of the folder that holds it, where the caller may.
pub(crate) fn own_like_parent(path: &Path) -> Result<()> {
    let Some(parent) = path.parent().filter(|_| rustix::process::geteuid().is_root()) else {
        return Ok(());
    };
    let holder = fs::metadata(parent)?;
    own(path, Some(ServerUser { uid: holder.uid(), gid: holder.gid() }))
}

/// Gives a file or folder to the server user.
pub(crate) fn own(path: &Path, user: Option<ServerUser>) -> Result<()> {
    let Some(user) = user else { return Ok(()) };
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    let flags = rustix::fs::AtFlags::SYMLINK_NOFOLLOW;
    rustix::fs::chownat(rustix::fs::CWD, path, Some(uid), Some(gid), flags)
        .map_err(|error| file_error(path, error))
}

/// Gives a folder and everything in it to the server user, readable by all.
pub(crate) fn own_build(folder: &Path, user: Option<ServerUser>) -> Result<()> {
    own(folder, user)?;
    readable(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            own_build(&entry.path(), user)?;
        } else {
            own(&entry.path(), user)?;
            if kind.is_file() {
                readable(&entry.path())?;
            }
        }
    }
    Ok(())
}

fn readable(path: &Path) -> Result<()> {
    let mode = fs::metadata(path)?.mode();
    let search = if mode & 0o100 != 0 || path.is_dir() { 0o111 } else { 0 };
    let wanted = (mode | 0o644 | search) & 0o755;
    if mode & 0o7777 != wanted {
        fs::set_permissions(path, std::fs::Permissions::from_mode(wanted))?;
    }
    Ok(())
}

/// An error of a raw system call, with the path that it was about.
pub(crate) fn file_error(path: &Path, error: rustix::io::Errno) -> Error {
    let error = std::io::Error::from(error);
    Error::File(std::io::Error::new(error.kind(), format!("{error}: `{}`", path.display())))
}

fn short_hash(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_a_run_are_private_and_short() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let deep = "x".repeat(90);
        let first = places.new_run(&deep).unwrap().sockets().to_owned();
        let run = places.new_run(&deep).unwrap();
        assert_eq!(run.sockets(), first);
        for folder in [run.data(), run.sockets(), &run.sockets_of("mysql-9.7.4").unwrap()] {
            assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700, "{}", folder.display());
        }
        let socket = run.sockets_of(&deep).unwrap().join(".s.PGSQL.65535");
        assert!(socket.as_os_str().len() < 107, "{}", socket.display());
        assert_ne!(run.sockets_of("a").unwrap(), run.sockets_of("b").unwrap());
        fs::remove_dir_all(run.sockets()).unwrap();
    }

    #[test]
    fn a_socket_is_living_as_long_as_somebody_listens() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/pid"), "1").unwrap();
        let path = folder.path().join("a/s");
        assert_eq!(living_socket(folder.path()), None);
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(living_socket(folder.path()), Some(path.clone()));
        drop(listener);
        assert!(path.exists());
        assert_eq!(living_socket(folder.path()), None);
    }

    #[test]
    fn an_unknown_server_user_is_named() {
        let message = ServerUser::named("no-such-user").unwrap_err().to_string();
        assert_eq!(
            message,
            "this machine has no user `no-such-user`; name another by `--server-user`"
        );
        assert_eq!(ServerUser::named("root").unwrap(), ServerUser { uid: 0, gid: 0 });
    }

    #[test]
    fn names_of_labels_stay_inside_the_run() {
        let root = tempfile::tempdir().unwrap();
        let run = Places::at(root.path(), None).unwrap().new_run("r").unwrap();
        let folder = run.beside("tmp", "../a/b").unwrap();
        assert_eq!(folder.parent().unwrap(), run.data().join("tmp"));
        fs::remove_dir_all(run.sockets()).unwrap();
    }
}
