//! Registries of packages and their ordinary clients, one file each.

use crate::{Places, Result, package::Package};
use std::path::{Path, PathBuf};

mod debian;
mod maven;
mod npm;

/// A package registry, spoken to through its own client program, which follows the host's settings.
pub(crate) trait Registry: Sync {
    /// Name in the table.
    fn name(&self) -> &'static str;

    /// The version that the registry holds now, for packages that move.
    fn lookup(&self, package: &Package, places: &Places) -> Result<String>;

    /// Fetches the package and unpacks it into a folder; `scratch` is an empty folder of its own.
    /// Returns the fetched files.
    fn fetch(
        &self,
        package: &Package,
        places: &Places,
        to: &Destination<'_>,
    ) -> Result<Vec<PathBuf>>;
}

/// Where a package goes.
pub(crate) struct Destination<'a> {
    /// Empty folder for downloads; the caller removes it.
    pub(crate) scratch: &'a Path,
    /// Empty folder for the contents.
    pub(crate) folder: &'a Path,
}

/// All registries.
pub(crate) const REGISTRIES: &[&dyn Registry] = &[&maven::Maven, &npm::Npm, &debian::Debian];
