//! The folder where a build is compiled, and who may do what in it.

use super::Watch;
use crate::{Error, Places, Result, folder};
use fs_err as fs;
use std::path::PathBuf;

/// The work of one build; its turn ends when this is dropped.
pub(super) struct Work<'a> {
    pub(super) places: &'a Places,
    root: PathBuf,
    _turn: fs::File,
}

impl<'a> Work<'a> {
    /// Waits for the turn of a build.
    pub(super) fn open(places: &'a Places, label: &str, watch: &mut Watch<'_>) -> Result<Self> {
        let root = places.compile_folder()?;
        let turn = watch.turn(&root.join("turn"), label)?;
        Ok(Self { places, root, _turn: turn })
    }

    /// What is compiled.
    pub(super) fn tree(&self) -> PathBuf {
        self.root.join("tree")
    }

    /// What comes out, as it will lie below `/`.
    pub(super) fn stage(&self) -> PathBuf {
        self.root.join("stage")
    }

    /// Home and temporary files of what is executed.
    pub(super) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Downloads, the caller's alone.
    pub(super) fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// The log of a build.
    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(format!("{name}.log"))
    }

    /// Makes all folders anew, but for the logs of builds that failed.
    pub(super) fn clear(&self) -> Result<()> {
        self.remove()?;
        for folder in [self.tree(), self.stage(), self.home(), self.scratch()] {
            self.places.make(&folder, 0o700)?;
        }
        self.places.make(&self.root.join("logs"), 0o700)
    }

    /// Gives what is executed to who executes it. From now on root writes nothing into it.
    pub(super) fn give(&self) -> Result<()> {
        for folder in [self.tree(), self.stage(), self.home()] {
            folder::give(&folder, self.places.user)?;
        }
        Ok(())
    }

    /// Removes everything but logs; what cannot be removed is removed by the next build.
    pub(super) fn sweep(&self) {
        let _ = self.remove();
    }

    fn remove(&self) -> Result<()> {
        for folder in [self.tree(), self.stage(), self.home(), self.scratch()] {
            match folder::remove(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::File(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
