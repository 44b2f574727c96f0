//! The files of a run's folder, read so that no changed byte becomes a number.

use crate::{Error, Result, layout, results::RunInfo, sums, sums::Sums};
use model::record::CHECKSUMMED_FORMAT;
use serde::{Serialize, de::DeserializeOwned};
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

/// A file is there so long after its sum, where a disk is slow.
const BETWEEN: Duration = Duration::from_millis(200);

/// The folder of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunFiles {
    dir: PathBuf,
}

impl RunFiles {
    pub(crate) fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// `run.json`; `None` for a run that never began.
    pub(crate) fn info(&self) -> Result<Option<RunInfo>> {
        let path = self.dir.join(layout::RUN);
        if !path.exists() {
            return Ok(None);
        }
        let bytes = sums::read(&path)?;
        let format: layout::Format = layout::from_json(&path, &bytes)?;
        layout::check_format(&path, &format)?;
        if let Some(sums) = self.sums(format.format)? {
            sums.verify(&self.dir, layout::RUN, &bytes)?;
        }
        let id = layout::stem(&self.dir);
        let info: RunInfo = layout::from_json(&path, &bytes)?;
        if info.id != id {
            let reason = format!("it is of run `{}`", info.id);
            return Err(Error::Malformed { path, reason });
        }
        Ok(Some(RunInfo { finished: self.dir.join(layout::FINISHED).exists(), ..info }))
    }

    /// The value of a JSON file of the run; `None` without the file.
    pub(crate) fn json<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let bytes = match self.checked(name) {
            // Whoever writes the run writes sums first, and then the file.
            Err(Error::Changed { .. }) => {
                std::thread::sleep(BETWEEN);
                self.checked(name)?
            }
            read => read?,
        };
        bytes.map(|bytes| layout::from_json(&self.dir.join(name), &bytes)).transpose()
    }

    /// The bytes of a file, which are those of its sum; `None` without the file.
    fn checked(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let (path, sums) = (self.dir.join(name), self.known_sums()?);
        match (path.exists(), sums) {
            // What the sums name has to be there, unless it is just coming, or whoever wrote it was
            // killed before it was.
            (false, Some(sums)) if sums.holds(name) && !layout::beside(&path).exists() => {
                Err(Error::Changed { path })
            }
            (false, _) => Ok(None),
            (true, Some(sums)) => sums.read(&self.dir, name).map(Some),
            (true, None) => sums::read(&path).map(Some),
        }
    }

    /// Writes files, and before they are in place their sums. Each is replaced as a whole.
    pub(crate) fn write(&self, files: &[(&str, Vec<u8>)]) -> Result<()> {
        let mut all = self.read_sums()?.unwrap_or_default();
        for (name, bytes) in files {
            let path = self.dir.join(name);
            let now = if path.exists() { Some(sums::read(&path)?) } else { None };
            all.replace(name, now.as_deref(), bytes);
            // What has no room must not be in the sums.
            layout::write_beside(&path, bytes)?;
        }
        layout::write_whole(&self.dir.join(layout::SUMS), all.text().as_bytes())?;
        files.iter().try_for_each(|(name, _)| layout::put_in_place(&self.dir.join(name)))
    }

    /// The bytes of a JSON file of this folder.
    pub(crate) fn bytes(&self, name: &str, value: &impl Serialize) -> Result<Vec<u8>> {
        layout::json(&self.dir.join(name), value)
    }

    /// Whether the run was recorded without checksums.
    pub(crate) fn is_unchecked(&self) -> bool {
        !self.dir.join(layout::SUMS).exists()
    }

    /// The sums of a run with this format of `run.json`: all but the first have them.
    fn sums(&self, format: u32) -> Result<Option<Sums>> {
        match self.read_sums()? {
            None if format >= CHECKSUMMED_FORMAT => {
                Err(Error::Changed { path: self.dir.join(layout::SUMS) })
            }
            sums => Ok(sums),
        }
    }

    fn known_sums(&self) -> Result<Option<Sums>> {
        let path = self.dir.join(layout::RUN);
        // A run that is being created has no `run.json` yet.
        let format = match path.exists() {
            true => layout::from_json::<layout::Format>(&path, &sums::read(&path)?)?.format,
            false => 0,
        };
        self.sums(format)
    }

    fn read_sums(&self) -> Result<Option<Sums>> {
        let path = self.dir.join(layout::SUMS);
        read_sums(&path)
    }
}

fn read_sums(path: &Path) -> Result<Option<Sums>> {
    match sums::read(path) {
        Ok(bytes) => match std::str::from_utf8(&bytes).ok().and_then(Sums::parse) {
            Some(sums) => Ok(Some(sums)),
            None => Err(Error::Changed { path: path.to_owned() }),
        },
        Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fs_err as fs;

    #[test]
    fn what_had_no_room_is_not_missed_and_what_was_removed_is() {
        let dir = tempfile::tempdir().unwrap();
        let files = RunFiles::new(dir.path().to_owned());
        let (name, other) = ("explained-1.json", "state.json");
        let path = dir.path().join(name);
        let beside = layout::beside(&path);
        let write = |name: &str| files.write(&[(name, b"7".to_vec())]);
        let read = |name: &str| files.json::<u32>(name);
        write(other).unwrap();
        // As where the disk is full.
        fs::create_dir(&beside).unwrap();
        assert!(write(name).is_err());
        fs::remove_dir(&beside).unwrap();
        assert_eq!((read(name).unwrap(), read(other).unwrap()), (None, Some(7)));
        // As in a folder that came from somebody else.
        let mine = dir.path().join("mine");
        fs::write(&mine, "mine").unwrap();
        std::os::unix::fs::symlink(&mine, &beside).unwrap();
        write(name).unwrap();
        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        assert_eq!(read(name).unwrap(), Some(7));
        // As where whoever wrote it was killed.
        fs::rename(&path, &beside).unwrap();
        assert_eq!(read(name).unwrap(), None);
        fs::remove_file(&beside).unwrap();
        assert!(matches!(read(name), Err(Error::Changed { .. })));
    }
}
