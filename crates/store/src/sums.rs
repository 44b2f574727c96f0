//! Checksums: the SHA-256 of every file that becomes a number, and reading that verifies it.
//!
//! Sums are lines as `sha256sum` writes them. Those of a record are in its completion marker, those
//! of a run in a file of their own.

use crate::{Error, Result, layout};
use fs_err as fs;
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Largest file of a results folder that is read, bytes.
const LARGEST_FILE: u64 = 4 << 30;

/// Between a sum and its name.
const GAP: &str = "  ";

/// Sums of the files of one folder, hexadecimal, by path below the folder. A file that is about to
/// be replaced has the sum of its successor too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<String, Vec<String>>);

impl Sums {
    /// The sums of all files below `folder`, but of its completion marker.
    pub(crate) fn of_folder(folder: &Path) -> Result<Self> {
        let mut sums = Self::default();
        for name in files(folder)? {
            let sum = sum_of_file(&folder.join(&name))?;
            sums.0.insert(name, vec![sum]);
        }
        Ok(sums)
    }

    /// Notes what a file is going to hold; what it holds now, if it is there, stays right.
    pub(crate) fn replace(&mut self, name: &str, now: Option<&[u8]>, then: &[u8]) {
        let known = now.into_iter().chain([then]).map(sum_of);
        self.0.insert(name.to_owned(), known.collect());
    }

    /// The lines of a file of sums; `None` where a line is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut sums = Self::default();
        for line in text.strip_suffix('\n')?.split('\n') {
            let (sum, name) = line.split_once(GAP)?;
            let plain = sum.len() == 64 && sum.bytes().all(|byte| byte.is_ascii_hexdigit());
            if !plain || name.is_empty() {
                return None;
            }
            sums.0.entry(name.to_owned()).or_default().push(sum.to_owned());
        }
        Some(sums)
    }

    /// Whether they name this file.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The lines of a file of sums.
    pub(crate) fn text(&self) -> String {
        let lines = self
            .0
            .iter()
            .flat_map(|(name, sums)| sums.iter().map(move |sum| format!("{sum}{GAP}{name}\n")));
        lines.collect()
    }

    /// The bytes of a file in `folder`, if they are those that were recorded.
    pub(crate) fn read(&self, folder: &Path, name: &str) -> Result<Vec<u8>> {
        let bytes = read(&folder.join(name))?;
        self.verify(folder, name, &bytes).map(|()| bytes)
    }

    /// Fails if these are not the bytes of a file in `folder` that were recorded.
    pub(crate) fn verify(&self, folder: &Path, name: &str, bytes: &[u8]) -> Result<()> {
        self.known(folder, name, &sum_of(bytes))
    }

    /// Fails if this is not a sum of a file in `folder` that was recorded.
    fn known(&self, folder: &Path, name: &str, sum: &str) -> Result<()> {
        match self.0.get(name).is_some_and(|known| known.iter().any(|known| known == sum)) {
            true => Ok(()),
            false => Err(Error::Changed { path: folder.join(name) }),
        }
    }

    /// Checks that `folder` holds the recorded files unchanged, and no other.
    pub(crate) fn check(&self, folder: &Path) -> Result<()> {
        for name in self.0.keys() {
            self.known(folder, name, &sum_of_file(&folder.join(name))?)?;
        }
        match files(folder)?.into_iter().find(|name| !self.0.contains_key(name)) {
            Some(name) => Err(Error::Changed { path: folder.join(name) }),
            None => Ok(()),
        }
    }
}

/// The bytes of a regular file of at most 4 GiB.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > LARGEST_FILE {
        let reason = format!("it has {} MiB, and 4096 are the limit", length >> 20);
        return Err(Error::Malformed { path: path.to_owned(), reason });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(LARGEST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// SHA-256 of a regular file of any size, such as a server's log, hexadecimal.
fn sum_of_file(path: &Path) -> Result<String> {
    let (file, length) = open(path)?;
    let mut sum = Sha256::new();
    std::io::copy(&mut file.take(length), &mut sum)?;
    Ok(hexadecimal(&sum.finalize()))
}

/// A regular file and its length, bytes. Never waits for a pipe, and opens no device.
fn open(path: &Path) -> Result<(std::fs::File, u64)> {
    let not_a_file = || Error::Malformed {
        path: path.to_owned(),
        reason: "it is not a regular file".to_owned(),
    };
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    // A device may act when it is opened, so it is looked at before.
    let is_file = |found: std::fs::Metadata| found.is_file().then_some(found.len());
    is_file(fs::metadata(path)?).ok_or_else(not_a_file)?;
    let file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let length = is_file(file.metadata()?).ok_or_else(not_a_file)?;
    Ok((file, length))
}

/// SHA-256, hexadecimal.
pub(crate) fn sum_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Paths below `folder` of the files in it and in its folders, without the completion marker.
fn files(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(below) = open.pop() {
        for entry in fs::read_dir(folder.join(&below))? {
            let entry = entry?;
            let path = below.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                open.push(path);
            } else if path != Path::new(layout::COMPLETE) {
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_as_they_are_written() {
        let lab = tempfile::tempdir().unwrap();
        fs::create_dir(lab.path().join("logs")).unwrap();
        fs::write(lab.path().join("a"), "abc").unwrap();
        fs::write(lab.path().join("logs/b"), "").unwrap();
        fs::write(lab.path().join(layout::COMPLETE), "x").unwrap();
        let sums = Sums::of_folder(lab.path()).unwrap();
        // FIPS 180-2, appendix B.1, and the sum of nothing.
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
                    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  logs/b\n";
        assert_eq!(sums.text(), text);
        assert_eq!(Sums::parse(text).unwrap(), sums);
        sums.check(lab.path()).unwrap();
        for bad in ["", "x", &text[1..], &text[..text.len() - 1], &text.replace("  ", " ")] {
            assert_eq!(Sums::parse(bad), None, "{bad}");
        }
        fs::write(lab.path().join("c"), "").unwrap();
        assert!(sums.check(lab.path()).unwrap_err().to_string().contains("/c`"));
        fs::remove_file(lab.path().join("c")).unwrap();
        fs::write(lab.path().join("a"), "abd").unwrap();
        assert!(sums.check(lab.path()).unwrap_err().to_string().contains("/a`"));
    }

    #[test]
    fn a_file_that_is_being_replaced_may_be_the_old_or_the_new_one() {
        let lab = tempfile::tempdir().unwrap();
        let mut sums = Sums::default();
        let readable = |sums: &Sums, text: &str| {
            fs::write(lab.path().join("state"), text).unwrap();
            sums.read(lab.path(), "state").is_ok()
        };
        sums.replace("state", Some(b"1"), b"2");
        assert!(readable(&sums, "1") && readable(&sums, "2"));
        sums.replace("state", Some(b"2"), b"3");
        assert!(!readable(&sums, "1") && readable(&sums, "2") && readable(&sums, "3"));
    }

    #[test]
    fn pipes_and_devices_are_not_read() {
        let lab = tempfile::tempdir().unwrap();
        let pipe = lab.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), lab.path()] {
            let said = read(path).unwrap_err().to_string();
            assert!(said.contains("it is not a regular file"), "{said}");
        }
    }
}
