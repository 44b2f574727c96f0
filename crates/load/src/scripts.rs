//! Workloads that somebody else executes: the seam to users' own scripts.
//!
//! The engine opens the measured connections, times and counts events, and knows nothing about
//! the language that they are written in. A thread of a script works on the measured connection of
//! its worker, lent as a [`Dialog`].

use crate::wire::{Dialog, Failure};
use model::{
    drive::{LoadJob, LoadReport, Target},
    lua::Lua,
};
use std::sync::Arc;

/// Whoever executes scripts.
pub trait Scripts: Send {
    /// Has a script make its data.
    ///
    /// # Errors
    /// What the script or the server said.
    fn load(&self, target: &Target, lua: &Lua, job: &LoadJob) -> Result<LoadReport, Failure>;

    /// A script for so many threads; none is started yet.
    ///
    /// # Errors
    /// Its files are not those that were looked at, or an option makes no sense.
    fn open(&self, target: &Target, lua: &Lua, clients: u32) -> Result<Arc<dyn Threads>, Failure>;
}

/// A script that threads can execute.
pub trait Threads: Send + Sync {
    /// The state of thread `index`, ready for its first event. `dialog` is the only connection that
    /// it may open.
    ///
    /// # Errors
    /// What the script or the server said.
    fn start(&self, index: u32, dialog: Box<dyn Dialog>) -> Result<Box<dyn Events>, Failure>;
}

/// The events of one thread. Dropping it ends the thread as its script says.
pub trait Events {
    /// A stretch is about to begin: random numbers start anew.
    fn begin(&mut self, seed: u64);

    /// Attempts an event once and adds what its statements did to `counted`, failed or not.
    ///
    /// # Errors
    /// The event failed; or is to be attempted again, which the failure's kind says.
    fn attempt(&mut self, counted: &mut Counted) -> Result<(), Failure>;
}

/// What statements did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counted {
    /// Statements that returned a result set.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All others.
    pub others: u64,
    /// Rows returned.
    pub rows_read: u64,
    /// Rows changed.
    pub rows_changed: u64,
}

impl Counted {
    /// What was counted since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            others: self.others - earlier.others,
            rows_read: self.rows_read - earlier.rows_read,
            rows_changed: self.rows_changed - earlier.rows_changed,
        }
    }
}

/// Executes none: for whoever has no scripts.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoScripts;

impl Scripts for NoScripts {
    fn load(&self, _: &Target, lua: &Lua, _: &LoadJob) -> Result<LoadReport, Failure> {
        Err(refused(lua))
    }

    fn open(&self, _: &Target, lua: &Lua, _: u32) -> Result<Arc<dyn Threads>, Failure> {
        Err(refused(lua))
    }
}

fn refused(lua: &Lua) -> Failure {
    Failure::own(format!("nobody here executes the script `{}`", lua.path))
}
