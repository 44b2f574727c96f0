//! The mount that a folder is on.

use crate::Target;
use procfs::{DiskStat, process::MountInfo};
use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// A mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where it is mounted.
    pub(crate) point: PathBuf,
    /// Type, e.g. `ext4`.
    pub(crate) kind: String,
    /// What is mounted: for file systems on block devices, the device's path.
    pub(crate) source: String,
    /// Major and minor number as `254:0`; of no device for file systems such as btrfs.
    number: String,
}

impl Mount {
    /// The device's path, or empty where there is no block device.
    pub(crate) fn device(&self) -> &str {
        if self.source.starts_with("/dev/") { &self.source } else { "" }
    }

    /// Whether the device is the one under this mount: by number, or by name where the file system
    /// hides the number.
    pub(crate) fn is_on(&self, disk: &DiskStat) -> bool {
        if format!("{}:{}", disk.major, disk.minor) == self.number {
            return true;
        }
        let hidden = self.number.starts_with("0:") && !self.device().is_empty();
        hidden && self.device_name().as_deref() == Some(&disk.name)
    }

    /// The kernel's name of the device, behind links such as those of the device mapper.
    fn device_name(&self) -> Option<String> {
        let path = Path::new(self.device());
        let real = fs_err::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        Some(real.file_name()?.to_str()?.to_owned())
    }
}

/// The mount of a folder, which need not exist yet; none if the mounts cannot be read.
pub(crate) fn of(proc_root: &Path, folder: &Path) -> Option<Mount> {
    innermost(&proc_root.join("self/mountinfo"), &real(folder))
}

/// The mount of a target's data folder, as the process sees it that works there; none if it is not
/// known.
pub(crate) fn of_target(target: &Target) -> Option<Mount> {
    let (root, folder) = (&target.proc_root, &target.data_folder);
    match target.data_folder_of {
        Some(pid) => of_process(root, pid, folder),
        None => of(root, folder),
    }
}

/// The mount of a folder of another process, which may see other mounts than this one: the path has
/// to be without links.
fn of_process(proc_root: &Path, pid: u32, folder: &Path) -> Option<Mount> {
    innermost(&proc_root.join(pid.to_string()).join("mountinfo"), folder)
}

fn innermost(table: &Path, folder: &Path) -> Option<Mount> {
    let around = all(table).into_iter().filter(|mount| folder.starts_with(&mount.point));
    // The longest mount point wins; of equal ones the last, because it hides those before it.
    around.max_by_key(|mount| mount.point.components().count())
}

/// The mounts of a `mountinfo`; none if it cannot be read.
pub(crate) fn all(table: &Path) -> Vec<Mount> {
    // A mount point may be any bytes, and one that is no text must not hide the others.
    let bytes = fs_err::read(table).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let infos = text.lines().filter_map(|line| MountInfo::from_line(line).ok());
    let mount = |info: MountInfo| Mount {
        point: unescaped(&info.mount_point),
        kind: info.fs_type,
        source: info.mount_source.unwrap_or_default(),
        number: info.majmin,
    };
    infos.map(mount).collect()
}

/// A path whose blanks, ends of lines and backslashes the kernel wrote as `\040` and the like.
fn unescaped(path: &Path) -> PathBuf {
    let mut rest = path.as_os_str().as_bytes();
    let mut bytes = Vec::new();
    loop {
        let (byte, after) = match rest {
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                ((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'), after)
            }
            [byte, after @ ..] => (*byte, after),
            [] => return PathBuf::from(OsString::from_vec(bytes)),
        };
        bytes.push(byte);
        rest = after;
    }
}

/// The folder without links, as far as it exists.
fn real(folder: &Path) -> PathBuf {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    for existing in absolute.ancestors() {
        if let Ok(real) = fs_err::canonicalize(existing) {
            let rest = absolute.strip_prefix(existing).unwrap_or(Path::new(""));
            return real.join(rest);
        }
    }
    absolute
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    const MOUNTS: &str = "20 1 254:0 / / rw - ext4 /dev/vda rw\n\
                          21 20 0:30 / /pool rw shared:1 - btrfs /dev/nvme9n1p2 rw\n\
                          22 20 0:40 / /pool/a rw - tmpfs tmpfs rw\n\
                          23 20 0:41 / /pool/a rw - overlay overlay rw\n\
                          24 20 8:1 / /my\\040disk\\134 rw - xfs /dev/sda1 rw\n";

    fn check(folder: &str, expected: (&str, &str, &str)) {
        let fake = FakeProc::new();
        fake.write("self/mountinfo", MOUNTS);
        let mount = of(fake.root(), Path::new(folder)).unwrap();
        let point = mount.point.display().to_string();
        assert_eq!((&*point, &*mount.kind, mount.device()), expected, "{folder}");
    }

    #[test]
    fn the_innermost_and_last_mount_wins() {
        check("/", ("/", "ext4", "/dev/vda"));
        check("/poolside", ("/", "ext4", "/dev/vda"));
        check("/pool/b", ("/pool", "btrfs", "/dev/nvme9n1p2"));
        check("/pool/a/b", ("/pool/a", "overlay", ""));
        check("/my disk\\/a", ("/my disk\\", "xfs", "/dev/sda1"));
    }

    #[test]
    fn a_mount_point_that_is_no_text_hides_no_other() {
        let fake = FakeProc::new();
        fake.write("self/mountinfo", "");
        let odd: &[u8] = b"25 20 8:2 / /\xe9t\xe9 rw - xfs /dev/sdb1 rw\n";
        let table = [MOUNTS.as_bytes(), odd].concat();
        fs_err::write(fake.root().join("self/mountinfo"), table).unwrap();
        let mount = of(fake.root(), Path::new("/pool/b")).unwrap();
        assert_eq!(mount.device(), "/dev/nvme9n1p2");
    }

    #[test]
    fn another_process_may_have_other_mounts() {
        let fake = FakeProc::new();
        fake.write("self/mountinfo", MOUNTS);
        fake.write("70/mountinfo", "20 1 8:7 / / rw - xfs /dev/sda7 rw\n");
        let mount = of_process(fake.root(), 70, Path::new("/pool/b")).unwrap();
        assert_eq!((&*mount.kind, mount.device()), ("xfs", "/dev/sda7"));
        assert_eq!(of_process(fake.root(), 71, Path::new("/pool/b")), None);
    }

    #[test]
    fn a_device_is_found_by_number_or_by_name() {
        let fake = FakeProc::new();
        fake.write("self/mountinfo", MOUNTS);
        let disk = |line: &str| DiskStat::from_line(line).unwrap();
        let vda = disk("254 0 vda 0 0 0 0 0 0 0 0 0 0 0");
        let partition = disk("259 2 nvme9n1p2 0 0 0 0 0 0 0 0 0 0 0");
        for (folder, on_vda, on_partition) in
            [("/", true, false), ("/pool", false, true), ("/pool/a", false, false)]
        {
            let mount = of(fake.root(), Path::new(folder)).unwrap();
            assert_eq!((mount.is_on(&vda), mount.is_on(&partition)), (on_vda, on_partition));
        }
    }

    #[test]
    fn this_hosts_temporary_folder_is_somewhere() {
        assert!(of(Path::new("/proc"), &std::env::temp_dir().join("not/yet")).is_some());
    }
}
