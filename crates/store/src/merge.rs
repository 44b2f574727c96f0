//! Runs that were recorded in another results folder, taken into this one.

use crate::{Error, Result, Results, layout, run_writer};
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
    /// Copies the runs of another folder, and their complete records and explanations, that are not
    /// here. Nothing is copied twice, so that this may be repeated while the other folder grows.
    ///
    /// Fails if another run or record with an identifier of the other folder is here, or if another
    /// process takes runs into this folder.
    pub fn take(&self, other: &Self) -> Result<Taken> {
        let mut batch = Batch::new(self.dir())?;
        self.set_aside(other)?;
        let mut taken = Taken::default();
        for run in other.runs()? {
            let (from, to) = (run_folder(other, &run.id), run_folder(self, &run.id));
            if batch.add(&from, &to, layout::RUN)? {
                taken.runs += 1;
            } else if to.join(layout::FINISHED).exists() {
                self.take_explanations(other, &run.id)?;
            } else {
                renew(&from, &to)?;
            }
            for trial in other.trials(&run.id)?.into_iter().filter(|trial| trial.complete) {
                let to = self.dir().join(layout::RECORDS).join(layout::stem(&trial.dir));
                taken.trials += usize::from(batch.add(&trial.dir, &to, layout::COMPLETE)?);
            }
        }
        batch.finish()?;
        Ok(taken)
    }

    /// Adds the explanations that a run got there after it was taken. Those of this folder stay.
    fn take_explanations(&self, other: &Self, run: &str) -> Result<()> {
        let own = self.explanations(run)?;
        let mut new = other.explanations(run)?;
        new.retain(|new| own.iter().all(|own| own.what() != new.what()));
        new.iter().try_for_each(|new| self.keep_explanation(run, new))
    }

    /// Sets aside here what a resumed run has set aside there since it was taken: it measures
    /// these blocks again.
    fn set_aside(&self, other: &Self) -> Result<()> {
        let sign = |record: &Path| fs::read(record.join(layout::COMPLETE)).ok();
        for record in layout::folders(&other.dir().join(layout::RECORDS))? {
            let name = layout::stem(&record);
            let Some(id) = name.strip_prefix(layout::ABORTED) else { continue };
            let own = self.dir().join(layout::RECORDS).join(id);
            if sign(&own).is_some_and(|own| sign(&record) == Some(own)) {
                fs::rename(&own, own.with_file_name(&name))?;
            }
        }
        Ok(())
    }
}

/// Folders that are copied beside their places, become durable together, and then get their names:
/// to wait for the disk for each of thousands of files would take minutes.
struct Batch {
    beside: PathBuf,
    /// Where the copies belong, by the numbers that they are called beside.
    places: Vec<PathBuf>,
    /// Nobody else copies there.
    _lock: fs::File,
}

impl Batch {
    /// Removes what a process that was killed left there.
    fn new(results: &Path) -> Result<Self> {
        let beside = results.join(TAKING);
        layout::ensure_private(&beside)?;
        let lock = run_writer::lock(&beside, TAKING).map_err(|error| match error {
            Error::Busy { .. } => {
                let reason = "another process copies runs into it, so wait for its end".to_owned();
                Error::Unwritable { dir: results.to_owned(), reason }
            }
            other => other,
        })?;
        for left in layout::folders(&beside)? {
            fs::remove_dir_all(left)?;
        }
        Ok(Self { beside, places: Vec::new(), _lock: lock })
    }

    /// Copies a folder unless it is at its place; whether it was not. `sign` is a file of it that
    /// tells it from others.
    fn add(&mut self, from: &Path, to: &Path, sign: &str) -> Result<bool> {
        if layout::is_folder(to)? {
            let same = fs::read(from.join(sign))? == fs::read(to.join(sign))?;
            let path = to.to_owned();
            let reason = format!("`{}` has the same identifier", from.display());
            return if same { Ok(false) } else { Err(Error::Malformed { path, reason }) };
        }
        copy(from, &self.beside.join(self.places.len().to_string()))?;
        self.places.push(to.to_owned());
        Ok(true)
    }

    fn finish(self) -> Result<()> {
        if !self.places.is_empty() {
            let handle = fs::File::open(&self.beside)?;
            rustix::fs::syncfs(handle.file()).map_err(std::io::Error::from)?;
        }
        for (number, to) in self.places.iter().enumerate() {
            fs::rename(self.beside.join(number.to_string()), to)?;
        }
        let mut folders: Vec<&Path> = self.places.iter().filter_map(|to| to.parent()).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.into_iter().try_for_each(layout::sync_folder)
    }
}

impl Drop for Batch {
    /// Leaves no copies, also where one failed, as on a full disk.
    fn drop(&mut self) {
        // Where it stays, because another process looks into it, the next one removes it.
        let _ = fs::remove_dir_all(&self.beside);
    }
}

/// Copies what has changed in an unfinished run's folder since it was copied.
fn renew(from: &Path, to: &Path) -> Result<()> {
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
    Ok(())
}

fn run_folder(results: &Results, run: &str) -> PathBuf {
    results.dir().join(layout::RUNS).join(run)
}

/// The files of a folder, its sums last, without the lock of whoever writes it, without what is not
/// yet in its place, and without links.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = layout::stem(&path);
        if name != layout::LOCK && !name.ends_with(layout::NEW) && entry.file_type()?.is_file() {
            found.push(path);
        }
    }
    // A run may be written meanwhile: its sums know what a file holds and what it held before.
    found.sort_by_key(|path| layout::stem(path) == layout::SUMS);
    Ok(found)
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) -> Result<()> {
    layout::create_private(to)?;
    for file in files(from)? {
        fs::copy(&file, to.join(layout::stem(&file)))?;
    }
    for folder in layout::folders(from)? {
        copy(&folder, &to.join(layout::stem(&folder)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_of_a_run_are_read_after_what_they_are_of() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["sha256", "state.json", "plan.json", "lock", "state.json.new", "run.json"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = files(folder.path()).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(found.last().map(|path| layout::stem(path)).as_deref(), Some(layout::SUMS));
    }
}
