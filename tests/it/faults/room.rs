//! A view of the system of its own, in which everything that a run leaves can be seen.

use crate::lab::{Lab, text};
use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Where root's runs keep data and sockets.
const FOLDERS: [&str; 2] = ["run", "s"];

/// Name spaces for mounts and System V objects: shared memory, data folders and sockets in it are
/// those of its own runs.
pub(crate) struct Room {
    holder: Child,
    space: PathBuf,
    folder: PathBuf,
}

/// What may stay after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Data {
    /// A killed run leaves its data folders to be resumed or swept.
    MayStay,
    /// Any other removes them.
    MustGo,
}

impl Room {
    /// None, with the reason printed, where that is not permitted.
    pub(super) fn new(lab: &Lab) -> Option<Self> {
        Self::set_up(lab, "room", "true")
    }

    /// The same, where data folders lie on the file system in the lab's file `image`, which is
    /// mounted on the lab's folder `disk`.
    pub(crate) fn with_disk(lab: &Lab) -> Option<Self> {
        let (image, disk) = (lab.path("image"), lab.path("disk"));
        std::fs::create_dir_all(&disk).unwrap();
        let mount = format!("mount -o loop {} {}", image.display(), disk.display());
        Self::set_up(lab, "disk/room", &mount)
    }

    /// `first` is done before folders whose names begin with `own` take the place of shared ones.
    fn set_up(lab: &Lab, own: &str, first: &str) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root can have a view of the system of its own");
            return None;
        }
        let binds = FOLDERS.map(|name| {
            let own = lab.path(&format!("{own}-{name}"));
            let (own, shared) = (own.display(), format!("/var/lib/dbdyno/{name}"));
            format!("mkdir -p {own} {shared} && mount --bind {own} {shared}")
        });
        let binds = binds.join(" && ");
        let script = format!(
            "mount -t tmpfs tmpfs /dev/shm && {first} && {binds} && echo ready && exec sleep 100000"
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--ipc", "--uts", "sh", "-c", &script]);
        let mut holder = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = [0; 6];
        if holder.stdout.as_mut().unwrap().read_exact(&mut said).is_err() {
            let mut reason = String::new();
            holder.stderr.as_mut().unwrap().read_to_string(&mut reason).unwrap();
            holder.wait().unwrap();
            let refused = ["not permitted", "ermission denied"];
            assert!(refused.iter().any(|words| reason.contains(words)), "{reason}");
            println!("skipped: name spaces and mounts need CAP_SYS_ADMIN: {reason}");
            return None;
        }
        let space = space_of(holder.id()).unwrap();
        Some(Self { holder, space, folder: lab.path("") })
    }

    /// A command of the lab, in this room; its first process is the command itself.
    pub(crate) fn command(&self, inner: &Command) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--mount", "--ipc", "--uts"]);
        command.args(["sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(&self.folder);
        command.arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    /// Where a file of the room is seen from outside.
    pub(crate) fn seen(&self, path: &Path) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(path.strip_prefix("/").unwrap())
    }

    /// Every process in this room.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_here =
            |pid: &u32| *pid != self.holder.id() && space_of(*pid).as_ref() == Some(&self.space);
        pids.filter(is_here).collect()
    }

    /// Everything that is left in the room, one line each.
    pub(super) fn left(&self, keepers: &[u32], data: Data) -> Vec<String> {
        let mut left: Vec<String> = Vec::new();
        for pid in self.processes() {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            left.push(format!("process {pid} {}", text(&line).replace('\0', " ")));
        }
        let mut folders = vec!["/dev/shm", "/var/lib/dbdyno/s"];
        if data == Data::MustGo {
            folders.push("/var/lib/dbdyno/run");
        }
        for folder in folders {
            let entries = std::fs::read_dir(self.seen(Path::new(folder))).unwrap().flatten();
            let names = entries.map(|entry| entry.path()).filter(|path| !path.ends_with(".gate"));
            left.extend(names.map(|path| path.display().to_string()));
        }
        left.extend(self.objects());
        let groups = keepers.iter().map(|pid| cgroups().join(format!("dbdyno-{pid}")));
        left.extend(groups.filter(|path| path.exists()).map(|path| path.display().to_string()));
        left
    }

    /// System V segments and semaphores.
    fn objects(&self) -> Vec<String> {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--ipc", "cat"]);
        command.args(["/proc/sysvipc/shm", "/proc/sysvipc/sem"]);
        let listed = text(&command.output().unwrap().stdout);
        let objects = listed.lines().filter(|line| !line.trim_start().starts_with("key"));
        objects.map(|line| format!("System V object {line}")).collect()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Servers have mounts and System V objects of their own; of the room's namespaces they keep this.
fn space_of(pid: u32) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/uts")).ok()
}

/// Where control groups of version 2 are.
fn cgroups() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let tree = mounts.lines().find(|line| line.contains(" cgroup2 "));
    Path::new(tree.and_then(|line| line.split(' ').nth(1)).unwrap_or("/nonexistent")).to_owned()
}
