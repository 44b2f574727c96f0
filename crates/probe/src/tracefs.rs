//! Events of the kernel that are called when a file is made durable, and what keeps them away.
//!
//! Where the file system reports its own syncs, that event is taken: it has the syncs of fsync,
//! fdatasync, msync and io_uring and those of files that are opened for synchronous writes, and
//! costs nothing elsewhere. An event of a system call has the kernel look at every system call of
//! the host while it is counted, so it is taken only for other file systems.

use crate::mount::{self, Mount};
use std::path::{Path, PathBuf};

/// File systems and their events.
const OF_FILE_SYSTEMS: [(&str, &str); 4] = [
    ("ext4", "ext4/ext4_sync_file_enter"),
    ("xfs", "xfs/xfs_file_fsync"),
    ("btrfs", "btrfs/btrfs_sync_file"),
    ("f2fs", "f2fs/f2fs_sync_file_enter"),
];

/// Events for all others.
const OF_SYSTEM_CALLS: [&str; 2] = ["syscalls/sys_enter_fsync", "syscalls/sys_enter_fdatasync"];

/// By which events syncs of files are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncEvents {
    /// What reports them: a file system such as `ext4`, or `system calls`.
    pub by: String,
    pub(crate) ids: Vec<u64>,
}

/// Why syncs of files cannot be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSyncEvents {
    /// The kernel's trace events are mounted nowhere.
    NotMounted,
    /// This process may not read them.
    Forbidden,
    /// This kernel has no events for them.
    Unknown,
}

/// The events for files on a mount; those for any where it is not known.
pub(crate) fn sync_events(
    proc_root: &Path,
    mount: Option<Mount>,
) -> Result<SyncEvents, NoSyncEvents> {
    let events = events_folder(proc_root).ok_or(NoSyncEvents::NotMounted)?;
    if let Err(error) = fs_err::read_dir(&events) {
        let forbidden = error.kind() == std::io::ErrorKind::PermissionDenied;
        return Err(if forbidden { NoSyncEvents::Forbidden } else { NoSyncEvents::Unknown });
    }
    let id = |name: &str| -> Option<u64> {
        let text = fs_err::read_to_string(events.join(name).join("id")).ok()?;
        text.trim().parse().ok()
    };
    let own = mount.and_then(|Mount { kind, .. }| {
        let (_, event) = OF_FILE_SYSTEMS.iter().find(|(name, _)| *name == kind)?;
        Some(SyncEvents { by: kind, ids: vec![id(event)?] })
    });
    own.or_else(|| {
        let ids: Option<Vec<u64>> = OF_SYSTEM_CALLS.iter().map(|name| id(name)).collect();
        Some(SyncEvents { by: "system calls".to_owned(), ids: ids? })
    })
    .ok_or(NoSyncEvents::Unknown)
}

/// Where the kernel's trace events are.
fn events_folder(proc_root: &Path) -> Option<PathBuf> {
    let mut mounts = mount::all(&proc_root.join("self/mountinfo")).into_iter();
    let traces = mounts.find(|mount| mount.kind == "tracefs")?;
    Some(traces.point.join("events"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    /// A host whose data are on a file system of `kind`, with these events.
    fn check(kind: &str, events: &[(&str, &str)], expected: Result<(&str, &[u64]), NoSyncEvents>) {
        let fake = FakeProc::new();
        let trace = fake.root().join("trace").display().to_string();
        let mounts = format!(
            "20 1 254:0 / / rw - {kind} /dev/vda rw\n21 20 0:9 / {trace} rw - tracefs none rw\n"
        );
        fake.write("self/mountinfo", &mounts).write("trace/events/enable", "0\n");
        for (event, id) in events {
            fake.write(&format!("trace/events/{event}/id"), &format!("{id}\n"));
        }
        let found = sync_events(fake.root(), mount::of(fake.root(), Path::new("/data")));
        let found = found.as_ref().map(|one| (one.by.as_str(), one.ids.as_slice()));
        assert_eq!(found.map_err(|why| *why), expected, "{kind} {events:?}");
    }

    #[test]
    fn the_file_systems_own_event_comes_before_system_calls() {
        let calls = [(OF_SYSTEM_CALLS[0], "5"), (OF_SYSTEM_CALLS[1], "6")];
        let own = ("ext4/ext4_sync_file_enter", "12");
        let of_calls = Ok(("system calls", &[5, 6][..]));
        check("ext4", &[own, calls[0], calls[1]], Ok(("ext4", &[12])));
        check("ext4", &calls, of_calls);
        check("tmpfs", &[own, calls[0], calls[1]], of_calls);
        check("tmpfs", &[own, calls[0]], Err(NoSyncEvents::Unknown));
        check("xfs", &[own], Err(NoSyncEvents::Unknown));
    }

    #[test]
    fn the_file_system_is_the_one_that_the_server_sees() {
        let fake = FakeProc::new();
        let trace = fake.root().join("trace").display().to_string();
        let mounts = format!(
            "20 1 254:0 / / rw - xfs /dev/vda rw\n21 20 0:9 / {trace} rw - tracefs none rw\n"
        );
        fake.write("self/mountinfo", &mounts)
            .write("70/mountinfo", "20 1 8:7 / /data rw - ext4 /dev/sda7 rw\n")
            .write("trace/events/xfs/xfs_file_fsync/id", "5\n")
            .write("trace/events/ext4/ext4_sync_file_enter/id", "6\n");
        let by = |data_folder_of: Option<u32>| {
            let target = crate::Target { data_folder_of, ..fake.target() };
            sync_events(fake.root(), mount::of_target(&target)).unwrap().by
        };
        assert_eq!([by(None), by(Some(70))], ["xfs", "ext4"]);
    }

    #[test]
    fn events_that_are_not_mounted_are_told_from_those_that_are_not_known() {
        let fake = FakeProc::new();
        fake.write("self/mountinfo", "20 1 254:0 / / rw - ext4 /dev/vda rw\n");
        let found = sync_events(fake.root(), mount::of(fake.root(), Path::new("/data")));
        assert_eq!(found, Err(NoSyncEvents::NotMounted));
    }
}
