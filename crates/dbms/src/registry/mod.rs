//! Registries of packages and their ordinary clients, one file each.

use crate::{Error, Places, Result, archive, package::Package};
use fs_err as fs;
use std::path::{Path, PathBuf};

mod cargo;
mod debian;
mod maven;
mod npm;
mod pypi;

/// A package registry, spoken to through its own client program, which follows the host's settings.
pub(crate) trait Registry: Sync {
    /// Name in the table.
    fn name(&self) -> &'static str;

    /// The version that the registry holds now, for packages that move.
    fn lookup(&self, package: &Package, _: &Places) -> Result<String> {
        Ok(package.at.clone())
    }

    /// Fetches the package's files. The client verifies what its registry knows of them.
    fn fetch(
        &self,
        package: &Package,
        places: &Places,
        to: &Destination<'_>,
    ) -> Result<Vec<PathBuf>>;

    /// Unpacks the fetched files.
    fn unpack(&self, _: &Package, files: &[PathBuf], to: &Destination<'_>) -> Result<()> {
        files.iter().try_for_each(|file| archive::unpack(file, to.folder))
    }
}

/// Where a package goes.
pub(crate) struct Destination<'a> {
    /// Empty folder for downloads; the caller removes it.
    pub(crate) scratch: &'a Path,
    /// Empty folder for the contents.
    pub(crate) folder: &'a Path,
}

/// All registries.
const REGISTRIES: &[&dyn Registry] =
    &[&maven::Maven, &npm::Npm, &debian::Debian, &cargo::Cargo, &pypi::Pypi];

/// The registry of a package.
pub(crate) fn of(package: &Package) -> Result<&'static dyn Registry> {
    let found = REGISTRIES.iter().copied().find(|r| r.name() == package.registry);
    found.ok_or_else(|| Error::ClientMissing {
        program: package.registry.to_owned(),
        package: package.label(),
    })
}

/// What a program delivered for a package, if it is one file.
fn only(files: Vec<PathBuf>, program: &str, package: &Package) -> Result<Vec<PathBuf>> {
    if files.len() == 1 {
        return Ok(files);
    }
    Err(Error::ClientFailed {
        program: program.to_owned(),
        package: package.label(),
        text: format!("it delivered {} files instead of one", files.len()),
    })
}

/// Files of a folder with this extension, by name.
fn files_in(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    Ok(paths)
}
