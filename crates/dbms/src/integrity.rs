//! Whether an installed build is the one that was installed: its program and libraries are compared
//! with the manifest at every start.
//!
//! A file whose inode, size and times are those of the manifest is not read again: whoever can
//! change a file without changing them is root. Others are hashed, about a second for 500 MB.

use crate::{Error, Installed, Result, archive, folder, manifest::Manifest, task};
use fs_err as fs;
use std::{
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const ELF: &[u8] = b"\x7fELF";

/// A program or library of a build, as it was when installed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeFile {
    /// Path below the base folder.
    path: PathBuf,
    sha256: String,
    /// Inode, size [bytes], times of the last change of content and of anything [ns].
    stamp: [i64; 4],
}

/// All programs and libraries below a base folder, by path.
pub(crate) fn code_files(basedir: &Path) -> Result<Vec<CodeFile>> {
    let mut found = Vec::new();
    let mut folders = vec![basedir.to_owned()];
    while let Some(above) = folders.pop() {
        for entry in fs::read_dir(above)? {
            let entry = entry?;
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_code(&path)? {
                let below = path.strip_prefix(basedir).unwrap_or(&path).to_owned();
                found.push(CodeFile {
                    sha256: archive::sha256(&path)?,
                    stamp: stamp(&path)?,
                    path: below,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Fails where a program or library differs from the manifest of its build, or the program from the
/// one that was looked at first. A user's own folder has no manifest.
pub fn check(installed: &Installed) -> Result<()> {
    let Some(manifest) = Manifest::read(&installed.basedir)? else {
        return check_program(installed, &archive::sha256(&installed.binary)?);
    };
    check_program(installed, &manifest.binary_sha256)?;
    let changed = |file: &Path| changed(installed, file);
    for file in &manifest.files {
        let path = installed.basedir.join(&file.path);
        // The loader's own links are followed, as it does; the target is listed itself.
        if !fs::symlink_metadata(&path).is_ok_and(|about| about.is_file()) {
            return Err(changed(&path));
        }
        let is_same = folder::is_ours(&path) && stamp(&path)? == file.stamp;
        if !is_same && archive::sha256(&path)? != file.sha256 {
            return Err(changed(&path));
        }
    }
    let is_listed = manifest.files.iter().any(|file| installed.binary.ends_with(&file.path));
    if !is_listed && archive::sha256(&installed.binary)? != manifest.binary_sha256 {
        return Err(changed(&installed.binary));
    }
    Ok(())
}

/// Fails where the program is another one by now: a run would have blocks of two builds.
fn check_program(installed: &Installed, sha256: &str) -> Result<()> {
    if sha256 == installed.binary_sha256 {
        return Ok(());
    }
    let reason = "is another program than at the start of the run: start the run again".to_owned();
    Err(Error::Basedir { path: installed.binary.clone(), reason })
}

/// Fails where a process has mapped a library of its build that the manifest does not list.
pub(crate) fn check_mapped(installed: &Installed, pid: u32) -> Result<()> {
    let Some(manifest) = Manifest::read(&installed.basedir)? else { return Ok(()) };
    if manifest.files.is_empty() {
        return Ok(());
    }
    for path in task::mapped_code(pid) {
        let Ok(below) = path.strip_prefix(&installed.basedir) else { continue };
        if manifest.files.iter().all(|file| file.path != below) {
            return Err(changed(installed, &path));
        }
    }
    Ok(())
}

fn changed(installed: &Installed, file: &Path) -> Error {
    Error::ChangedBuild {
        server: installed.server.clone(),
        version: installed.version.clone(),
        file: file.to_owned(),
        folder: installed.basedir.clone(),
    }
}

fn is_code(path: &Path) -> Result<bool> {
    let mut head = Vec::new();
    fs::File::open(path)?.take(ELF.len() as u64).read_to_end(&mut head)?;
    Ok(head == ELF)
}

fn stamp(path: &Path) -> Result<[i64; 4]> {
    let about = fs::metadata(path)?;
    let time = |seconds: i64, nanos: i64| seconds.saturating_mul(1_000_000_000) + nanos;
    let number = |value: u64| i64::try_from(value).unwrap_or(-1);
    Ok([
        number(about.ino()),
        number(about.size()),
        time(about.mtime(), about.mtime_nsec()),
        time(about.ctime(), about.ctime_nsec()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(folder: &Path) -> Installed {
        let binary = folder.join("bin/server");
        fs::create_dir_all(folder.join("bin")).unwrap();
        fs::write(&binary, b"\x7fELF one").unwrap();
        fs::write(folder.join("lib.so"), b"\x7fELF two").unwrap();
        fs::write(folder.join("text"), b"three").unwrap();
        let manifest = Manifest {
            server: "mysql".to_owned(),
            version: "9".to_owned(),
            origin: "npm".to_owned(),
            binary_sha256: archive::sha256(&binary).unwrap(),
            files: code_files(folder).unwrap(),
            ..Manifest::default()
        };
        manifest.write(folder).unwrap();
        Installed {
            server: "mysql".to_owned(),
            version: "9".to_owned(),
            basedir: folder.to_owned(),
            binary,
            binary_sha256: manifest.binary_sha256,
            loader: Vec::new(),
            environment: Vec::new(),
        }
    }

    #[test]
    fn a_changed_program_or_library_is_named() {
        for name in ["bin/server", "lib.so"] {
            let folder = tempfile::tempdir().unwrap();
            let installed = build(folder.path());
            assert_eq!(Manifest::read(folder.path()).unwrap().unwrap().files.len(), 2);
            check(&installed).unwrap();
            let path = folder.path().join(name);
            let bytes = fs::read(&path).unwrap();
            // The same bytes again are the same build.
            fs::write(&path, &bytes).unwrap();
            check(&installed).unwrap();
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, b"\x7fELF 666").unwrap();
            fs::File::open(&path).unwrap().file().set_modified(modified).unwrap();
            let message = check(&installed).unwrap_err().to_string();
            let start = format!(
                "the build `mysql@9` has changed since it was installed: `{}`",
                path.display()
            );
            assert!(message.starts_with(&start), "{message}");
            fs::remove_file(&path).unwrap();
            assert!(check(&installed).is_err());
        }
    }

    #[test]
    fn a_program_that_was_replaced_since_the_run_began_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let installed = build(folder.path());
        let refused = |installed: &Installed| check(installed).unwrap_err().to_string();
        // A whole build has taken its place, with a manifest of its own.
        let before = Installed { binary_sha256: "00".to_owned(), ..installed.clone() };
        assert!(refused(&before).contains("another program"), "{}", refused(&before));
        // A folder of the user's, in which a program is compiled again.
        Manifest::remove(folder.path()).unwrap();
        check(&installed).unwrap();
        fs::write(&installed.binary, b"\x7fELF other").unwrap();
        assert!(refused(&installed).contains("another program"), "{}", refused(&installed));
    }
}
