//! The probes: one file per source of counters, and the table of them.

mod diskstats;
mod file_syncs;
mod perf_event;
mod pressure;
mod proc_pid;
mod proc_stat;
mod proc_task;
mod vmstat;

use crate::{Counter, Error, Target, Values};

/// One source of readings.
pub struct Probe {
    /// Name: the file's stem.
    pub name: &'static str,
    /// The counters that its readers may give.
    pub counters: &'static [Counter],
    /// Starts to look at a target, which may be slow. [`Error::Absent`] says in one sentence what
    /// this host does not have; nothing at all is returned where the probe is not meant for the
    /// purpose or for such a target.
    pub open: fn(&Target, Purpose) -> Result<Found, Error>,
}

/// An open source, if there is one for a purpose.
pub type Found = Option<Box<dyn Reader>>;

/// An open source.
pub trait Reader: Send {
    /// Adds the present values: it must be cheap.
    fn read(&mut self, values: &mut Values) -> Result<(), Error>;
    /// What the user of the values must know, one phrase each.
    fn marks(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What the readings are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The two ends of a window: everything, exactly.
    Window,
    /// A series while the server works: only what is cheap to read.
    Series,
}

/// In the order in which `dbdyno list probes` shows them; an earlier probe's counter hides a later
/// one's.
pub const PROBES: &[Probe] = &[
    perf_event::PROBE,
    file_syncs::PROBE,
    proc_task::PROBE,
    proc_pid::PROBE,
    proc_stat::PROBE,
    diskstats::PROBE,
    pressure::PROBE,
    vmstat::PROBE,
];

/// The counter with this name.
pub fn counter(name: &str) -> Option<&'static Counter> {
    PROBES.iter().flat_map(|probe| probe.counters).find(|counter| counter.name == name)
}
