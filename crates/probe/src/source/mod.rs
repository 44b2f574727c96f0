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

/// One source of readings. `open` may be slow; [`Reader::read`] must be cheap.
pub trait Probe: Sync {
    /// Name: the file's stem.
    fn name(&self) -> &'static str;
    /// One line of help.
    fn help(&self) -> &'static str;
    /// The counters that its readers may give.
    fn counters(&self) -> &'static [Counter];
    /// Starts to look at a target. [`Error::Absent`] says in one sentence what this host does not
    /// have; nothing at all is returned where the probe is not meant for the purpose or for such a
    /// target.
    fn open(&self, target: &Target, purpose: Purpose) -> Result<Option<Box<dyn Reader>>, Error>;
}

/// An open source.
pub trait Reader: Send {
    /// Adds the present values.
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
pub const PROBES: &[&dyn Probe] = &[
    &perf_event::PerfEvent,
    &file_syncs::FileSyncs,
    &proc_task::ProcTask,
    &proc_pid::ProcPid,
    &proc_stat::ProcStat,
    &diskstats::Diskstats,
    &pressure::Pressure,
    &vmstat::Vmstat,
];

/// The counter with this name.
pub fn counter(name: &str) -> Option<&'static Counter> {
    PROBES.iter().flat_map(|probe| probe.counters()).find(|counter| counter.name == name)
}
