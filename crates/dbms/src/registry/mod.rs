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
pub(crate) struct Registry {
    /// Name in the table.
    name: &'static str,
    /// The version that the registry holds now, for packages that move.
    pub(crate) lookup: fn(&Package, &Places) -> Result<String>,
    /// Fetches the package's files. The client verifies what its registry knows of them.
    pub(crate) fetch: fn(&Package, &Places, &Destination<'_>) -> Result<Vec<PathBuf>>,
    /// Unpacks the fetched files.
    pub(crate) unpack: fn(&Package, &[PathBuf], &Destination<'_>) -> Result<()>,
}

/// Where a package goes.
pub(crate) struct Destination<'a> {
    /// Empty folder for downloads; the caller removes it.
    pub(crate) scratch: &'a Path,
    /// Empty folder for the contents.
    pub(crate) folder: &'a Path,
}

/// All registries.
const REGISTRIES: &[Registry] =
    &[maven::REGISTRY, npm::REGISTRY, debian::REGISTRY, cargo::REGISTRY, pypi::REGISTRY];

/// The registry of a package.
pub(crate) fn of(package: &Package) -> Result<&'static Registry> {
    let found = REGISTRIES.iter().find(|r| r.name == package.registry);
    found.ok_or_else(|| Error::ClientMissing {
        program: package.registry.to_owned(),
        package: package.label(),
    })
}

/// The version as it is written.
fn as_written(package: &Package, _: &Places) -> Result<String> {
    Ok(package.at.clone())
}

/// Unpacks files that are archives.
fn unpacked(_: &Package, files: &[PathBuf], to: &Destination<'_>) -> Result<()> {
    files.iter().try_for_each(|file| archive::unpack(file, to.folder))
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
