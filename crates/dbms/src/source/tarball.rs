//! `archive`: a tarball or zip file of the user's.

use super::{Identity, Kind, Known, refused};
use crate::{Places, Result, archive, manifest::Download, registry::Destination};
use fs_err as fs;
use model::recipe::Tree;
use std::path::{Path, PathBuf};

pub(super) const KIND: Kind = Kind { name: "archive", check, identify, unpack };

fn check(tree: &Tree) -> Result<()> {
    match Path::new(&tree.at) {
        path if path.is_file() => Ok(()),
        path if path.is_dir() => Err(refused(tree, "is a folder; write `path` for it")),
        _ => Err(refused(tree, "does not exist; name a tarball")),
    }
}

fn identify(tree: &Tree, _: &Places) -> Result<Identity> {
    check(tree)?;
    let hash = format!("sha256:{}", archive::sha256(Path::new(&tree.at))?);
    Ok(Identity { hash, revision: String::new() })
}

fn unpack(what: &Known<'_>, to: &Destination<'_>) -> Result<Vec<Download>> {
    let path = Path::new(&what.tree.at);
    archive::unpack(path, to.folder)?;
    lift(to.folder)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let sha256 = what.identity.hash.trim_start_matches("sha256:").to_owned();
    if archive::sha256(path)? != sha256 {
        return Err(refused(what.tree, "changed while it was unpacked; try again"));
    }
    Ok(vec![Download { file, sha256 }])
}

/// Moves the content of the only folder of a folder up.
pub(super) fn lift(folder: &Path) -> Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let entries = entries.collect::<Result<Vec<PathBuf>>>()?;
    match entries.as_slice() {
        [only] if only.is_dir() => archive::hoist(only, folder),
        _ => Ok(()),
    }
}
