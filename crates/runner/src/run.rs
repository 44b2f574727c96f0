//! One execution of a plan, from the first check to the last record.

use crate::{
    Error, Observer, Progress, Stop,
    calibrate::Calibration,
    classic, interleaved,
    ledger::{Activity, Ledger},
    others, preflight, stepping,
};
use dbms::{Announcement, Installed, Keeper, Places, RunPlace};
use model::{
    environment::Environment,
    experiment::Design,
    plan::{Phase, Plan},
    record::{SliceRecord, SliceState},
    schema::Schema,
    subject::Subject,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{Results, RunWriter};

/// How to execute, beside what.
#[derive(Debug, Clone)]
pub struct Options {
    /// The binary to start as driver and as keeper: this one.
    pub exe: PathBuf,
    /// Folder of the records.
    pub results: PathBuf,
    /// Continue the latest unfinished run with the same plan hash.
    pub resume: Resume,
    /// What happens to the data folders at the end.
    pub data: DataFolders,
    /// Whether instructions are counted by single steps where the host has no hardware counters.
    pub steps: Steps,
    /// How this run is known to others on this host, and they to it; none where that is not known.
    pub announcement: Option<Arc<Announcement>>,
    /// Words of the command line, beside the experiment, that shape the run: for the record.
    pub command: Vec<String>,
}

/// Whether instructions are counted by single steps where the host has no hardware counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// They are, where the host permits it; some seconds per workload, subject and block.
    WhereNeeded,
    /// They are not.
    Never,
}

/// Whether to continue an unfinished run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume {
    /// Start a new run.
    No,
    /// Continue; an error if there is none.
    Yes,
}

/// What happens to the data folders at the end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFolders {
    /// They are removed.
    Remove,
    /// They stay, and the run says where.
    Keep,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Identifier of the run.
    pub run: String,
    /// Slices that failed, over all blocks.
    pub failed_slices: u64,
    /// Where the data folders are, if they were to be kept.
    pub kept_data: Option<PathBuf>,
    /// Wall time by activity over all executions of the run, seconds.
    pub time: BTreeMap<String, f64>,
}

/// Key of the account of time in a run's state.
pub const TIME: &str = "time";

/// Key of [`Options::command`] in a run's state.
pub const COMMAND: &str = "command";

/// Everything that the parts of a run share.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'a Options,
    pub(crate) stop: &'a Stop,
    pub(crate) observer: &'a mut dyn Observer,
    pub(crate) place: RunPlace,
    pub(crate) keeper: Keeper,
    pub(crate) writer: RunWriter,
    /// Per subject; none for embedded engines.
    pub(crate) installed: Vec<Option<Installed>>,
    pub(crate) environment: Environment,
    pub(crate) calibration: Calibration,
    pub(crate) ledger: Ledger,
    /// Subjects and loads whose data folders are initialized and still empty.
    pub(crate) prepared: BTreeSet<(usize, u32)>,
    /// What earlier executions of this run took, seconds by activity.
    earlier: BTreeMap<String, f64>,
    done: u64,
    failed: u64,
}

/// What has to be there before a run's keeper starts.
struct Parts {
    place: RunPlace,
    writer: RunWriter,
    installed: Vec<Option<Installed>>,
    environment: Environment,
    ledger: Ledger,
}

impl<'a> Run<'a> {
    /// A run whose records are removed with its data: for looking at servers without measuring.
    pub(crate) fn without_records(
        plan: &'a Plan,
        places: &Places,
        options: &'a Options,
        stop: &'a Stop,
        observer: &'a mut dyn Observer,
    ) -> Result<Self, Error> {
        preflight::check(plan, places, 0)?;
        let installed = install(plan, places, observer)?;
        let environment = probe::environment(&places.root);
        let now = crate::trial::wall_us();
        let place = places.new_run(&format!("verify-{now}-{}", std::process::id()))?;
        let results = Results::open_or_create(place.data().join("records"))?;
        let writer = results.start_run(plan, &environment)?;
        let parts = Parts { place, writer, installed, environment, ledger: Ledger::default() };
        Self::new(plan, options, stop, observer, parts)
    }

    /// Starts the keeper of a run whose place and records are there.
    fn new(
        plan: &'a Plan,
        options: &'a Options,
        stop: &'a Stop,
        observer: &'a mut dyn Observer,
        parts: Parts,
    ) -> Result<Self, Error> {
        let Parts { place, writer, installed, environment, ledger } = parts;
        let keeper = Keeper::start(&options.exe, &place)?;
        let stopped = stop.clone();
        keeper.when_gone(move || stopped.keeper_gone());
        let environment = Environment { freezer: keeper.freezer_name().to_owned(), ..environment };
        let earlier = writer.state(TIME)?.unwrap_or_default();
        Ok(Self {
            plan,
            options,
            stop,
            observer,
            place,
            keeper,
            writer,
            installed,
            environment,
            calibration: Calibration::default(),
            ledger,
            prepared: BTreeSet::new(),
            earlier,
            done: 0,
            failed: 0,
        })
    }

    /// Ends a run without records; nothing of it stays.
    pub(crate) fn leave(self) -> Result<(), Error> {
        self.keeper.end()?;
        Ok(self.place.remove()?)
    }
}

/// Executes `plan` and leaves its records in `options.results`. Errors keep what was measured.
pub fn execute(
    plan: &Plan,
    places: &Places,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, Error> {
    probe::raise_file_limit();
    let mut ledger = Ledger::default();
    let results = preflight::results(plan, &options.results)?;
    let resumed = match options.resume {
        Resume::No => None,
        Resume::Yes => Some(unfinished(plan, &results)?),
    };
    let left = resumed.as_ref().map(|writer| places.runs().join(writer.id()));
    preflight::check(plan, places, left.map_or(0, |folder| dbms::bytes_below(&folder)))?;
    if let Some(warning) = preflight::scarce_memory(plan) {
        observer.tell(&Progress::Warning(&warning));
    }
    if let Some(warning) = others::warning(Path::new("/proc"))? {
        observer.tell(&Progress::Warning(&warning));
    }
    let installed = ledger.during(Activity::Install, || install(plan, places, observer))?;
    let environment = probe::environment(&places.root);
    let writer = match resumed {
        Some(writer) => writer,
        None => results.start_run(plan, &environment)?,
    };
    writer.note_state(COMMAND, &options.command)?;
    let place = places.new_run(writer.id())?;
    let parts = Parts { place, writer, installed, environment, ledger };
    let mut run = Run::new(plan, options, stop, observer, parts)?;
    let done = match plan.experiment.design {
        Design::Interleaved => interleaved::run(&mut run),
        Design::Classic => classic::run(&mut run),
    };
    match done {
        Ok(()) => run.finish(),
        Err(error) => {
            run.abandon();
            Err(error)
        }
    }
}

/// The run that is to be continued.
fn unfinished(plan: &Plan, results: &Results) -> Result<RunWriter, Error> {
    let found = results.unfinished(&plan.hash)?;
    found.ok_or_else(|| {
        Error::Preflight(format!(
            "no unfinished run of `{}` with this plan is in `{}`: run without `--resume`",
            plan.experiment.name,
            results.dir().display()
        ))
    })
}

/// Makes every build of the plan ready on this host.
fn install(
    plan: &Plan,
    places: &Places,
    observer: &mut dyn Observer,
) -> Result<Vec<Option<Installed>>, Error> {
    let mut installed = Vec::with_capacity(plan.subjects.len());
    for subject in &plan.subjects {
        let resolved = dbms::resolve(&subject.build, places)?;
        let mut say = |text: &str| observer.tell(&Progress::Step(text));
        let build = if dbms::is_embedded(&subject.build.server) {
            None
        } else {
            Some(dbms::install(&resolved, places, &mut say)?)
        };
        installed.push(build);
    }
    Ok(installed)
}

impl Run<'_> {
    /// Whether this run counts instructions by single steps.
    pub(crate) fn steps(&self) -> bool {
        self.options.steps == Steps::WhereNeeded && stepping::wanted()
    }

    /// Executes `work`, whose time belongs to `activity`.
    pub(crate) fn during<T>(&mut self, activity: Activity, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.ledger.enter(activity);
        let done = work(self);
        self.ledger.enter(before);
        done
    }

    /// Writes the account of time until now into the run's state.
    pub(crate) fn note_time(&mut self) -> Result<BTreeMap<String, f64>, Error> {
        let seconds = self.ledger.seconds(&self.earlier);
        self.writer.note_state(TIME, &seconds)?;
        Ok(seconds)
    }

    pub(crate) fn step(&mut self, text: &str) {
        self.observer.tell(&Progress::Step(text));
    }

    pub(crate) fn now(&mut self, text: &str) {
        self.observer.tell(&Progress::Now(text));
    }

    pub(crate) fn warn(&mut self, text: &str) {
        self.observer.tell(&Progress::Warning(text));
    }

    pub(crate) fn subject(&self, index: usize) -> &Subject {
        &self.plan.subjects[index]
    }

    /// The schema that a phase's workload uses.
    pub(crate) fn schema_of(&self, phase: &Phase) -> Result<&Schema, Error> {
        let name = &self.plan.workloads[phase.workload].schema;
        self.plan.schemas.iter().find(|schema| schema.name == *name).ok_or_else(|| {
            Error::Preflight(format!("the plan has no schema `{name}`: plan the experiment again"))
        })
    }

    /// Counts a slice and tells the observer.
    pub(crate) fn slice_done(&mut self, record: &SliceRecord) {
        self.failed += u64::from(record.state == SliceState::Failed);
        if record.state != SliceState::Discarded {
            self.done += 1;
        }
        let of = slices_of(self.plan);
        self.observer.tell(&Progress::Slice { record, done: self.done, of });
    }

    /// Counts slices that an earlier execution of this run has left.
    pub(crate) fn keep_done(&mut self, slices: u64) {
        self.done += slices;
    }

    /// Removes the data folders of a run that broke, unless they are to be kept; a resume loads
    /// again what it needs.
    fn abandon(mut self) {
        // The caller reports why the run failed; a second error from here would hide that one.
        let _ = self.note_time();
        match self.options.data {
            // Else the next run would take them for those of a run that was killed.
            DataFolders::Keep => drop(self.place.keep()),
            DataFolders::Remove => {
                // The same goes for folders that are still there.
                let _ = self.keeper.end();
                let _ = self.place.remove();
            }
        }
    }

    fn finish(mut self) -> Result<Outcome, Error> {
        let run = self.writer.id().to_owned();
        let time = self.note_time()?;
        self.writer.finish()?;
        self.keeper.end()?;
        let kept_data = match self.options.data {
            DataFolders::Keep => {
                self.place.keep()?;
                Some(self.place.data().to_owned())
            }
            DataFolders::Remove => {
                self.place.remove()?;
                None
            }
        };
        Ok(Outcome { run, failed_slices: self.failed, kept_data, time })
    }
}

/// Measured slices of one subject in one block.
pub(crate) fn slices_per_trial(plan: &Plan) -> u64 {
    let measured = plan.phases.iter().filter(|p| p.kind == model::plan::PhaseKind::Measure).count();
    let rounds = match plan.experiment.design {
        Design::Interleaved => u64::from(plan.experiment.rounds),
        Design::Classic => 1,
    };
    measured as u64 * rounds
}

pub(crate) fn slices_of(plan: &Plan) -> u64 {
    slices_per_trial(plan) * plan.subjects.len() as u64 * plan.blocks.len() as u64
}
