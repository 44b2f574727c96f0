//! Whether a results folder can take a run, before anything is measured.

use crate::{Error, Result};
use fs_err as fs;
use std::{io::Write, path::Path};

/// Name of the file that is written and removed.
const TRIAL: &str = ".writable";

/// Writes, locks and removes a file in `dir`, and looks at the free space.
pub(crate) fn check(dir: &Path, bytes: u64) -> Result<()> {
    let refused = |reason: String| Error::Unwritable { dir: dir.to_owned(), reason };
    let path = dir.join(format!("{TRIAL}-{}", std::process::id()));
    let write = || {
        // A file of a process that was killed may be there.
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&path)?;
        file.write_all(&[0; 4096])?;
        file.sync_all()?;
        std::io::Result::Ok(file)
    };
    let written = write().map_err(|error| refused(error.to_string()));
    let locked = written.and_then(|file| {
        file.file()
            .try_lock()
            .map_err(|error| refused(format!("its file system does not support locks ({error})")))
    });
    let removed = fs::remove_file(&path);
    locked?;
    removed?;
    let free = free_bytes(dir).map_err(|error| refused(error.to_string()))?;
    if free < bytes {
        let text =
            format!("{} KiB are free, and a run needs {} KiB or more", free >> 10, bytes >> 10);
        return Err(refused(text));
    }
    Ok(())
}

fn free_bytes(dir: &Path) -> std::io::Result<u64> {
    let stat = rustix::fs::statvfs(dir)?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_take_a_run_is_named_with_the_reason() {
        let lab = tempfile::tempdir().unwrap();
        assert!(check(lab.path(), 1).is_ok());
        assert_eq!(fs::read_dir(lab.path()).unwrap().count(), 0, "nothing is left");
        let missing = lab.path().join("missing");
        let said = check(&missing, 1).unwrap_err().to_string();
        let named = format!("`{}` cannot take results: ", missing.display());
        assert!(said.starts_with(&named) && said.contains("No such file"), "{said}");
        assert!(said.ends_with("; choose another folder by `--results`"), "{said}");
        let said = check(lab.path(), u64::MAX).unwrap_err().to_string();
        assert!(said.contains("KiB are free, and a run needs 18014398509481983 KiB"), "{said}");
    }
}
