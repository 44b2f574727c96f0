//! npm: one `.tgz` per version, with everything in a folder `package`.

use super::{Destination, Registry};
use crate::{Places, Result, archive, client, package::Package};
use std::path::PathBuf;

pub(super) const REGISTRY: Registry =
    Registry { name: "npm", lookup: super::as_written, fetch, unpack };

fn fetch(package: &Package, _: &Places, to: &Destination<'_>) -> Result<Vec<PathBuf>> {
    let name = package.names.first().map_or("", String::as_str);
    let wanted = format!("{name}@{}", package.at);
    client::run("npm", &["pack", "--silent", &wanted], to.scratch, &package.label())?;
    super::files_in(to.scratch, "tgz")
}

fn unpack(_: &Package, files: &[PathBuf], to: &Destination<'_>) -> Result<()> {
    files.iter().try_for_each(|file| archive::unpack(file, to.folder))?;
    archive::hoist(&to.folder.join("package"), to.folder)
}
