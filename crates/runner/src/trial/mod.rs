//! One subject in one block: its server and driver, its counters and its record.

mod audit;
mod header;
mod recovery;

pub(crate) use audit::{Audit, number};
pub(crate) use header::settings;

use crate::{
    Error,
    clock::wall_us,
    host::files,
    instruments::{Artefact, Findings, OpenInstruments},
    run::Run,
    server::{Instance, Waiting, tables, thaw},
};
use model::{
    mark,
    reading::Reading,
    record::{Event, TrialHeader},
    script::Script,
};
use std::{collections::BTreeMap, path::Path, time::Duration};
use store::TrialWriter;

/// How long a fresh server may take to become calm before slices are marked.
const CALM_CEILING: Duration = Duration::from_secs(45);

/// An instance whose work is recorded.
pub(crate) struct Trial {
    pub(crate) instance: Instance,
    pub(crate) subject: usize,
    pub(crate) header: TrialHeader,
    pub(crate) writer: TrialWriter,
    /// Open on its connections; none where something broke.
    pub(crate) instruments: OpenInstruments,
    /// Tables and indexes as last looked at, bytes, where the server tells: before a phase, and
    /// after each slice that inserts or builds indexes.
    pub(crate) database_bytes: Option<f64>,
    /// What instruments found in stretches of their own, for the slices of the current phase.
    pub(crate) of_phase: OfPhase,
    /// Servers that instruments have for themselves, frozen between their stretches.
    pub(crate) copies: BTreeMap<&'static str, Copied>,
    /// Why there is none, if one was to be started.
    pub(crate) not_copied: Option<String>,
    /// Which tables were counted last, and their rows; none if anything may have written since.
    pub(crate) rows: Option<(Vec<String>, u64)>,
    /// Marks that every slice of this trial carries.
    pub(crate) marks: Vec<String>,
    /// Why the rest of the phase goes on without this subject; the next phase tries to reach its
    /// server again.
    pub(crate) broken: Option<String>,
    /// Why the current phase goes on without it.
    pub(crate) unable: Option<String>,
    /// Schemas whose tables may lack indexes, with the index phase that failed: whatever else is
    /// to be done with these tables goes on without this subject.
    pub(crate) unindexed: BTreeMap<String, String>,
    /// What the current phase will be held against.
    pub(crate) audit: Option<Audit>,
}

/// The trials that are up, by subject.
pub(crate) type Trials = BTreeMap<usize, Trial>;

/// The trial of a subject.
pub(crate) fn of<'a>(
    run: &Run<'_>,
    trials: &'a mut Trials,
    subject: usize,
) -> Result<&'a mut Trial, Error> {
    trials.get_mut(&subject).ok_or_else(|| not_up(run, subject))
}

/// That a step needs a subject that was not started.
pub(crate) fn not_up(run: &Run<'_>, subject: usize) -> Error {
    Error::Driver(format!("`{}` is not up: report this as a defect", run.subject(subject).label))
}

/// A server that an instrument has for itself.
pub(crate) struct Copied {
    pub(crate) instance: Instance,
    /// Phases whose indexes its tables have.
    pub(crate) indexes: usize,
    /// Searches of indexes that have warmed it up.
    pub(crate) searched: f64,
    /// Operations on each connection by which the number of observed ones was found, until the
    /// phase is warmed up.
    pub(crate) executed: u64,
    /// What was found of a phase, by its number.
    pub(crate) found: BTreeMap<usize, OfPhase>,
}

/// What all slices of a phase have in common.
#[derive(Debug, Clone, Default)]
pub(crate) struct OfPhase {
    pub(crate) readings: Vec<Reading>,
    /// What readers of its values must know.
    pub(crate) marks: Vec<String>,
    /// Files of the record.
    pub(crate) artefacts: Vec<String>,
}

impl OfPhase {
    /// Adds what was found in a stretch.
    pub(crate) fn add(&mut self, found: &Self) {
        self.readings.extend(found.readings.iter().cloned());
        self.marks.extend(found.marks.iter().cloned());
        self.artefacts.extend(found.artefacts.iter().cloned());
    }
}

impl Trial {
    /// Brings a subject up in a block, calm and frozen, with its record begun.
    pub(crate) fn begin(
        run: &Run<'_>,
        waiting: Waiting,
        block: u32,
        data: &Path,
    ) -> Result<Self, Error> {
        let subject = waiting.subject;
        let clients = run.plan.phases.first().map_or(1, |phase| phase.clients);
        let mut instance = Instance::start_with(run, waiting, data, clients)?;
        let header = header::header(run, subject, block, &mut instance)?;
        let writer = run.writer.trial(&header, &run.environment)?;
        let mut trial = Self {
            instance,
            subject,
            header,
            writer,
            instruments: OpenInstruments::default(),
            database_bytes: None,
            of_phase: OfPhase::default(),
            copies: BTreeMap::new(),
            not_copied: None,
            rows: None,
            marks: Vec::new(),
            broken: None,
            unable: None,
            unindexed: BTreeMap::new(),
            audit: None,
        };
        if trial.instance.is_embedded() {
            trial.marks.push(mark::EMBEDDED.to_owned());
        }
        if !trial.instance.calm(CALM_CEILING)? {
            trial.marks.push(format!("not calm {} s after its start", CALM_CEILING.as_secs()));
        }
        trial.event("started", "the server is up", None)?;
        trial.attach()?;
        Ok(trial)
    }

    /// Freezes the server and opens the instruments on all its tasks. The old ones are closed
    /// first: two sets of hardware counters on one task spoil each other.
    pub(crate) fn attach(&mut self) -> Result<(), Error> {
        self.instance.freeze()?;
        self.instruments = OpenInstruments::default();
        self.instruments = OpenInstruments::on(&self.instance)?;
        Ok(())
    }

    /// Writes what an instrument found in a stretch of its own into the record.
    pub(crate) fn keep(&mut self, found: Findings) -> Result<OfPhase, Error> {
        let artefacts = self.keep_artefacts(&found.artefacts)?;
        Ok(OfPhase { readings: found.readings, artefacts, ..OfPhase::default() })
    }

    /// Writes artefacts into the record, and gives the names by which slices refer to them.
    pub(crate) fn keep_artefacts(&mut self, found: &[Artefact]) -> Result<Vec<String>, Error> {
        let written = found.iter().map(|one| self.writer.artefact(&one.name, &one.bytes));
        Ok(written.collect::<Result<_, _>>()?)
    }

    /// Does `work` with the server thawed, and freezes it again however that ends.
    pub(crate) fn thawed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        thaw::between(self, |trial| trial.instance.thaw(), |trial| trial.instance.freeze(), work)
    }

    /// Why slices of the current phase, which has this script, cannot be executed, if they cannot.
    pub(crate) fn obstacle(&self, script: &Script) -> Option<String> {
        let unindexed = || {
            let phase = self.unindexed.get(&script.schema)?;
            Some(format!("the tables may lack indexes, because `{phase}` failed"))
        };
        self.broken.clone().or_else(unindexed).or_else(|| self.unable.clone())
    }

    /// Reads tables and indexes into the cache, then freezes again.
    pub(crate) fn warm(&mut self, run: &Run<'_>) -> Result<(), Error> {
        let warmed = self.instance.thawed(|instance| tables::warm(run, instance));
        self.keep_apart(warmed).map(drop)
    }

    /// An error that is this subject's own breaks its part of the block; any other ends the run.
    pub(crate) fn keep_apart<T>(&mut self, result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Err(error) if error.is_of_one_subject() => {
                let reason = self.instance.reason(&error);
                self.event("error", &reason, None)?;
                self.broken = Some(reason);
                // It may have been on its way back; what cannot be frozen is gone.
                let _ = self.instance.freeze();
                // A terminal interrupts the driver too, and that is no failure of the subject.
                self.instance.stop.check()?;
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Opens another number of connections, if it differs, and attaches the counters anew.
    pub(crate) fn set_clients(&mut self, clients: u32) -> Result<(), Error> {
        if self.instance.connections.len() == clients as usize {
            return Ok(());
        }
        self.instruments = OpenInstruments::default();
        self.instance.thawed(|instance| instance.connect(clients))?;
        self.attach()
    }

    pub(crate) fn event(
        &mut self,
        kind: &str,
        message: &str,
        seconds: Option<f64>,
    ) -> Result<(), Error> {
        note(&mut self.writer, kind, message, seconds)
    }

    /// Ends the server and finishes the record. All slices are done then, so a server that cannot
    /// stop in peace is worth a warning and not the run.
    pub(crate) fn end(mut self, run: &Run<'_>) -> Result<(), Error> {
        if let Some(server) = &self.instance.server {
            let log = server.log_tail(usize::MAX);
            self.writer.file("server.log", log.as_bytes())?;
        }
        self.instruments = OpenInstruments::default();
        for (_, copy) in std::mem::take(&mut self.copies) {
            let folder = copy.instance.data.clone();
            // Nobody reads what it leaves.
            drop(copy);
            files::remove_folder(&folder)?;
        }
        let known = self.broken.is_some();
        if let Err(error) = self.instance.end() {
            run.stop.check()?;
            let message = error.to_string();
            if !known {
                run.warn(&format!("{}: {message}", self.header.subject));
            }
            note(&mut self.writer, "error", &message, None)?;
        }
        Ok(self.writer.finish()?)
    }
}

/// Appends an event of now.
fn note(
    writer: &mut TrialWriter,
    kind: &str,
    message: &str,
    seconds: Option<f64>,
) -> Result<(), Error> {
    let (kind, message) = (kind.to_owned(), message.to_owned());
    Ok(writer.event(&Event { wall_us: wall_us(), kind, message, seconds })?)
}
