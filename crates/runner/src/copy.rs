//! Copies of data folders: every block starts on a fresh copy of the loaded and settled template.

use crate::Error;
use fs_err as fs;
use rustix::fs::{ioctl_ficlone, statvfs};
use std::{
    os::unix::fs::{MetadataExt, chown, symlink},
    path::Path,
};

/// Copies `from` to `to`, which must not exist: by reflink where the file system can, else byte by
/// byte. Owners and modes are kept; sockets and other special files are left out.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_folder(&source, &target)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            copy_file(&source, &target)?;
        }
    }
    keep_owner(from, to)
}

fn copy_file(from: &Path, to: &Path) -> Result<(), Error> {
    let source = fs::File::open(from)?;
    let target = fs::File::create(to)?;
    if ioctl_ficlone(target.file(), source.file()).is_err() {
        drop((source, target));
        fs::copy(from, to)?;
    }
    keep_owner(from, to)
}

fn keep_owner(from: &Path, to: &Path) -> Result<(), Error> {
    let metadata = fs::metadata(from)?;
    fs::set_permissions(to, metadata.permissions())?;
    let owner = fs::metadata(to)?;
    if (owner.uid(), owner.gid()) != (metadata.uid(), metadata.gid()) {
        chown(to, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    Ok(())
}

/// Removes a folder with everything in it; one that is not there is fine.
pub(crate) fn remove_folder(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => Ok(other?),
    }
}

/// Bytes that an unprivileged user may still write to the file system of `folder`.
pub(crate) fn free_bytes(folder: &Path) -> Result<u64, Error> {
    let usage = statvfs(folder).map_err(std::io::Error::from)?;
    Ok(usage.f_bavail.saturating_mul(usage.f_frsize))
}

/// Writes everything that is pending on the file system of `folder`, so that no slice pays for
/// another's writes.
pub(crate) fn sync_file_system(folder: &Path) -> Result<(), Error> {
    let handle = fs::File::open(folder)?;
    rustix::fs::syncfs(handle.file()).map_err(std::io::Error::from)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_copy_has_the_same_files_modes_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("base")).unwrap();
        fs::write(from.join("base/data"), vec![7_u8; 100_000]).unwrap();
        fs::set_permissions(from.join("base/data"), PermissionsExt::from_mode(0o600)).unwrap();
        symlink("base/data", from.join("link")).unwrap();
        copy_folder(&from, &to).unwrap();
        assert_eq!(fs::read(to.join("base/data")).unwrap(), vec![7_u8; 100_000]);
        assert_eq!(fs::metadata(to.join("base/data")).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("base/data"));
        assert_eq!(dbms::bytes_below(&to), 100_000 + 9);
    }

    #[test]
    fn a_copy_onto_an_existing_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("from");
        fs::create_dir(&from).unwrap();
        let error = copy_folder(&from, folder.path()).unwrap_err().to_string();
        assert!(error.contains(&folder.path().display().to_string()), "{error}");
    }
}
