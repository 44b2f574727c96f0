//! Unpacking what registries deliver and what users have: told apart by content, not by name.

use crate::{Error, Result, folder};
use fs_err as fs;
use sha2::{Digest, Sha256};
use std::{
    io::{self, Read, Seek},
    os::unix::fs::PermissionsExt,
    path::{Component, Path, PathBuf},
};

const GZIP: &[u8] = &[0x1f, 0x8b];
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZIP: &[u8] = b"PK\x03\x04";
const TAR_MAGIC: &[u8] = b"ustar";
const TAR_MAGIC_OFFSET: usize = 257;
const HEAD_BYTES: usize = 512;
/// Bits of a mode by which whoever executes a file becomes its owner, and by which others can write
/// to it while it is unpacked.
const REFUSED_BITS: u32 = 0o6022;

/// Unpacks an archive into a folder, which must exist. Entries that would leave the folder are
/// errors.
pub(crate) fn unpack(archive: &Path, folder: &Path) -> Result<()> {
    let refused = |reason: String| Error::Archive { path: archive.to_owned(), reason };
    let mut file = fs::File::open(archive)?;
    let mut head = Vec::with_capacity(HEAD_BYTES);
    file.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    file.rewind()?;
    let reader = io::BufReader::with_capacity(1 << 20, file);
    let done = if head.starts_with(GZIP) {
        unpack_tar(flate2::read::MultiGzDecoder::new(reader), folder)
    } else if head.starts_with(XZ) {
        unpack_tar(lzma_rust2::XzReader::new(reader, true), folder)
    } else if head.starts_with(BZIP2) {
        unpack_tar(bzip2::bufread::MultiBzDecoder::new(reader), folder)
    } else if head.starts_with(ZIP) {
        unpack_zip(reader, folder)
    } else if head.get(TAR_MAGIC_OFFSET..).is_some_and(|rest| rest.starts_with(TAR_MAGIC)) {
        unpack_tar(reader, folder)
    } else {
        let known = "known are tar, also compressed by gzip, bzip2 or xz, and zip";
        return Err(refused(format!("its format is unknown; {known}")));
    };
    done.map_err(|error| refused(error.to_string()))?;
    check_links(folder).map_err(|error| match error {
        Error::Archive { reason, .. } => refused(reason),
        other => other,
    })
}

/// Fails where a link below a folder leads out of it.
pub(crate) fn check_links(folder: &Path) -> Result<()> {
    match link_outside(folder, &fs::canonicalize(folder)?)? {
        Some(link) => {
            let reason = format!("its link `{}` leads outside of its folder", link.display());
            Err(Error::Archive { path: folder.to_owned(), reason })
        }
        None => Ok(()),
    }
}

/// A link below `folder` that leads out of `root`, or nowhere that can be told.
fn link_outside(folder: &Path, root: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if let Some(link) = link_outside(&path, root)? {
                return Ok(Some(link));
            }
        } else if kind.is_symlink() {
            // A link to nothing, as packages without their documents have, must at least be named
            // relative to a folder inside.
            let is_inside = match fs::canonicalize(&path) {
                Ok(target) => target.starts_with(root),
                Err(_) => fs::read_link(&path)?.components().all(is_downward),
            };
            if !is_inside {
                return Ok(Some(path.strip_prefix(root).unwrap_or(&path).to_owned()));
            }
        }
    }
    Ok(None)
}

fn is_downward(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_) | Component::CurDir)
}

fn unpack_tar(reader: impl Read, to: &Path) -> io::Result<()> {
    let mut tar = tar::Archive::new(reader);
    tar.set_preserve_permissions(true);
    tar.set_preserve_ownerships(false);
    tar.set_mask(REFUSED_BITS);
    for entry in tar.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        if !entry.unpack_in(to)? {
            let text = format!("`{}` lies outside of the archive's folder", name.display());
            return Err(io::Error::other(text));
        }
        if entry.header().entry_type().is_dir() {
            // What lies in it comes after it, whatever its mode is.
            folder::open_to_owner(&to.join(below(&name)))?;
        }
    }
    Ok(())
}

/// A name as it is unpacked: from the archive's folder on.
fn below(name: &Path) -> PathBuf {
    name.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

// By hand, because jars lack entries for folders and modes of files.
fn unpack_zip(reader: impl Read + Seek, folder: &Path) -> io::Result<()> {
    let mut zip = zip::ZipArchive::new(reader).map_err(io::Error::other)?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(io::Error::other)?;
        let Some(name) = entry.enclosed_name() else {
            let text = format!("entry {index} lies outside of the archive's folder");
            return Err(io::Error::other(text));
        };
        let path = folder.join(name);
        if entry.is_dir() {
            fs::create_dir_all(&path)?;
            continue;
        }
        // Links could lead outside, and no jar of a server needs one.
        if entry.is_symlink() {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(&mut entry, &mut fs::File::create(&path)?)?;
        if entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0) {
            fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

/// Moves everything in `inner` into `outer`, one of its ancestors, and removes what then is empty
/// between them.
pub(crate) fn hoist(inner: &Path, outer: &Path) -> Result<()> {
    if inner == outer {
        return Ok(());
    }
    let aside = outer.join(".hoist");
    fs::rename(inner, &aside)?;
    let mut folder = inner.parent();
    while let Some(path) = folder.filter(|path| *path != outer) {
        if fs::remove_dir(path).is_err() {
            break;
        }
        folder = path.parent();
    }
    for entry in fs::read_dir(&aside)? {
        let entry = entry?;
        let target = outer.join(entry.file_name());
        match fs::symlink_metadata(&target) {
            Ok(about) if about.is_dir() => fs::remove_dir_all(&target)?,
            Ok(_) => fs::remove_file(&target)?,
            Err(_) => {}
        }
        fs::rename(entry.path(), target)?;
    }
    Ok(fs::remove_dir(aside)?)
}

/// The first file of this name, breadth first down to a depth; `None` if there is none.
pub(crate) fn find_file(folder: &Path, name: &str, depth: u32) -> Result<Option<PathBuf>> {
    let mut level = vec![folder.to_owned()];
    for _ in 0..=depth {
        let mut next = Vec::new();
        for path in level {
            let mut entries: Vec<_> = fs::read_dir(&path)?.collect::<io::Result<_>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                if entry.file_name() == name && entry.path().is_file() {
                    return Ok(Some(entry.path()));
                }
                if entry.file_type()?.is_dir() {
                    next.push(entry.path());
                }
            }
        }
        level = next;
    }
    Ok(None)
}

/// SHA-256 of a file, hexadecimal.
pub(crate) fn sha256(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut reader = fs::File::open(file)?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = reader.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        hash.update(&buffer[..count]);
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn head(name: &[u8], size: u64, (mode, kind): (u32, tar::EntryType)) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name);
        header.set_size(size);
        header.set_mode(mode);
        header.set_entry_type(kind);
        header.set_cksum();
        header.as_bytes().to_vec()
    }

    fn tar_with(name: &[u8]) -> Vec<u8> {
        let mut bytes = head(name, 5, (0o4755, tar::EntryType::Regular));
        bytes.extend(b"hello");
        bytes.resize(512 * 4, 0);
        bytes
    }

    fn check(bytes: &[u8]) -> Result<String> {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive");
        fs::write(&archive, bytes).unwrap();
        let out = folder.path().join("out");
        fs::create_dir(&out).unwrap();
        unpack(&archive, &out)?;
        Ok(fs::read_to_string(out.join("a/b")).unwrap_or_default())
    }

    #[test]
    fn formats_are_told_apart_by_content() {
        let tar = tar_with(b"a/b");
        assert_eq!(check(&tar).unwrap(), "hello");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&tar).unwrap();
        assert_eq!(check(&gzip.finish().unwrap()).unwrap(), "hello");
        // Programs that compress in parts write several members.
        let members = tar.chunks(700).flat_map(|part| {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(part).unwrap();
            gzip.finish().unwrap()
        });
        assert_eq!(check(&members.collect::<Vec<u8>>()).unwrap(), "hello");
        let mut zip = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
        zip.start_file("a/b", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(b"hello").unwrap();
        assert_eq!(check(zip.finish().unwrap().get_ref()).unwrap(), "hello");
    }

    #[test]
    fn what_is_no_archive_and_what_leaves_its_folder_is_refused() {
        let message = check(b"just text").unwrap_err().to_string();
        assert!(message.contains("its format is unknown"), "{message}");
        let message = check(&tar_with(b"../b")).unwrap_err().to_string();
        assert!(message.contains("outside of the archive's folder"), "{message}");
        let truncated = &tar_with(b"a/b")[..514];
        assert!(check(truncated).is_err());
    }

    #[test]
    fn modes_neither_close_a_folder_nor_open_it_nor_give_a_program_to_others() {
        let folder = tempfile::tempdir().unwrap();
        let (archive, out) = (folder.path().join("archive"), folder.path().join("out"));
        fs::create_dir(&out).unwrap();
        let closed = head(b"a/", 0, (0o555, tar::EntryType::Directory));
        let open = head(b"c/", 0, (0o777, tar::EntryType::Directory));
        fs::write(&archive, [closed, open, tar_with(b"a/b")].concat()).unwrap();
        unpack(&archive, &out).unwrap();
        let mode = |name: &str| fs::metadata(out.join(name)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(["a", "a/b", "c"].map(mode), [0o755; 3]);
    }

    #[test]
    fn what_moves_up_replaces_files_and_folders() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("x");
        for name in ["README", "x/README", "share/old", "x/share/new", "x/bin/mysqld"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        hoist(&inner, folder.path()).unwrap();
        let text = fs::read_to_string(folder.path().join("README")).unwrap();
        assert_eq!(text, "x/README");
        assert!(folder.path().join("share/new").exists());
        assert!(!folder.path().join("share/old").exists());
    }

    #[test]
    fn a_nested_build_moves_up() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("x/y/bin");
        fs::create_dir_all(&inner).unwrap();
        fs::write(inner.join("mysqld"), "x").unwrap();
        let found = find_file(folder.path(), "mysqld", 4).unwrap().unwrap();
        hoist(found.parent().unwrap().parent().unwrap(), folder.path()).unwrap();
        assert!(folder.path().join("bin/mysqld").exists());
        assert!(!folder.path().join("x").exists());
        assert_eq!(find_file(folder.path(), "mariadbd", 4).unwrap(), None);
    }

    #[test]
    fn a_checksum_is_the_known_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(file.path()).unwrap(), expected);
    }
}
