//! Writes one run: its plan, its state, and the records of its trials.

use crate::{
    Error, Result, Results, TrialWriter, ids, index, layout, reader, results::RunInfo,
    run_files::RunFiles,
};
use fs_err as fs;
use model::{
    environment::Environment,
    experiment::Design,
    plan::Plan,
    record::{RECORD_FORMAT, TrialHeader},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How often a new identifier is tried when another process took it in the same millisecond.
const ATTEMPTS: u32 = 16;

/// A run that is being executed. It holds a lock, so that no other process writes the same run.
#[derive(Debug)]
pub struct RunWriter {
    results: Results,
    info: RunInfo,
    plan: Plan,
    dir: PathBuf,
    /// Its records. Nobody else makes any: the folder is looked through when the run is resumed.
    records: Mutex<BTreeSet<PathBuf>>,
    _lock: fs::File,
}

impl RunWriter {
    /// Creates the run's folder.
    pub(crate) fn start(results: &Results, plan: &Plan, environment: &Environment) -> Result<Self> {
        let (id, dir) = create_run(&results.dir().join(layout::RUNS))?;
        let lock = lock(&dir, &id)?;
        let info = RunInfo {
            format: RECORD_FORMAT,
            id,
            experiment: plan.experiment.name.clone(),
            plan: plan.hash.clone(),
            started_us: ids::wall_us(),
            environment: environment.clone(),
            finished: false,
        };
        let files = RunFiles::new(dir.clone());
        // `run.json` comes last: a folder without it is a run that never began.
        files.write(&[
            (layout::PLAN, files.bytes(layout::PLAN, plan)?),
            (layout::EXPERIMENT, plan.experiment.text.clone().into_bytes()),
            (layout::RUN, files.bytes(layout::RUN, &info)?),
        ])?;
        let (results, plan) = (results.clone(), plan.clone());
        Ok(Self { results, info, plan, dir, records: Mutex::default(), _lock: lock })
    }

    /// Opens an unfinished run to go on with it.
    pub(crate) fn resume(results: &Results, info: RunInfo) -> Result<Self> {
        let dir = results.dir().join(layout::RUNS).join(&info.id);
        let lock = lock(&dir, &info.id)?;
        let plan = results.plan_of(&info.id)?;
        let records = index::records_of(results, &info.id)?.into_iter().collect();
        Ok(Self {
            results: results.clone(),
            info,
            plan,
            dir,
            records: Mutex::new(records),
            _lock: lock,
        })
    }

    /// Identifier of the run.
    pub fn id(&self) -> &str {
        &self.info.id
    }

    /// The folder that the run is in.
    pub(crate) fn results(&self) -> &Results {
        &self.results
    }

    /// The run's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The plan that this run executes.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Begins a record. The writer sets `format`, `trial`, `run`, `experiment` and `plan` of the
    /// header itself.
    pub fn trial(&self, header: &TrialHeader, environment: &Environment) -> Result<TrialWriter> {
        let (id, dir) = create_fresh(&self.results.dir().join(layout::RECORDS))?;
        self.known().insert(dir.clone());
        let header = TrialHeader {
            format: RECORD_FORMAT,
            trial: id,
            run: self.info.id.clone(),
            experiment: self.info.experiment.clone(),
            plan: self.info.plan.clone(),
            ..header.clone()
        };
        TrialWriter::begin(dir, &header, environment)
    }

    /// Blocks in which every subject of the plan has a complete record, in order.
    pub fn complete_blocks(&self) -> Vec<u32> {
        let mut done: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
        for trial in self.complete_trials() {
            done.entry(trial.block).or_default().insert(trial.subject);
        }
        let whole = |subjects: &BTreeSet<String>| {
            self.plan.subjects.iter().all(|subject| subjects.contains(&subject.label))
        };
        done.into_iter().filter(|(_, found)| whole(found)).map(|(block, _)| block).collect()
    }

    /// The head of every complete record.
    pub fn complete_trials(&self) -> Vec<TrialHeader> {
        let complete = self.records().into_iter().filter(|(_, _, complete)| *complete);
        complete.map(|(_, header, _)| header).collect()
    }

    /// Sets aside the records that a resume repeats: they are renamed, never changed. Interleaved,
    /// a block is repeated as a whole; classic, only the trials that are not complete. Gives the
    /// identifiers of the trials set aside.
    pub fn discard_incomplete(&self) -> Result<Vec<String>> {
        let whole: BTreeSet<u32> = self.complete_blocks().into_iter().collect();
        let mut aside = Vec::new();
        for (dir, header, complete) in self.records() {
            let kept = match self.plan.experiment.design {
                Design::Interleaved => whole.contains(&header.block),
                Design::Classic => true,
            };
            if complete && kept {
                continue;
            }
            let id = layout::stem(&dir);
            fs::rename(&dir, dir.with_file_name(format!("{}{id}", layout::ABORTED)))?;
            self.known().remove(&dir);
            aside.push(id);
        }
        layout::sync_folder(&self.results.dir().join(layout::RECORDS))?;
        Ok(aside)
    }

    /// Remembers a value for a resume, e.g. the operations per slice of each phase.
    pub fn note_state(&self, key: &str, value: &impl Serialize) -> Result<()> {
        let path = self.dir.join(layout::STATE);
        let files = RunFiles::new(self.dir.clone());
        let mut state: BTreeMap<String, serde_json::Value> =
            files.json(layout::STATE)?.unwrap_or_default();
        let value =
            serde_json::to_value(value).map_err(|error| layout::malformed(&path, &error))?;
        state.insert(key.to_owned(), value);
        files.write(&[(layout::STATE, files.bytes(layout::STATE, &state)?)])
    }

    /// A value that [`RunWriter::note_state`] remembered.
    pub fn state<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>> {
        self.results.state_of(&self.info.id, key)
    }

    /// Marks the run as finished, durably.
    pub fn finish(&self) -> Result<()> {
        layout::write_whole(&self.dir.join(layout::FINISHED), b"")
    }

    /// Folder, header and completeness of this run's records; records set aside are left out. A
    /// record is complete if every file of it is what was recorded.
    fn records(&self) -> Vec<(PathBuf, TrialHeader, bool)> {
        let mut found = Vec::new();
        for dir in self.known().iter() {
            // A folder without a readable header belongs to nobody; it is no reason to stop.
            let Ok(header) = reader::header(dir) else { continue };
            found.push((dir.clone(), header, reader::is_whole(dir)));
        }
        found
    }

    fn known(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the folder of a run, which sorts behind all others: the latest one is compared.
pub(crate) fn create_run(parent: &Path) -> Result<(String, PathBuf)> {
    let others = layout::folders(parent)?;
    let others: Vec<String> = others.iter().map(|dir| layout::stem(dir)).collect();
    create_named(parent, || ids::fresh_after(others.iter().map(String::as_str)))
}

/// Creates a folder with a fresh identifier as its name.
pub(crate) fn create_fresh(parent: &Path) -> Result<(String, PathBuf)> {
    create_named(parent, ids::fresh)
}

fn create_named(parent: &Path, name: impl Fn() -> String) -> Result<(String, PathBuf)> {
    let mut attempt = 0;
    loop {
        let id = name();
        let dir = parent.join(&id);
        attempt += 1;
        match layout::create_private(&dir) {
            Ok(()) => return Ok((id, dir)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                if attempt == ATTEMPTS {
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// The lock dies with the process, so a killed run can be resumed at once.
pub(crate) fn lock(dir: &Path, run: &str) -> Result<fs::File> {
    let path = dir.join(layout::LOCK);
    let file = fs::OpenOptions::new().create(true).append(true).open(path)?;
    match file.file().try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Busy { run: run.to_owned() }),
        Err(std::fs::TryLockError::Error(error)) => Err(error.into()),
    }
}
