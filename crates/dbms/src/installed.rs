//! A build on this host.

use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// A build that can be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    /// Product.
    pub server: String,
    /// Exact version, from the program itself; empty for a library of the user's.
    pub version: String,
    /// Base folder; the library itself where it is the user's.
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
    /// The program at a place in a base folder, which needs nothing else to be executed.
    pub(crate) fn at(server: &str, basedir: &Path, place: &str) -> Result<Self> {
        let binary = basedir.join(place);
        if !binary.is_file() {
            let (server, folder) = (server.to_owned(), basedir.to_owned());
            return Err(Error::NoBuild { server, folder, missing: place.to_owned() });
        }
        Ok(Self { binary, loader: Vec::new(), environment: Vec::new() })
    }

    /// Arguments of a command that executes the program.
    pub(crate) fn command(&self) -> Vec<String> {
        let mut words = self.loader.clone();
        words.push(self.binary.display().to_string());
        words
    }
}

impl Installed {
    /// The program as it is executed.
    pub(crate) fn program(&self) -> Program {
        Program {
            binary: self.binary.clone(),
            loader: self.loader.clone(),
            environment: self.environment.clone(),
        }
    }
}
