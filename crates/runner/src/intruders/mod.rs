//! Instruments that disturb what they observe, with servers and stretches of their own: a trait,
//! and the table of them.
//!
//! Read [`Intruder`] first. [`crate::slice::intrusive`] executes their stretches.

pub(crate) mod emulation;

use crate::{
    Error,
    instruments::Opened,
    ledger::Activity,
    run::Run,
    server::{Instance, OwnServer},
};
use model::plan::Phase;

/// All of them.
const INTRUDERS: &[&dyn Intruder] = &[&emulation::Emulation];

/// A kind of instrument that disturbs. It observes stretches of its own on a server of its own,
/// which works on a copy of the template while the trial's server is frozen; its readings are
/// those of all slices of the phase.
pub(crate) trait Intruder: Sync {
    /// To which its time belongs.
    fn activity(&self) -> Activity;

    /// Its name in messages and in the state of a run.
    fn name(&self) -> &'static str {
        self.activity().name()
    }

    /// What it does with a phase, for who watches.
    fn doing(&self, phase: &str) -> String;

    /// Whether a run uses it on this host.
    fn wanted(&self, run: &Run<'_>) -> bool;

    /// How its server is started.
    fn own_server(&self) -> OwnServer;

    /// How many operations on each connection are a stretch, or why none can be observed. Asked
    /// once per phase of a run.
    fn operations(&self, instance: &mut Instance, sought: &Sought<'_>) -> Result<Amount, Error>;

    /// Brings its server to the state in which it stays. Gives how many operations have read.
    fn warm_up(&self, instance: &mut Instance, warming: &Warming<'_>) -> Result<u64, Error>;

    /// Opens it on its server, which is thawed and idle.
    fn open(&self, instance: &Instance) -> Result<Box<dyn Opened>, Error>;
}

/// A stretch for which an instrument warms up its own server.
pub(crate) struct Warming<'a> {
    pub(crate) phase: &'a Phase,
    /// Operations that read, which it still needs before anything is warm.
    pub(crate) enough: u64,
    /// Those of the stretch, on each connection, less those that it took to find their number.
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

/// A number of operations on each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) operations: u64,
    /// Those that it took to find out: the server is as much further.
    pub(crate) executed: u64,
}

/// How many operations are a stretch, or why there are none.
pub(crate) type Amount = Result<Found, String>;

/// The instruments that disturb, as far as a run uses them.
pub(crate) fn intruders(run: &Run<'_>) -> Vec<&'static dyn Intruder> {
    INTRUDERS.iter().copied().filter(|used| used.wanted(run)).collect()
}
