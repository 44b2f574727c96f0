//! What all parts of one execution of a plan share.

use crate::{
    Error, Observer, Progress, Stop,
    agent::Agents,
    calibration::Calibration,
    databases::{self, Databases},
    judge::{Ending, ExplainChanges, Look},
    ledger::{Activity, Ledger},
};
use dbms::{Announcement, Installed, Keeper, RunPlace};
use emulator::Emulator;
use model::{
    drive::Assignment,
    environment::Environment,
    experiment::Design,
    explanation::SourceParts,
    plan::{Phase, PhaseKind, Plan},
    record::{SliceRecord, SliceState},
    schedule::{Slice, Step},
    schema::Schema,
    subject::{Setting, Subject},
};
use probe::Permission;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};
use store::RunWriter;

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
    /// How user instructions are counted; none for the best way that this host permits.
    pub counts: Option<Counts>,
    /// What becomes of rounds that something else disturbed.
    pub disturbed: DisturbedRounds,
    /// When the run may end before its last block.
    pub ending: Ending,
    /// What is explained after the last block, if anything.
    pub explain: Option<ExplainChanges>,
    /// What is known of the functions of the source, by server product.
    pub source: BTreeMap<String, SourceParts>,
    /// How this run is known to others on this host, and they to it; none where that is not known.
    pub announcement: Option<Arc<Announcement>>,
    /// Words of the command line, beside the experiment, that shape the run: for the record.
    pub command: Vec<String>,
}

/// What becomes of rounds that something else disturbed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DisturbedRounds {
    /// They are measured once more, when the host is quiet.
    #[default]
    Repeat,
    /// They are measured once.
    Keep,
}

/// How user instructions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// By the processor, in the measured slices.
    Hardware,
    /// Under emulation, on a server beside; some seconds per workload, subject and block, and a
    /// start of a server per subject and block.
    Emulated,
    /// By the processor where it can, and else not at all.
    None,
}

impl Counts {
    /// As the command line has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hardware => "hardware",
            Self::Emulated => "emulated",
            Self::None => "none",
        }
    }
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
    /// Slices of this execution that failed, over all its blocks.
    pub failed_slices: u64,
    /// Why it ended before the last planned block, if it did. One sentence.
    pub ended: Option<String>,
    /// Rounds of this execution that were measured once more, because something beside the servers
    /// disturbed them.
    pub repeated_rounds: u64,
    /// Where the data folders are, if they were to be kept.
    pub kept_data: Option<PathBuf>,
    /// Wall time by activity over all executions of the run, seconds.
    pub time: BTreeMap<String, f64>,
}

/// Key of the account of time in a run's state.
pub const TIME: &str = "time";

/// Key of the reason for which a run ended before its last block, in its state: one line, empty
/// while it goes on.
pub const FAILURE: &str = "failure";

/// Key of [`Options::command`] in a run's state.
pub const COMMAND: &str = "command";

/// Key of the number of blocks that a run's budget permits, in the run's state: as expected at its
/// first look, and no more at any later one.
pub const PERMITTED_BLOCKS: &str = "permitted_blocks";

/// Everything that the parts of a run share.
pub(crate) struct Run<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) options: &'a Options,
    pub(crate) stop: &'a Stop,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) place: RunPlace,
    pub(crate) keeper: Keeper,
    pub(crate) writer: RunWriter,
    /// How user instructions are counted on this host.
    pub(crate) counts: Counts,
    pub(crate) emulator: Option<Emulator>,
    /// Per subject; none for embedded engines.
    pub(crate) installed: Vec<Option<Installed>>,
    /// Per subject; none for servers, and for engines that dbdyno or the user brings.
    pub(crate) libraries: Vec<Option<Installed>>,
    /// Settings by which each server finds extensions that the tables need.
    pub(crate) extensions: Vec<Vec<Setting>>,
    pub(crate) environment: Environment,
    pub(crate) calibration: Calibration,
    pub(crate) ledger: Ledger,
    /// Subjects and loads whose data folders are initialized and still empty.
    pub(crate) prepared: BTreeSet<(usize, u32)>,
    /// Databases that this run made on servers that are there already.
    pub(crate) databases: Databases,
    /// Agents on the hosts of such servers.
    pub(crate) agents: Agents,
    /// What the last look at the complete blocks found.
    pub(crate) look: Look,
    /// Why it ends before the last planned block, if it does.
    pub(crate) ended: Option<String>,
    /// Rounds that were measured once more.
    repeated: u64,
    /// What earlier executions of this run took, seconds by activity.
    earlier: BTreeMap<String, f64>,
    done: u64,
    /// Slices of the whole run, if nothing else is decided on the way.
    total: u64,
    failed: u64,
}

/// The builds that are ready on this host, per subject.
#[derive(Debug, Default)]
pub(crate) struct Builds {
    /// Servers.
    pub(crate) installed: Vec<Option<Installed>>,
    /// Libraries of embedded engines that are no part of dbdyno.
    pub(crate) libraries: Vec<Option<Installed>>,
    /// Settings by which each server finds extensions that the tables need.
    pub(crate) extensions: Vec<Vec<Setting>>,
}

/// What has to be there before a run's keeper starts.
pub(crate) struct Parts {
    pub(crate) place: RunPlace,
    pub(crate) writer: RunWriter,
    pub(crate) builds: Builds,
    pub(crate) environment: Environment,
    pub(crate) ledger: Ledger,
}

impl<'a> Run<'a> {
    /// Starts the keeper of a run whose place and records are there.
    pub(crate) fn new(
        plan: &'a Plan,
        options: &'a Options,
        stop: &'a Stop,
        observer: &'a dyn Observer,
        parts: Parts,
    ) -> Result<Self, Error> {
        let Parts { place, writer, builds, environment, ledger } = parts;
        let Builds { installed, libraries, extensions } = builds;
        let begun = || -> Result<_, Error> {
            let way =
                if databases::is_attached(plan) { Some(Counts::None) } else { options.counts };
            let (counts, emulator) = counting(way, &writer, observer)?;
            let earlier = writer.state(TIME)?.unwrap_or_default();
            Ok((counts, emulator, earlier, Keeper::start(&options.exe, &place)?))
        };
        let (counts, emulator, earlier, keeper) =
            begun().inspect_err(|_| drop(give_up(&place, options.data)))?;
        let stopped = stop.clone();
        keeper.when_gone(move || stopped.keeper_gone());
        let environment = Environment { freezer: keeper.freezer_name().to_owned(), ..environment };
        Ok(Self {
            plan,
            options,
            stop,
            observer,
            place,
            keeper,
            writer,
            counts,
            emulator,
            installed,
            libraries,
            extensions,
            environment,
            calibration: Calibration::default(),
            ledger,
            prepared: BTreeSet::new(),
            databases: Databases::default(),
            agents: Agents::default(),
            look: Look::default(),
            ended: None,
            repeated: 0,
            earlier,
            done: 0,
            total: slices_per_trial(plan) * plan.subjects.len() as u64 * expected_blocks(plan),
            failed: 0,
        })
    }

    /// Ends a run without records; nothing of it stays.
    pub(crate) fn leave(self) -> Result<(), Error> {
        let ended = self.keeper.clone().end();
        if let Err(error) = give_up(&self.place, DataFolders::Remove) {
            self.warn(&format!("{error}; the next run removes the data folders"));
        }
        Ok(ended?)
    }
}

impl Run<'_> {
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

    pub(crate) fn step(&self, text: &str) {
        self.observer.tell(&Progress::Step(text));
    }

    pub(crate) fn now(&self, text: &str) {
        self.observer.tell(&Progress::Now(text));
    }

    pub(crate) fn warn(&self, text: &str) {
        self.observer.tell(&Progress::Warning(text));
    }

    /// The build of a server, or the library of an embedded engine; none where it is a part of
    /// dbdyno, or a server that is there already.
    pub(crate) fn build(&self, subject: usize) -> Option<&Installed> {
        self.installed[subject].as_ref().or(self.libraries[subject].as_ref())
    }

    /// The library of an embedded engine, where it is not a part of dbdyno.
    pub(crate) fn library(&self, subject: usize) -> Option<&Installed> {
        self.libraries[subject].as_ref()
    }

    pub(crate) fn subject(&self, index: usize) -> &Subject {
        &self.plan.subjects[index]
    }

    /// The schema that a phase's workload uses.
    pub(crate) fn schema_of(&self, phase: &Phase) -> Result<&Schema, Error> {
        let name = &phase.script.schema;
        self.plan.schemas.iter().find(|schema| schema.name == *name).ok_or_else(|| {
            Error::Preflight(format!("the plan has no schema `{name}`: plan the experiment again"))
        })
    }

    /// The script of a phase with everything needed to compile it.
    pub(crate) fn assignment(&self, phase: &Phase) -> Result<Assignment, Error> {
        let (script, schema) = (phase.script.clone(), self.schema_of(phase)?.clone());
        Ok(Assignment { script, schema, mode: phase.mode })
    }

    /// Counts a slice and tells the observer.
    pub(crate) fn slice_done(&mut self, record: &SliceRecord) {
        self.failed += u64::from(record.state == SliceState::Failed);
        if record.state != SliceState::Discarded {
            self.done += 1;
        }
        self.observer.tell(&Progress::Slice { record, done: self.done, of: self.total });
    }

    /// Whether a step only counts what is decided already.
    pub(crate) fn is_counted(&self, step: &Step) -> bool {
        let Step::Intrusive(stretch) = step else { return false };
        let phase = self.plan.phases.get(stretch.phase);
        phase.is_some_and(|phase| self.look.counted.contains(&phase.name))
    }

    /// Counts the slices of so many blocks that are left.
    pub(crate) fn expect(&mut self, blocks: usize) {
        let open = |phase: &&Phase| !self.look.decided.contains(&phase.name);
        let per_trial = self.plan.phases.iter().filter(open).map(|phase| slices(self.plan, phase));
        let per_block = per_trial.sum::<u64>() * self.plan.subjects.len() as u64;
        self.total = self.done + blocks as u64 * per_block;
    }

    /// Counts the slices of a round that is measured once more.
    pub(crate) fn repeats(&mut self, round: &[Slice]) {
        self.repeated += 1;
        self.total += round.len() as u64;
    }

    /// Counts slices that an earlier execution of this run has left.
    pub(crate) fn keep_done(&mut self, slices: u64) {
        self.done += slices;
    }

    /// Ends a run that broke, and notes why; a resume loads again what it needs.
    pub(crate) fn abandon(mut self, why: &Error) {
        // The caller reports why the run failed; a second error from here would hide that one.
        let why = why.to_string();
        // A log is announced by a line that says less than its first one.
        let why: Vec<&str> = why.lines().take(2).collect();
        let _ = self.writer.note_state(FAILURE, &why.join(" "));
        let _ = self.note_time();
        let _ = self.keeper.end();
        let _ = give_up(&self.place, self.options.data);
        if self.options.data == DataFolders::Keep {
            let said = format!("the data folders are kept under {}", self.place.data().display());
            self.observer.tell(&Progress::Finding(&said));
        }
    }

    /// Ends a run whose blocks are all complete.
    pub(crate) fn finish(mut self) -> Result<Outcome, Error> {
        let run = self.writer.id().to_owned();
        let finished = self.note_time().and_then(|time| Ok((time, self.writer.finish()?)));
        let (time, ()) = match finished {
            Ok(finished) => finished,
            Err(error) => {
                self.abandon(&error);
                return Err(error);
            }
        };
        // All is recorded. If the keeper was killed, its watch has ended what it had started.
        if let Err(error) = self.keeper.clone().end() {
            self.warn(&error.to_string());
        }
        let is_kept = self.options.data == DataFolders::Keep;
        let kept_data = match give_up(&self.place, self.options.data) {
            Ok(()) => is_kept.then(|| self.place.data().to_owned()),
            Err(error) => {
                self.warn(&format!("{error}; the next run removes the data folders"));
                None
            }
        };
        let (ended, repeated_rounds) = (self.ended, self.repeated);
        Ok(Outcome { run, failed_slices: self.failed, ended, repeated_rounds, kept_data, time })
    }
}

/// Removes the data folders of a run that is over, unless they are to be kept. An error from here
/// hides neither what the run found nor why it broke.
fn give_up(place: &RunPlace, data: DataFolders) -> dbms::Result<()> {
    match data {
        // Else the next run would take them for those of a run that was killed.
        DataFolders::Keep => place.keep(),
        DataFolders::Remove => place.remove(),
    }
}

/// Key of how a run counts instructions, in its state: blocks that count otherwise compare with
/// none of the others.
pub(crate) const COUNTS: &str = "counts";

/// How this run counts user instructions, and by which emulator: the best way that this host
/// permits, if none is asked for.
fn counting(
    asked: Option<Counts>,
    writer: &RunWriter,
    observer: &dyn Observer,
) -> Result<(Counts, Option<Emulator>), Error> {
    let before: Option<Counts> = writer.state(COUNTS)?;
    if let (Some(before), Some(asked)) = (before, asked)
        && before != asked
    {
        let (before, asked) = (before.word(), asked.word());
        return Err(Error::Preflight(format!(
            "the unfinished run was begun with `--counts {before}` and cannot go on with \
             `{asked}`: leave the option out, or start anew without `--resume`"
        )));
    }
    let found = counted_by(before.or(asked), observer).map_err(|error| match before {
        Some(before) => Error::Preflight(format!(
            "the unfinished run was begun with `--counts {}`, which this host does not permit now: \
             `dbdyno doctor` says what is missing, or start anew without `--resume`",
            before.word()
        )),
        None => error,
    })?;
    writer.note_state(COUNTS, &found.0)?;
    Ok(found)
}

/// Refuses a way to count that this host lacks.
pub fn check_counts(asked: Option<Counts>) -> Result<(), Error> {
    match asked {
        Some(Counts::Emulated) => Ok(Emulator::find().map(drop)?),
        Some(Counts::Hardware) if probe::permission() == Permission::None => Err(Error::Preflight(
            "`--counts hardware`: this host permits no hardware counters, and most virtual \
             machines have none: use `--counts emulated`, or see `dbdyno doctor`"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

fn counted_by(
    asked: Option<Counts>,
    observer: &dyn Observer,
) -> Result<(Counts, Option<Emulator>), Error> {
    let emulated = |emulator| (Counts::Emulated, Some(emulator));
    Ok(match asked {
        Some(Counts::Emulated) => emulated(Emulator::find()?),
        Some(asked) => {
            check_counts(Some(asked))?;
            (asked, None)
        }
        None if probe::permission() != Permission::None => (Counts::Hardware, None),
        None => Emulator::find().map(emulated).unwrap_or_else(|why| {
            observer.tell(&Progress::Warning(&format!("no instructions are counted: {why}")));
            (Counts::None, None)
        }),
    })
}

/// Blocks that a run has for certain: those until it is first judged.
fn expected_blocks(plan: &Plan) -> u64 {
    plan.experiment.looks.first().map_or(plan.blocks.len() as u64, |first| u64::from(*first))
}

/// Measured slices of one subject in one block.
pub(crate) fn slices_per_trial(plan: &Plan) -> u64 {
    plan.phases.iter().map(|phase| slices(plan, phase)).sum()
}

/// Measured slices of one phase, subject and block.
fn slices(plan: &Plan, phase: &Phase) -> u64 {
    match (phase.kind, plan.experiment.design) {
        (PhaseKind::Measure, Design::Interleaved) => plan.experiment.rounds.into(),
        (PhaseKind::Measure, Design::Classic) | (PhaseKind::Index, _) => 1,
        (PhaseKind::Warmup | PhaseKind::Settle, _) => 0,
    }
}

pub(crate) fn slices_of(plan: &Plan) -> u64 {
    slices_per_trial(plan) * plan.subjects.len() as u64 * plan.blocks.len() as u64
}
