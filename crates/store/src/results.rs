//! A results folder: what is in it.

use crate::{
    Error, Result, RunWriter, imports, index, layout, reader, run_files::RunFiles, writable,
};
use model::{
    environment::Environment,
    imported::{ImportHeader, ImportedValue},
    plan::{PLAN_FORMAT, Plan},
    reading::{LatencyCounts, SeriesRow},
    record::{Event, SliceRecord, TrialHeader},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// A results folder, by default `dbdyno-results`.
#[derive(Debug, Clone)]
pub struct Results {
    dir: PathBuf,
    /// What was read once, in a snapshot.
    once: Option<Arc<Once>>,
}

/// The runs and the records of a folder, each list read when it is first needed.
#[derive(Debug, Default)]
struct Once {
    runs: OnceLock<ReadableRuns>,
    entries: OnceLock<Arc<index::Entries>>,
}

/// Runs, and one sentence for each whose `run.json` cannot be read.
pub(crate) type ReadableRuns = (Vec<RunInfo>, Vec<String>);

/// One execution of an experiment: `run.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Version of the format.
    pub format: u32,
    /// Identifier: the folder's name. Identifiers sort by time.
    pub id: String,
    /// Experiment name.
    pub experiment: String,
    /// Hash of the plan.
    pub plan: String,
    /// Wall clock at the start, microseconds since 1970.
    pub started_us: u64,
    /// The host at the start.
    pub environment: Environment,
    /// Whether the run came to its end. Known by a marker file, not by `run.json`.
    #[serde(skip)]
    pub finished: bool,
}

/// Which slices to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// Those of all runs.
    All,
    /// Those of the latest finished run of each experiment; of the latest where none is finished.
    LatestPerExperiment,
    /// Those of one run, by its identifier.
    Run(String),
}

/// Slices, and what was wrong with the files they came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    /// The slices by run, block, phase, round and place in the round.
    pub slices: Vec<StoredSlice>,
    /// The values of imported archives by run, then as they were imported.
    pub imported: Vec<ImportedValue>,
    /// One sentence for each thing that had to be left out or that is not complete.
    pub warnings: Vec<String>,
}

/// One slice with where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSlice {
    /// Run, by its identifier.
    pub run: String,
    /// Experiment name.
    pub experiment: String,
    /// Trial, by its identifier.
    pub trial: String,
    /// The slice as recorded, without histograms: they are in the record's `ops.hlog`.
    pub slice: SliceRecord,
}

/// One record without its slices.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTrial {
    /// Its head.
    pub header: TrialHeader,
    /// The host during the trial.
    pub environment: Environment,
    /// Whether the trial came to its end.
    pub complete: bool,
    /// The record's folder.
    pub dir: PathBuf,
}

/// Creates a results folder and those above it.
fn create(dir: &Path) -> std::io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs_err::create_dir_all(parent)?;
    }
    layout::ensure_private(dir)
}

/// Whether a folder holds anything that no results folder begins with. Another process may be
/// creating it.
fn holds_others(dir: &Path) -> Result<bool> {
    for entry in fs_err::read_dir(dir)? {
        if ![layout::RUNS, layout::RECORDS].map(Some).contains(&entry?.file_name().to_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What to do where a results folder cannot be created.
fn uncreated(dir: &Path, error: &std::io::Error) -> Error {
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound => "no folder can be created there".to_owned(),
        std::io::ErrorKind::PermissionDenied => {
            "this user may not create a folder there".to_owned()
        }
        std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
            "a part of the path is a file and no folder".to_owned()
        }
        _ => error.to_string(),
    };
    Error::Unwritable { dir: dir.to_owned(), reason }
}

/// What the system answers where symbolic links lead to each other: `ELOOP` of Linux.
const LOOP: i32 = 40;

/// Why a results folder cannot be entered.
fn unreadable(dir: &Path, error: std::io::Error) -> Error {
    // The error of `fs_err` wraps that of the system.
    let number = std::fs::metadata(dir).err().and_then(|error| error.raw_os_error());
    let reason = match error.kind() {
        _ if number == Some(LOOP) => "the path is a symbolic link that leads to itself".to_owned(),
        std::io::ErrorKind::PermissionDenied => match closed(dir) {
            Some((folder, owner)) => format!(
                "`{}` belongs to user `{owner}`, who does not let others in",
                folder.display()
            ),
            None => "permission denied".to_owned(),
        },
        _ => return error.into(),
    };
    Error::Unreadable { dir: dir.to_owned(), reason }
}

/// The folder on the way to what is in `dir` that can be seen and not entered, and its owner.
fn closed(dir: &Path) -> Option<(PathBuf, String)> {
    let dir = std::path::absolute(dir).ok()?;
    let found = dir.ancestors().find_map(|folder| Some((folder, folder.metadata().ok()?)));
    let (folder, owner) = found.map(|(folder, about)| (folder, about.uid().to_string()))?;
    let users = fs_err::read_to_string("/etc/passwd").unwrap_or_default();
    let is_owner = |line: &&str| line.split(':').nth(2) == Some(&owner);
    let name = users.lines().find(is_owner).and_then(|line| line.split(':').next());
    Some((folder.to_owned(), name.map_or(owner.clone(), str::to_owned)))
}

impl Results {
    /// Opens a results folder, creating it (for its owner alone) if it is not there. Parents are
    /// created too. One that holds something else is an [`Error::NotEmpty`].
    pub fn open_or_create(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref();
        if !dir.exists() {
            create(dir).map_err(|error| uncreated(dir, &error))?;
        } else if !dir.is_dir() {
            return Err(Error::NotAFolder { path: dir.to_owned() });
        }
        match Self::open(dir) {
            Err(Error::NoResults { dir }) if holds_others(&dir)? => {
                return Err(Error::NotEmpty { dir });
            }
            Ok(_) | Err(Error::NoResults { .. }) => {}
            Err(error) => return Err(error),
        }
        layout::ensure_private(&dir.join(layout::RUNS))?;
        layout::ensure_private(&dir.join(layout::RECORDS))?;
        Ok(Self { dir: dir.to_owned(), once: None })
    }

    /// Opens a results folder that is there. One that may not be entered is an
    /// [`Error::Unreadable`].
    pub fn open(dir: impl AsRef<Path>) -> Result<Self> {
        let dir = dir.as_ref().to_owned();
        let is_folder =
            |path: &Path| layout::is_folder(path).map_err(|error| unreadable(&dir, error));
        if !is_folder(&dir)? && !dir.exists() {
            return Err(Error::NoFolder { dir });
        }
        for part in [layout::RECORDS, layout::RUNS] {
            if !dir.is_dir() || !is_folder(&dir.join(part))? {
                return Err(Error::NoResults { dir });
            }
        }
        Ok(Self { dir, once: None })
    }

    /// The folder as it is now: it is looked through once, however often it is asked, and runs and
    /// records that are added later are not seen.
    pub fn snapshot(self) -> Self {
        Self { once: Some(Arc::default()), ..self }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Checks that a run can be recorded here: files can be written and locked, and `bytes` are
    /// free.
    pub fn check_writable(&self, bytes: u64) -> Result<()> {
        writable::check(&self.dir, bytes)
    }

    /// Begins a run of `plan` on the host that `environment` describes.
    pub fn start_run(&self, plan: &Plan, environment: &Environment) -> Result<RunWriter> {
        RunWriter::start(self, plan, environment)
    }

    /// The latest run of the plan with this hash that is not finished, if any; fails if it is being
    /// written.
    pub fn unfinished(&self, plan_hash: &str) -> Result<Option<RunWriter>> {
        let mut runs = self.runs()?;
        runs.retain(|run| !run.finished && run.plan == plan_hash);
        runs.pop().map(|info| RunWriter::resume(self, info)).transpose()
    }

    /// All runs, oldest first. Folders of runs that never began are left out, and those whose
    /// `run.json` cannot be read: [`Results::slices`] warns of these.
    pub fn runs(&self) -> Result<Vec<RunInfo>> {
        Ok(self.readable_runs()?.0)
    }

    /// All runs, and one sentence for each whose `run.json` cannot be read.
    pub fn readable_runs(&self) -> Result<ReadableRuns> {
        match &self.once {
            Some(once) => first(&once.runs, || self.read_runs()),
            None => self.read_runs(),
        }
    }

    /// The entries of all records.
    pub(crate) fn entries(&self) -> Result<Arc<index::Entries>> {
        match &self.once {
            Some(once) => first(&once.entries, || index::entries(&self.dir).map(Arc::new)),
            None => index::entries(&self.dir).map(Arc::new),
        }
    }

    fn read_runs(&self) -> Result<ReadableRuns> {
        let (mut runs, mut warnings) = (Vec::new(), Vec::new());
        for dir in layout::folders(&self.dir.join(layout::RUNS))? {
            match RunFiles::new(dir.clone()).info() {
                Ok(Some(info)) => runs.push(info),
                // What never began has no such marker.
                Ok(None) if dir.join(layout::FINISHED).exists() => {
                    let file = dir.join(layout::RUN);
                    warnings.push(format!("a run is left out: `{}` is missing", file.display()));
                }
                Ok(None) => {}
                Err(error) => warnings.push(format!("a run is left out: {error}")),
            }
        }
        Ok((runs, warnings))
    }

    /// Writes an imported archive as a run of its own, whose identifier it gives. The values get
    /// that run.
    pub fn import(&self, header: &ImportHeader, values: &[ImportedValue]) -> Result<String> {
        imports::write(self, header, values)
    }

    /// What the import of a run was; `None` for a run that was measured.
    pub fn import_of(&self, run: &str) -> Result<Option<ImportHeader>> {
        let Some(header) = self.run_files(run)?.json::<ImportHeader>(layout::IMPORT)? else {
            return Ok(None);
        };
        let path = self.dir.join(layout::RUNS).join(run).join(layout::IMPORT);
        layout::check_format(&path, &layout::Format { format: header.format })?;
        Ok(Some(header))
    }

    /// Slices and imported values through the index, which is brought up to date first. Records
    /// that cannot be read become warnings. Fails for an unknown run.
    pub fn slices(&self, selection: &Selection) -> Result<Stored> {
        if let Selection::Run(run) = selection {
            self.run_folder(run)?;
        }
        index::slices(self, selection)
    }

    /// A file that an instrument left for a slice, by the end of its name, if there is one.
    pub fn artefact(&self, stored: &StoredSlice, name: &str) -> Result<Option<Vec<u8>>> {
        let own = stored.slice.artefacts.iter().find(|path| path.ends_with(name));
        let dir = self.dir.join(layout::RECORDS).join(&stored.trial);
        own.map(|path| reader::artefact(&dir, path)).transpose()
    }

    /// The plan that a run executed.
    pub fn plan_of(&self, run: &str) -> Result<Plan> {
        let path = || self.dir.join(layout::RUNS).join(run).join(layout::PLAN);
        let plan: Option<serde_json::Value> = self.run_files(run)?.json(layout::PLAN)?;
        let plan = plan.ok_or_else(|| {
            let (path, reason) = (path(), "it is missing".to_owned());
            Error::Malformed { path, reason }
        })?;
        let phases = plan["phases"].as_array().map_or(0, Vec::len);
        match plan["format"].as_u64().map(u32::try_from) {
            Some(Ok(found)) if found < PLAN_FORMAT && phases > 0 => {
                Err(Error::OldPlan { path: path(), found, known: PLAN_FORMAT })
            }
            Some(Ok(found)) if found > PLAN_FORMAT => {
                Err(Error::Newer { path: path(), found, known: PLAN_FORMAT })
            }
            _ => serde_json::from_value(plan).map_err(|error| layout::malformed(&path(), &error)),
        }
    }

    /// A value that the run remembered of itself by [`RunWriter::note_state`], if it did.
    pub fn state_of<T: DeserializeOwned>(&self, run: &str, key: &str) -> Result<Option<T>> {
        let dir = self.run_folder(run)?;
        let path = dir.join(layout::STATE);
        let state = RunFiles::new(dir).json(layout::STATE)?;
        let mut state: BTreeMap<String, serde_json::Value> = state.unwrap_or_default();
        let value = state.remove(key).map(serde_json::from_value).transpose();
        value.map_err(|error| layout::malformed(&path, &error))
    }

    /// The records of a run, oldest first, those of trials that were cut short included. One whose
    /// head cannot be read is left out, as are its slices.
    pub fn trials(&self, run: &str) -> Result<Vec<StoredTrial>> {
        self.run_folder(run)?;
        let mut trials = Vec::new();
        for dir in index::records_of(self, run)? {
            let read = (reader::header(&dir), reader::environment(&dir));
            let (Ok(header), Ok(environment)) = read else { continue };
            let complete = dir.join(layout::COMPLETE).exists();
            trials.push(StoredTrial { header, environment, complete, dir });
        }
        Ok(trials)
    }

    /// The events of one trial in order; lines that cannot be read are left out.
    pub fn events(&self, trial: &StoredTrial) -> Result<Vec<Event>> {
        reader::events(&trial.dir)
    }

    /// The raw readings of one trial over time; lines that cannot be read are left out and counted.
    pub fn series(&self, trial: &StoredTrial) -> Result<(Vec<SeriesRow>, usize)> {
        reader::series(&trial.dir)
    }

    /// The latencies of one trial's slices by operation; lines that cannot be read are left out and
    /// counted.
    pub fn latencies(&self, trial: &StoredTrial) -> Result<(Vec<LatencyCounts>, usize)> {
        reader::latencies(&trial.dir)
    }

    fn run_files(&self, run: &str) -> Result<RunFiles> {
        self.run_folder(run).map(RunFiles::new)
    }

    fn run_folder(&self, run: &str) -> Result<PathBuf> {
        let parent = self.dir.join(layout::RUNS);
        let known: Vec<String> =
            layout::folders(&parent)?.iter().map(|dir| layout::stem(dir)).collect();
        if known.iter().any(|id| id == run) {
            return Ok(parent.join(run));
        }
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(Error::UnknownRun { run: run.to_owned(), dir: self.dir.clone(), known })
    }
}

/// What `read` gives when it is first asked.
fn first<T: Clone>(once: &OnceLock<T>, read: impl FnOnce() -> Result<T>) -> Result<T> {
    match once.get() {
        Some(known) => Ok(known.clone()),
        None => read().map(|found| once.get_or_init(|| found).clone()),
    }
}
