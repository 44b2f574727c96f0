//! What observes a subject while it works: one file for each instrument, and the table of them.
//!
//! An instrument is opened on a subject that is frozen, begins before a stretch of work, and adds
//! what it found after it: readings for the slice's record, and artefacts, which are files that the
//! record names. Slices are executed by one loop that knows instruments as values of [`Span`]. Read
//! [`Instrument`] first. Those that disturb are [`crate::intruders`].

mod meter;
mod sampler;
mod waits;

use crate::{
    Error,
    server::{Instance, Observing},
};
use model::{
    drive::StretchReport,
    number::counted,
    observed::{Observation, Observed},
    reading::{Reading, SeriesRow},
};

/// All instruments. Those of one span begin in this order and end in the opposite one, so that the
/// last is closest to the work, and the others find its readings.
const INSTRUMENTS: &[Instrument] = &[sampler::SAMPLER, waits::WAITS, meter::METER];

/// What an instrument observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Span {
    /// A slice with its discarded start.
    Slice,
    /// The measured stretch of a slice, and no moment more.
    Window,
}

/// A kind of instrument: an observation, and what becomes of it.
pub(crate) struct Instrument {
    /// What it observes.
    span: Span,
    observation: Observation,
    /// Adds what was observed to what others found.
    add: fn(Observed, &mut Findings),
    /// Whether it also gives readings of a stretch together with what followed it.
    tells_later: bool,
}

/// An instrument that is open on one subject. It is dropped before the instance opens other
/// connections, and when a stretch breaks.
pub(crate) trait Opened: Send {
    /// Begins to observe.
    fn begin(&mut self) -> Result<(), Error>;

    /// Ends after the stretch that `work` reports, and adds to what others found.
    fn end(&mut self, work: &StretchReport, found: &mut Findings) -> Result<(), Error>;

    /// Its readings since the stretch began, which has ended.
    fn so_far(&mut self) -> Result<Vec<Reading>, Error> {
        Ok(Vec::new())
    }
}

struct Open {
    instrument: &'static Instrument,
    observing: Observing,
}

impl Opened for Open {
    fn begin(&mut self) -> Result<(), Error> {
        self.observing.begin()
    }

    fn end(&mut self, _: &StretchReport, found: &mut Findings) -> Result<(), Error> {
        (self.instrument.add)(self.observing.end()?, found);
        Ok(())
    }

    fn so_far(&mut self) -> Result<Vec<Reading>, Error> {
        match self.instrument.tells_later {
            true => Ok(self.observing.so_far()?.readings),
            false => Ok(Vec::new()),
        }
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
    /// Opens those that observe slices and windows, on an instance that is frozen.
    pub(crate) fn on(instance: &Instance) -> Result<Self, Error> {
        let open = |span: Span| -> Result<Vec<Box<dyn Opened>>, Error> {
            let own = INSTRUMENTS.iter().filter(|instrument| instrument.span == span);
            let open = |instrument: &'static Instrument| -> Result<Box<dyn Opened>, Error> {
                let observing = instance.observe(instrument.observation)?;
                Ok(Box::new(Open { instrument, observing }))
            };
            own.map(open).collect()
        };
        Ok(Self { slice: open(Span::Slice)?, window: open(Span::Window)? })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.window.is_empty()
    }
}

/// Why counts of a stretch are not those of its workload, if they are not: what fails or finds
/// other rows than expected costs something else.
pub(crate) fn work_done(report: &StretchReport) -> Result<(), String> {
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
