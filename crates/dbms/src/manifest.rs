//! The manifest of an installed build, which tells where it came from.

use crate::{Error, Result, integrity::CodeFile};
use fs_err as fs;
use std::path::Path;

const MANIFEST: &str = "dbdyno-build.toml";

/// What is recorded beside an installed build.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    pub(crate) server: String,
    pub(crate) version: String,
    /// Registry and package, or the file name of an import.
    pub(crate) origin: String,
    pub(crate) binary_sha256: String,
    pub(crate) downloads: Vec<Download>,
    /// Programs and libraries, which every start compares.
    #[serde(default)]
    pub(crate) files: Vec<CodeFile>,
    /// How it was compiled, for one that was compiled here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) compiled: Option<Compiled>,
}

/// How a build was compiled here.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compiled {
    /// The hash of everything that it depends on.
    pub(crate) key: String,
    /// What identifies its source.
    pub(crate) tree: String,
    /// The exact revision or version of the source; empty where it has none.
    pub(crate) revision: String,
    /// The name of its options, or they themselves.
    pub(crate) flags: String,
    /// Options of the compiler.
    pub(crate) options: String,
    /// What its compilers say about themselves.
    pub(crate) compiler: String,
}

/// A file that was fetched, as it was when fetched.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Download {
    pub(crate) file: String,
    pub(crate) sha256: String,
}

impl Manifest {
    /// The name of its folder in the cache.
    pub(crate) fn folder(&self) -> String {
        let own = self.compiled.as_ref().map_or(&self.version, |compiled| &compiled.key);
        format!("{}-{own}", self.server)
    }

    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        if !path.exists() {
            return Ok(None);
        }
        toml::from_str(&fs::read_to_string(&path)?)
            .map(Some)
            .map_err(|error| Error::Manifest { path, reason: error.message().to_owned() })
    }

    /// That of a build in the cache. One that cannot be understood, such as that of a later dbdyno,
    /// is none: its build is installed again, and is no obstacle to others.
    pub(crate) fn of_cached(folder: &Path) -> Option<Self> {
        Self::read(folder).ok().flatten()
    }

    /// Removes one that came with a tarball, and says nothing about this build.
    pub(crate) fn remove(folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        if path.exists() { Ok(fs::remove_file(path)?) } else { Ok(()) }
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(MANIFEST);
        let text = toml::to_string(self)
            .map_err(|error| Error::Manifest { path: path.clone(), reason: error.to_string() })?;
        Ok(fs::write(path, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), None);
        let manifest = Manifest {
            server: "mysql".to_owned(),
            version: "5.6.24".to_owned(),
            origin: "npm".to_owned(),
            binary_sha256: "00".to_owned(),
            downloads: vec![Download { file: "a.tgz".to_owned(), sha256: "11".to_owned() }],
            files: Vec::new(),
            compiled: Some(Compiled { key: "0a".to_owned(), ..Compiled::default() }),
        };
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest));
        fs::write(folder.path().join(MANIFEST), "server = 1").unwrap();
        assert_eq!(Manifest::of_cached(folder.path()), None);
        assert!(
            Manifest::read(folder.path())
                .unwrap_err()
                .to_string()
                .contains("install the build again")
        );
    }
}
