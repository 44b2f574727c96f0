//! Where a server's build comes from, and how it was compiled.

use crate::Levels;
use serde::{Deserialize, Serialize};

/// Everything that is known of a build beside its version. What is not known is empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// Who delivered it: `maven`, `npm`, `debian`, `import` (a tarball), `basedir` or `bundled`;
    /// for one that was compiled here the kind of its source, `path`, `git`, `archive` or `crate`.
    pub source: String,
    /// The package as its registry names it, the tarball, or the folder.
    pub package: String,
    /// Who made the package, as far as that decides how it was compiled.
    pub packager: String,
    /// Name of the fetched file that holds the server.
    pub archive: String,
    /// SHA-256 of that file, hexadecimal.
    pub archive_sha256: String,
    /// What identifies the source that was compiled here.
    pub tree: String,
    /// The revision of that source.
    pub revision: String,
    /// Compiler with its version, e.g. `GCC 7.5.0`.
    pub compiler: String,
    /// The compilers as the program's own notes name them.
    pub compiler_notes: Vec<String>,
    /// Options of the compiler.
    pub flags: String,
    /// GNU build ID of the program, hexadecimal.
    pub build_id: String,
    /// What the server reports of its build, by name.
    pub reported: Levels,
}
