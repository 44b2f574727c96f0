//! What observes a subject while it works: a trait, one file for each instrument, and the table of
//! them.
//!
//! An instrument is opened on a subject that is frozen, begins before a stretch of work, and adds
//! what it found after it: readings for the slice's record, and artefacts, which are files that the
//! record names. Slices are executed by one loop that knows instruments as values of [`Span`]. Read
//! [`Instrument`] first.

pub(crate) mod emulation;
mod host_load;
mod meter;
mod sampler;
mod waits;

use crate::{
    Error,
    ledger::Activity,
    run::Run,
    server::{Instance, OwnServer},
};
use model::{
    drive::StretchReport,
    number::counted,
    plan::Phase,
    reading::{Reading, SeriesRow},
};

/// All instruments. Those of one span begin in this order and end in the opposite one, so that the
/// last is closest to the work, and the others find its readings.
const INSTRUMENTS: &[&dyn Instrument] =
    &[&sampler::Sampler, &host_load::HostLoad, &waits::Waits, &meter::Meter, &emulation::Emulation];

/// What an instrument observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// A slice with its discarded start.
    Slice,
    /// The measured stretch of a slice, and no moment more.
    Window,
    /// A stretch of its own, outside all measured windows, because it disturbs. Its time belongs to
    /// this activity, whose name messages use; its readings are those of all slices of the phase.
    Own(Activity),
}

/// A kind of instrument.
pub(crate) trait Instrument: Sync {
    /// What it observes.
    fn span(&self) -> Span;

    /// Whether a run uses it on this host.
    fn wanted(&self, _run: &Run<'_>) -> bool {
        true
    }

    /// Opens it on an instance that is frozen, or in a stretch of its own thawed and idle. It is
    /// dropped before the instance opens other connections, and when a stretch breaks.
    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error>;

    /// How many operations on each connection are a stretch of its own, or why none can be
    /// observed. Asked once per phase of a run.
    fn operations(&self, _: &mut Instance, _: &Sought<'_>) -> Result<Amount, Error> {
        Ok(Ok(0))
    }

    /// Brings its own server to the state in which it stays. Gives how many operations have read.
    fn warm_up(&self, _: &mut Instance, _: &Warming<'_>) -> Result<u64, Error> {
        Ok(0)
    }

    /// How the server of its stretch is started, where it needs one of its own: on a copy of the
    /// template, beside the trial's server, which is frozen meanwhile.
    fn own_server(&self) -> Option<OwnServer> {
        None
    }
}

/// A stretch for which an instrument warms up its own server.
pub(crate) struct Warming<'a> {
    pub(crate) phase: &'a Phase,
    /// Operations that read, which it still needs before anything is warm.
    pub(crate) enough: u64,
    /// Those of the stretch, on each connection.
    pub(crate) operations: u64,
    pub(crate) seed: u64,
}

/// A phase for which a number of operations is sought.
pub(crate) struct Sought<'a> {
    pub(crate) phase: &'a Phase,
    /// Operations per second on each connection of the base, as far as that is known.
    pub(crate) rate: Option<f64>,
    /// Of the operations that are executed to find it.
    pub(crate) seed: u64,
}

/// Operations on each connection, or why there are none.
pub(crate) type Amount = Result<u64, String>;

/// An instrument that is open on one subject.
pub(crate) trait Opened: Send {
    /// Begins to observe.
    fn begin(&mut self) -> Result<(), Error>;

    /// Ends after the stretch that `work` reports, and adds to what others found.
    fn end(&mut self, work: &StretchReport, found: &mut Findings) -> Result<(), Error>;

    /// Its readings over the stretch and the drain that followed it.
    fn with_drain(&mut self) -> Result<Vec<Reading>, Error> {
        Ok(Vec::new())
    }
}

/// What instruments found over a stretch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    /// Wall clock when the stretch began, microseconds since 1970.
    pub(crate) from_us: u64,
    pub(crate) readings: Vec<Reading>,
    /// Counters of single tasks of the foreground.
    pub(crate) tasks: Vec<(u32, Reading)>,
    pub(crate) series: Vec<SeriesRow>,
    pub(crate) marks: Vec<String>,
    pub(crate) artefacts: Vec<Artefact>,
    /// What an instrument did not find, and why.
    pub(crate) missing: Option<String>,
}

/// A file for the record of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Artefact {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The instruments that are open on a trial's subject, by what they observe.
#[derive(Default)]
pub(crate) struct OpenInstruments {
    pub(crate) slice: Vec<Box<dyn Opened>>,
    pub(crate) window: Vec<Box<dyn Opened>>,
}

impl OpenInstruments {
    /// Opens those that observe slices and windows.
    pub(crate) fn on(instance: &Instance) -> Result<Self, Error> {
        let open = |span: Span| -> Result<Vec<Box<dyn Opened>>, Error> {
            let own = INSTRUMENTS.iter().filter(|instrument| instrument.span() == span);
            own.map(|instrument| instrument.open(instance)).collect()
        };
        Ok(Self { slice: open(Span::Slice)?, window: open(Span::Window)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }
}

/// An instrument that disturbs, and whose activity its stretches are.
#[derive(Clone, Copy)]
pub(crate) struct Intruder {
    pub(crate) instrument: &'static dyn Instrument,
    pub(crate) activity: Activity,
}

impl Intruder {
    /// Its name in messages and in the state of a run.
    pub(crate) fn name(&self) -> &'static str {
        self.activity.name()
    }
}

/// The instruments that a run uses in stretches of their own.
pub(crate) fn intrusive(run: &Run<'_>) -> Vec<Intruder> {
    let own = INSTRUMENTS.iter().filter_map(|instrument| match instrument.span() {
        Span::Own(activity) => Some(Intruder { instrument: *instrument, activity }),
        Span::Slice | Span::Window => None,
    });
    own.filter(|used| used.instrument.wanted(run)).collect()
}

/// Whether a template is needed after its last block has a copy.
pub(crate) fn start_copies(run: &Run<'_>) -> bool {
    intrusive(run).iter().any(|used| used.instrument.own_server().is_some())
}

/// Why counts of a stretch are not those of its workload, if they are not: what fails or finds
/// other rows than expected costs something else.
fn work_done(report: &StretchReport) -> Result<(), String> {
    if report.failed > 0 {
        let first = report.errors.first();
        let words = first.map_or_else(String::new, |e| format!(" ({}: {})", e.code, e.message));
        return Err(format!("{} of {} operations failed{words}", report.failed, report.scheduled));
    }
    match unexpected(report) {
        Some(unexpected) => Err(unexpected),
        None if report.succeeded == 0 => Err("no operation was done".to_owned()),
        None => Ok(()),
    }
}

/// One sentence where statements found or changed other rows than they expect: what they cost is
/// not what the workload costs.
pub(crate) fn unexpected(work: &StretchReport) -> Option<String> {
    let all = work.reads + work.writes + work.others;
    (work.unexpected > 0).then(|| {
        format!(
            "{} of {all} found or changed another number of rows than the workload expects \
             (`dbdyno verify` shows which)",
            counted(work.unexpected, "statement")
        )
    })
}

/// Executes a stretch between the begin and the end of instruments.
pub(crate) fn observe(
    opened: &mut [Box<dyn Opened>],
    found: &mut Findings,
    work: impl FnOnce(&mut Findings) -> Result<StretchReport, Error>,
) -> Result<StretchReport, Error> {
    opened.iter_mut().try_for_each(|instrument| instrument.begin())?;
    let report = work(found)?;
    opened.iter_mut().rev().try_for_each(|instrument| instrument.end(&report, found))?;
    Ok(report)
}
