//! Data folders that a killed run has left: the next run finds and removes them.

use crate::Result;
use fs_err as fs;
use rustix::fs::{FlockOperation, flock};
use std::path::Path;

/// Held by the process that uses a run's folder.
const LOCK: &str = "lock";
/// Says that the user asked for the folder to stay.
pub(crate) const KEPT: &str = "kept";

/// Takes the lock of a run's folder; the file holds it as long as it is open. A folder whose lock
/// is taken belongs to the same run resumed, which the record's own lock refuses.
pub(crate) fn lock(folder: &Path) -> Result<fs::File> {
    let file = fs::File::options().create(true).append(true).open(folder.join(LOCK))?;
    let _ = flock(file.file(), FlockOperation::NonBlockingLockExclusive);
    Ok(file)
}

/// Removes every folder below `runs` whose process is gone, but for `own` and kept ones. What
/// cannot be removed stays: it harms nobody but the disk.
pub(crate) fn sweep(runs: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    for folder in entries.flatten().map(|entry| entry.path()) {
        if folder != own && is_left(&folder) {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}

/// Whether nobody uses the folder and nobody wants it. One without a lock may be just being made.
fn is_left(folder: &Path) -> bool {
    if folder.join(KEPT).exists() {
        return false;
    }
    let Ok(file) = fs::File::open(folder.join(LOCK)) else { return false };
    flock(file.file(), FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_that_nobody_uses_or_wants_are_removed() {
        let runs = tempfile::tempdir().unwrap();
        let make = |name: &str| {
            let folder = runs.path().join(name);
            fs::create_dir(&folder).unwrap();
            folder
        };
        let [own, left, used, kept, new] = ["own", "left", "used", "kept", "new"].map(make);
        let _own = lock(&own).unwrap();
        let _used = lock(&used).unwrap();
        drop(lock(&left).unwrap());
        drop(lock(&kept).unwrap());
        fs::write(kept.join(KEPT), b"").unwrap();
        sweep(runs.path(), &own);
        let there = [&own, &left, &used, &kept, &new].map(|folder| folder.exists());
        assert_eq!(there, [true, false, true, true, true]);
    }
}
