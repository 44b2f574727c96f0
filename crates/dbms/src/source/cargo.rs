//! `crate`: a package of Rust that holds the source of a library, such as `libsqlite3-sys`.

use super::{Identity, Kind, Known, check_word, refused};
use crate::{
    Error, Places, Result, archive, known,
    manifest::Download,
    package::{CRATE, Package},
    registry::{self, Destination},
};
use model::recipe::Tree;
use std::path::{Path, PathBuf};

pub(super) const KIND: Kind = Kind { name: CRATE, check, identify, unpack };

fn check(tree: &Tree) -> Result<()> {
    let is_plain = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._+-".contains(c);
        !text.is_empty() && text.chars().all(plain)
    };
    check_word(tree, &tree.at)?;
    check_word(tree, &tree.revision)?;
    if is_plain(&tree.at) && is_plain(&tree.revision) {
        return Ok(());
    }
    Err(refused(tree, "is no crate with an exact `version`, such as `0.30.1`"))
}

fn identify(tree: &Tree, places: &Places) -> Result<Identity> {
    check(tree)?;
    let file = format!("{}-{}.crate", tree.at, tree.revision);
    let sha256 = match known::sha256_of(&file) {
        Some(known) => known.to_owned(),
        // Its client has it already, if it was compiled here.
        None => fetched(tree, places, &places.registry("crate")?)?.1,
    };
    Ok(Identity { hash: format!("sha256:{sha256}"), revision: tree.revision.clone() })
}

fn unpack(what: &Known<'_>, to: &Destination<'_>) -> Result<Vec<Download>> {
    let (path, sha256) = fetched(what.tree, what.places, to.scratch)?;
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let expected = what.identity.hash.trim_start_matches("sha256:").to_owned();
    if sha256 != expected {
        let build = what.tree.to_string();
        return Err(Error::OtherDownload { build, file, sha256, expected });
    }
    archive::unpack(&path, to.folder)?;
    super::tarball::lift(to.folder)?;
    Ok(vec![Download { file, sha256 }])
}

/// The file of a crate, and its SHA-256.
fn fetched(tree: &Tree, places: &Places, scratch: &Path) -> Result<(PathBuf, String)> {
    let names = vec![tree.at.clone()];
    let package = Package { registry: CRATE, names, at: tree.revision.clone() };
    let to = Destination { scratch, folder: scratch };
    let files = (registry::of(&package)?.fetch)(&package, places, &to)?;
    let file = files.into_iter().next();
    let file = file.ok_or_else(|| refused(tree, "was not delivered by its registry"))?;
    let sha256 = archive::sha256(&file)?;
    Ok((file, sha256))
}
