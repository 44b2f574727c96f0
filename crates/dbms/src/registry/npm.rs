//! npm: one `.tgz` per version, with everything in a folder `package`.

use super::{Destination, Registry};
use crate::{Places, Result, archive, client, package::Package};
use fs_err as fs;
use std::path::PathBuf;

pub(super) struct Npm;

impl Registry for Npm {
    fn name(&self) -> &'static str {
        "npm"
    }

    fn lookup(&self, package: &Package, _: &Places) -> Result<String> {
        Ok(package.at.clone())
    }

    fn fetch(&self, package: &Package, _: &Places, to: &Destination<'_>) -> Result<Vec<PathBuf>> {
        let name = package.names.first().map_or("", String::as_str);
        let wanted = format!("{name}@{}", package.at);
        client::run("npm", &["pack", "--silent", &wanted], to.scratch, &package.label())?;
        let mut files = Vec::new();
        for entry in fs::read_dir(to.scratch)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "tgz") {
                archive::unpack(&path, to.folder)?;
                files.push(path);
            }
        }
        archive::hoist(&to.folder.join("package"), to.folder)?;
        Ok(files)
    }
}
