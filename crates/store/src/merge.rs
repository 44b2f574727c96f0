//! Runs that were recorded in another results folder, taken into this one.

use crate::{Error, Result, Results, layout};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// What is being copied, below the results folder that takes it.
const TAKING: &str = "taking";

/// What was new in another results folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Taken {
    /// Runs.
    pub runs: usize,
    /// Complete records of trials.
    pub trials: usize,
}

impl std::ops::AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        self.runs += other.runs;
        self.trials += other.trials;
    }
}

impl Results {
    /// Copies the runs of another folder, and their complete records, that are not here. Nothing
    /// is copied twice, so that this may be repeated while the other folder grows.
    ///
    /// Fails if another run or record with an identifier of the other folder is here.
    pub fn take(&self, other: &Self) -> Result<Taken> {
        let mut taken = Taken::default();
        for run in other.runs()? {
            let (from, to) = (run_folder(other, &run.id), run_folder(self, &run.id));
            taken.runs += usize::from(self.take_run(&from, &to)?);
            for trial in other.trials(&run.id)?.into_iter().filter(|trial| trial.complete) {
                let to = self.dir().join(layout::RECORDS).join(layout::stem(&trial.dir));
                taken.trials += usize::from(self.take_folder(&trial.dir, &to, layout::COMPLETE)?);
            }
        }
        Ok(taken)
    }

    /// Copies a run's folder, or what has changed in it since; whether it was not here.
    fn take_run(&self, from: &Path, to: &Path) -> Result<bool> {
        if self.take_folder(from, to, layout::RUN)? {
            return Ok(true);
        }
        // What says that all is there comes last.
        let (last, others): (Vec<PathBuf>, Vec<PathBuf>) =
            files(from)?.into_iter().partition(|file| layout::stem(file) == layout::FINISHED);
        for file in others.iter().chain(&last) {
            let bytes = fs::read(file)?;
            let own = to.join(layout::stem(file));
            if fs::read(&own).ok().as_deref() != Some(bytes.as_slice()) {
                layout::write_whole(&own, &bytes)?;
            }
        }
        Ok(false)
    }

    /// Copies a folder unless it is here; whether it was not. `sign` is a file of it that tells it
    /// from others.
    fn take_folder(&self, from: &Path, to: &Path, sign: &str) -> Result<bool> {
        if layout::is_folder(to)? {
            let same = fs::read(from.join(sign))? == fs::read(to.join(sign))?;
            let path = to.to_owned();
            let reason = format!("`{}` has the same identifier", from.display());
            return if same { Ok(false) } else { Err(Error::Malformed { path, reason }) };
        }
        let beside = self.dir().join(TAKING);
        if layout::is_folder(&beside)? {
            fs::remove_dir_all(&beside)?;
        }
        copy(from, &beside)?;
        fs::rename(&beside, to)?;
        layout::sync_folder(to.parent().unwrap_or(self.dir()))?;
        Ok(true)
    }
}

fn run_folder(results: &Results, run: &str) -> PathBuf {
    results.dir().join(layout::RUNS).join(run)
}

/// The files of a folder, without the lock of whoever writes it and without links.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.file_name() != layout::LOCK {
            found.push(entry.path());
        }
    }
    Ok(found)
}

/// Copies a folder with everything in it, durably.
fn copy(from: &Path, to: &Path) -> Result<()> {
    layout::create_private(to)?;
    for file in files(from)? {
        let own = to.join(layout::stem(&file));
        fs::copy(&file, &own)?;
        fs::File::open(&own)?.sync_all()?;
    }
    for folder in layout::folders(from)? {
        copy(&folder, &to.join(layout::stem(&folder)))?;
    }
    layout::sync_folder(to)
}
