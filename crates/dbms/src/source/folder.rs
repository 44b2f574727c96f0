//! `path`: a folder of the user's. Its copy is compiled, without what Git keeps in it.

use super::{Identity, Kind, Known, refused};
use crate::{Error, Places, Result, folder, manifest::Download, registry::Destination};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use model::recipe::Tree;
use sha2::{Digest, Sha256};
use std::{
    fmt::Write,
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

pub(super) const KIND: Kind = Kind { name: "path", check, identify, unpack };

/// What is left out: the history, which is no part of a tree.
pub(super) const HISTORY: &str = ".git";

fn check(tree: &Tree) -> Result<()> {
    match Path::new(&tree.at) {
        path if path.is_dir() => Ok(()),
        path if path.exists() => Err(refused(tree, "is no folder; write `archive` for a tarball")),
        _ => Err(refused(tree, "does not exist; name the folder of a source tree")),
    }
}

fn identify(tree: &Tree, places: &Places) -> Result<Identity> {
    check(tree)?;
    // A copy of it would hold itself.
    if places.root.starts_with(fs::canonicalize(&tree.at)?) {
        let cache = places.root.display();
        let reason = format!(
            "holds `{cache}`, where builds lie; name another cache by `XDG_CACHE_HOME`, or a \
             folder of the tree alone"
        );
        return Err(refused(tree, reason));
    }
    Ok(Identity { hash: hash(Path::new(&tree.at))?, revision: String::new() })
}

fn unpack(what: &Known<'_>, to: &Destination<'_>) -> Result<Vec<Download>> {
    let tree = what.tree;
    let source = fs::canonicalize(&tree.at)?;
    fs::remove_dir(to.folder)?;
    folder::copy_without(&source, to.folder, HISTORY).map_err(|error| match error {
        Error::ForeignFile { path, .. } => {
            let path = path.display();
            refused(tree, format!("holds `{path}` of another user; give all to one user"))
        }
        other => other,
    })?;
    if hash(to.folder)? != what.identity.hash {
        return Err(refused(tree, "changed while it was copied; try again"));
    }
    Ok(Vec::new())
}

/// SHA-256 of names, kinds, modes and contents of everything below a folder. Links are not
/// followed, and what is neither a file nor a folder nor a link counts as nothing.
pub(crate) fn hash(folder: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    add(folder, &mut digest, HISTORY)?;
    let mut text = "sha256:".to_owned();
    for byte in digest.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

fn add(folder: &Path, digest: &mut Sha256, left_out: &str) -> Result<()> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    for name in names.iter().filter(|name| **name != *left_out) {
        let path = folder.join(name);
        let about = fs::symlink_metadata(&path)?;
        let mut begin = |kind: &str, bytes: u64| {
            // Lengths, so that no name can look like a content.
            digest.update(format!("{kind} {} {bytes} ", name.len()));
            digest.update(name.as_bytes());
        };
        if about.is_dir() {
            begin("folder", 0);
            add(&path, digest, "")?;
            digest.update("end ");
        } else if about.is_symlink() {
            let target = fs::read_link(&path)?;
            begin("link", target.as_os_str().len() as u64);
            digest.update(target.as_os_str().as_bytes());
        } else if about.is_file() {
            begin(if about.mode() & 0o100 == 0 { "file" } else { "program" }, about.len());
            let mut options = fs::OpenOptions::new();
            let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
            let mut file = options.read(true).custom_flags(flags).open(&path)?;
            io::copy(&mut file, digest)?;
        }
    }
    Ok(())
}
