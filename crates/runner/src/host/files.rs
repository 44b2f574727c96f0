//! Removing data folders, and the file system that they lie on.

use crate::Error;
use fs_err as fs;
use rustix::fs::statvfs;
use std::path::Path;

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
