//! A build on this host, and the manifest that tells where it came from.

use crate::{
    Error, Result, ServerUser, archive,
    basedir::{Located, locate},
    client,
    integrity::CodeFile,
    product::Dbms,
    version,
};
use fs_err as fs;
use std::path::{Path, PathBuf};

const MANIFEST: &str = "dbdyno-build.toml";

/// A build that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Product.
    pub server: String,
    /// Exact version, from the program itself.
    pub version: String,
    /// Base folder.
    pub basedir: PathBuf,
    /// The server program.
    pub binary: PathBuf,
    /// SHA-256 of the program, hexadecimal.
    pub binary_sha256: String,
    /// Words before the program: the loader that the build brings with it, or nothing.
    pub loader: Vec<String>,
    /// Environment that the program needs to find its libraries.
    pub environment: Vec<(String, String)>,
}

/// The server program of a base folder and how it is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub binary: PathBuf,
    /// Words before it.
    pub loader: Vec<String>,
    /// Environment that it needs.
    pub environment: Vec<(String, String)>,
}

impl Program {
    /// Arguments of a command that executes the program.
    pub(crate) fn command(&self) -> Vec<String> {
        let mut words = self.loader.clone();
        words.push(self.binary.display().to_string());
        words
    }
}

/// What is recorded beside an installed build.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
}

/// A file that was fetched, as it was when fetched.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Download {
    pub(crate) file: String,
    pub(crate) sha256: String,
}

impl Manifest {
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(MANIFEST);
        if !path.exists() {
            return Ok(None);
        }
        toml::from_str(&fs::read_to_string(&path)?)
            .map(Some)
            .map_err(|error| Error::Manifest { path, reason: error.message().to_owned() })
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

impl Installed {
    /// Looks at a base folder and asks its program for the version.
    pub(crate) fn of_folder(
        product: &dyn Dbms,
        basedir: &Path,
        user: Option<ServerUser>,
    ) -> Result<Self> {
        let Located { basedir, program } = locate(product, basedir, user)?;
        let found = ask_version(&program, user)?;
        let other = |found: &str| Error::OtherBuild {
            binary: program.binary.clone(),
            found: found.trim().to_owned(),
            wanted: format!("a {} server", product.name()),
        };
        if !product.recognises(&found) {
            return Err(other(&found));
        }
        let version = version::version_in(&found).ok_or_else(|| other(&found))?.to_owned();
        let binary_sha256 = match Manifest::read(&basedir)? {
            Some(manifest) => manifest.binary_sha256,
            None => archive::sha256(&program.binary)?,
        };
        Ok(Self {
            server: product.name().to_owned(),
            version,
            basedir,
            binary: program.binary,
            binary_sha256,
            loader: program.loader,
            environment: program.environment,
        })
    }

    /// The program as it is executed.
    pub(crate) fn program(&self) -> Program {
        Program {
            binary: self.binary.clone(),
            loader: self.loader.clone(),
            environment: self.environment.clone(),
        }
    }
}

fn ask_version(program: &Program, user: Option<ServerUser>) -> Result<String> {
    let mut words = program.command();
    words.push("--version".to_owned());
    let answer = client::ask(&words, &program.environment, user)?;
    if answer.trim().is_empty() {
        let found = "a program that does not report its version".to_owned();
        let wanted = "a server".to_owned();
        return Err(Error::OtherBuild { binary: program.binary.clone(), found, wanted });
    }
    Ok(answer)
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
        };
        manifest.write(folder.path()).unwrap();
        assert_eq!(Manifest::read(folder.path()).unwrap(), Some(manifest));
        fs::write(folder.path().join(MANIFEST), "server = 1").unwrap();
        assert!(
            Manifest::read(folder.path())
                .unwrap_err()
                .to_string()
                .contains("install the build again")
        );
    }
}
