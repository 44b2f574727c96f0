//! Where builds, data folders, sockets and logs lie on this host, and who owns them.
//!
//! As root, everything belongs to root but what a server itself writes: the leaves `data`, `tmp`
//! and its socket folder, whose names it cannot change because the folders above them are root's.

use crate::{
    Error, Result, ServerUser, folder,
    leftovers::{self, KEEPER_LIMIT, living_socket},
    remains::Remains,
};
use fs_err as fs;
use model::secret::Secret;
use rustix::{
    fs::{Access, Mode},
    process::umask,
};
use sha2::{Digest, Sha256};
use std::{
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

const ROOT_OF_ROOT: &str = "/var/lib/dbdyno";
const CACHE_HOME: &str = "XDG_CACHE_HOME";

/// The folders of dbdyno on this host.
#[derive(Debug, Clone)]
pub struct Places {
    /// Above all others.
    pub root: PathBuf,
    /// Who runs the servers and owns what they write; `None` means the caller.
    pub user: Option<ServerUser>,
    /// Where things were moved to that another user could change, such as those of a version that
    /// trusted the server user.
    pub untrusted: Option<PathBuf>,
}

impl Places {
    /// As root `/var/lib/dbdyno`, with servers of `server_user`; else the caller's cache folder.
    /// Fails where there is no such user, or no cache folder.
    pub fn of_this_host(server_user: &str) -> Result<Self> {
        if rustix::process::geteuid().is_root() {
            keep_others_out();
            let user = ServerUser::of_this_host(server_user)?;
            return Self::at(Path::new(ROOT_OF_ROOT), Some(user));
        }
        let root = cache_of_user()?;
        create_cache(&root)?;
        Self::at(&root, None)
    }

    /// The same for a command that only looks: creates no folder. Fails as that does.
    pub fn seen_on_this_host(server_user: &str) -> Result<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let root = if is_root { PathBuf::from(ROOT_OF_ROOT) } else { cache_of_user()? };
        match (is_root, fs::canonicalize(&root)) {
            (true, Ok(_)) => Self::of_this_host(server_user),
            (true, Err(_)) => {
                let user = Some(ServerUser::of_this_host(server_user)?);
                Ok(Self { root, user, untrusted: None })
            }
            (false, found) => Ok(Self { root: found.unwrap_or(root), user: None, untrusted: None }),
        }
    }

    /// Any folder, which is made where it is missing.
    pub fn at(root: &Path, user: Option<ServerUser>) -> Result<Self> {
        fs::create_dir_all(root)?;
        let root = fs::canonicalize(root)?;
        let untrusted = match user {
            Some(_) => {
                folder::check_above(&root)?;
                folder::take_over(&root)?
            }
            None => None,
        };
        let places = Self { root, user, untrusted };
        places.make(&places.root, places.readable())?;
        places.make(&places.builds(), places.readable())?;
        Ok(places)
    }

    /// The mode of what the server user has to read, and may be seen by everybody.
    pub(crate) fn readable(&self) -> u32 {
        if self.user.is_some() { 0o755 } else { 0o700 }
    }

    /// The mode of a folder whose names nobody need know.
    fn passable(&self) -> u32 {
        if self.user.is_some() { 0o711 } else { 0o700 }
    }

    /// Installed builds, one folder each.
    pub fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// Data folders, one folder for each run.
    pub fn runs(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Fails where the folder of builds is not there and this user may not create it.
    pub fn check_root(&self) -> Result<()> {
        let mut above = self.root.ancestors();
        let nearest = above.find(|folder| folder.exists()).unwrap_or(Path::new("/"));
        rustix::fs::access(nearest, Access::WRITE_OK).map_err(|error| {
            let reason = std::io::Error::from(error).kind().to_string();
            Error::Cache { path: self.root.clone(), reason }
        })
    }

    /// Where data folders will be: the nearest folder that is there, on whose file system they are.
    pub fn for_data(&self) -> PathBuf {
        let runs = self.runs();
        runs.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/")).to_owned()
    }

    /// Where builds are compiled, one after the other.
    pub(crate) fn compile_folder(&self) -> Result<PathBuf> {
        let folder = self.root.join("compile");
        self.make(&folder, self.passable())?;
        Ok(folder)
    }

    /// Private states of registry clients.
    pub(crate) fn registry(&self, name: &str) -> Result<PathBuf> {
        let above = self.root.join("registry");
        self.make(&above, self.readable())?;
        let folder = above.join(name);
        self.make(&folder, self.readable())?;
        Ok(folder)
    }

    /// The folders of one execution of an experiment; they may exist already (resumed). Fails where
    /// another process uses them or listens on one of the sockets.
    pub fn new_run(&self, id: &str) -> Result<RunPlace> {
        let runs = self.runs();
        self.make(&runs, self.passable())?;
        let folder = runs.join(id);
        // First of all: until then another run may remove what is there.
        let lock = leftovers::claim(&folder, |folder| make_shared(folder, self.user))?;
        Remains::sweep(&folder);
        let sockets = self.sockets_of_run(&folder);
        if let Some(parent) = sockets.parent().filter(|parent| parent.starts_with(&self.root)) {
            self.make(parent, self.passable())?;
        }
        nobody_listens(&sockets)?;
        make_shared(&sockets, self.user)?;
        leftovers::sweep(&runs, |folder| self.sockets_of_run(folder));
        Ok(RunPlace { folder, sockets, user: self.user, lock: Arc::new(lock) })
    }

    fn sockets_of_run(&self, folder: &Path) -> PathBuf {
        self.socket_base().join(format!("dbdyno-{}", short_hash(folder)))
    }

    // Addresses of sockets end at 107 bytes, and caches may lie deep. `XDG_RUNTIME_DIR` is no place
    // for them: it is removed when its user logs out, and under `nohup` a run goes on.
    fn socket_base(&self) -> PathBuf {
        match self.user.is_some() && self.root.as_os_str().len() < 40 {
            true => self.root.join("s"),
            false => PathBuf::from("/tmp"),
        }
    }

    pub(crate) fn make(&self, folder: &Path, mode: u32) -> Result<()> {
        // A command that only looks made none, and may have to fetch a list of versions.
        if !self.root.is_dir() {
            create_cache(&self.root)?;
            folder::make(&self.root, self.readable(), None)?;
        }
        folder::make(folder, mode, None)
    }
}

/// Whatever umask root has: until their modes are set, nobody else may write to the files that are
/// fetched and unpacked, nor keep a descriptor that can.
fn keep_others_out() {
    let own = umask(Mode::RWXG | Mode::RWXO);
    umask(own | Mode::WGRP | Mode::WOTH);
}

/// Where builds and data lie of a user who is not root.
fn cache_of_user() -> Result<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute(CACHE_HOME)
        .or_else(|| absolute("HOME").map(|home| home.join(".cache")))
        .ok_or(Error::NoCache)?;
    Ok(cache.join("dbdyno"))
}

/// Creates the folder of builds and data, and those above it.
fn create_cache(root: &Path) -> Result<()> {
    fs::create_dir_all(root)
        .map_err(|error| Error::Cache { path: root.to_owned(), reason: error.kind().to_string() })
}

/// The value of `XDG_CACHE_HOME`, where it is ignored because it is no absolute path, as its
/// specification demands.
pub fn ignored_cache_home() -> Option<PathBuf> {
    let set = std::env::var_os(CACHE_HOME).filter(|value| !value.is_empty()).map(PathBuf::from);
    set.filter(|path| !path.is_absolute() && !rustix::process::geteuid().is_root())
}

/// A folder of the caller's that the server user may pass through, and nobody else.
fn make_shared(folder: &Path, user: Option<ServerUser>) -> Result<()> {
    let mode = if user.is_some() { 0o710 } else { 0o700 };
    folder::make(folder, mode, user.map(|user| user.gid))
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

    /// Makes the folder `name` for data folders in [`RunPlace::data`]: servers pass through it.
    pub fn folder_for_data(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        make_shared(&folder, self.user)?;
        Ok(folder)
    }

    /// Gives the part `name` of a folder and what is in it to the user of the servers, who passes
    /// through the folder.
    pub fn share_with_server(&self, folder: &Path, name: &str) -> Result<()> {
        make_shared(folder, self.user)?;
        folder::give(&folder.join(name), self.user)
    }

    /// A new folder of one server's socket, with a short name that depends on the label alone.
    pub(crate) fn sockets_of(&self, label: &str) -> Result<PathBuf> {
        let folder = self.sockets.join(&short_hash(Path::new(label))[..6]);
        if let Some(path) = living_socket(&folder) {
            return Err(Error::SocketInUse { path });
        }
        // A server that was killed leaves its socket and a file with its process, and a new server
        // that finds that process number in use by anything refuses to start.
        self.new_of_server(&folder)?;
        Ok(folder)
    }

    /// A new folder of one server's temporary files.
    pub(crate) fn temporary_of(&self, label: &str) -> Result<PathBuf> {
        let folder = self.folder_for_data("tmp")?.join(plain(label));
        self.new_of_server(&folder)?;
        Ok(folder)
    }

    /// A folder of files that one server reads and does not write.
    pub(crate) fn config_of(&self, label: &str) -> Result<PathBuf> {
        let folder = self.folder_for_data("conf")?.join(plain(label));
        make_shared(&folder, self.user)?;
        Ok(folder)
    }

    /// A folder of one server's logs, which the keeper alone writes.
    pub(crate) fn logs_of(&self, label: &str) -> Result<PathBuf> {
        let above = self.folder.join("log");
        folder::make(&above, 0o700, None)?;
        let folder = above.join(plain(label));
        folder::make(&folder, 0o700, None)?;
        Ok(folder)
    }

    /// The password of this run's servers over TCP, the same in a resumed run because their data
    /// hold it: 128 random bits.
    pub(crate) fn password(&self) -> Result<Secret> {
        let file = self.folder.join("password");
        let mut bytes = [0; 16];
        // One that a power cut left empty would let everybody in.
        if let Ok(text) = fs::read_to_string(&file)
            && text.len() == 2 * bytes.len()
        {
            return Ok(Secret::new(text));
        }
        fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        folder::write_for_group(&file, &text, None)?;
        Ok(Secret::new(text))
    }

    /// Writes a file that the caller alone can read into [`RunPlace::data`].
    pub fn write_private(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.folder.join(name);
        folder::write_for_group(&file, text, None)?;
        Ok(file)
    }

    fn new_of_server(&self, path: &Path) -> Result<()> {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        folder::make(path, 0o700, None)?;
        folder::give(path, self.user)
    }
}

/// A label as the name of a folder, another one for each label.
fn plain(label: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
    let name: String = label.chars().map(plain).collect();
    if name == label { name } else { format!("{name}-{}", short_hash(Path::new(label))) }
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

fn short_hash(path: &Path) -> String {
    let hash = Sha256::digest(path.as_os_str().as_encoded_bytes());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn folders_of_a_run_are_private_and_short() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::at(root.path(), None).unwrap();
        let deep = "x".repeat(90);
        let first = places.new_run(&deep).unwrap().sockets().to_owned();
        let run = places.new_run(&deep).unwrap();
        assert_eq!(run.sockets(), first);
        assert!(first.starts_with("/tmp"), "`{}` goes when its user does", first.display());
        for folder in [run.data(), run.sockets(), &run.sockets_of("mysql-9.7.4").unwrap()] {
            assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700, "{}", folder.display());
        }
        let socket = run.sockets_of(&deep).unwrap().join(".s.PGSQL.65535");
        assert!(socket.as_os_str().len() < 107, "{}", socket.display());
        assert_ne!(run.sockets_of("a").unwrap(), run.sockets_of("b").unwrap());
        fs::remove_dir_all(run.sockets()).unwrap();
    }

    #[test]
    fn the_password_of_a_run_stays_and_is_never_empty() {
        let root = tempfile::tempdir().unwrap();
        let run = Places::at(root.path(), None).unwrap().new_run("r").unwrap();
        fs::write(run.data().join("password"), "").unwrap();
        let first = run.password().unwrap();
        assert_eq!(first.reveal().len(), 32);
        assert_eq!(run.password().unwrap(), first);
        fs::remove_dir_all(run.sockets()).unwrap();
    }

    #[test]
    fn names_of_labels_stay_inside_the_run() {
        let root = tempfile::tempdir().unwrap();
        let run = Places::at(root.path(), None).unwrap().new_run("r").unwrap();
        let folder = run.temporary_of("../a/b").unwrap();
        assert_eq!(folder.parent().unwrap(), run.data().join("tmp"));
        let logs = ["a_b", "a+b", "a b"].map(|label| run.logs_of(label).unwrap());
        assert_eq!(logs[0], run.data().join("log/a_b"));
        assert!(logs[1] != logs[0] && logs[2] != logs[0] && logs[2] != logs[1], "{logs:?}");
        fs::remove_dir_all(run.sockets()).unwrap();
    }
}
