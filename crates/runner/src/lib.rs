//! Executes a [`model::plan::Plan`] on this host and leaves records behind.
//!
//! The runner knows servers (`dbms`), counters (`probe`), the driver's talk (`model::drive`) and
//! records (`store`). It must not know TOML, statistics, tables or the terminal: it takes a plan as
//! a value and tells an [`Observer`].
//!
//! Read [`execute`] first. Its layers are folders, each of which knows only those below it:
//!
//! - `explanation`: phases under the emulator, and which ones a run explains after its last block
//! - `blocks` executes the steps that [`model::schedule`] says
//! - `block`: what comes before and between slices: templates, calibration, maintenance
//! - `slice`: one stretch of work with its counters
//! - `trial`: one subject in one block, and its record
//! - `instruments`: what observes a subject while it works
//! - `intruders`: instruments that disturb, with servers of their own
//! - `server`: a server that is up, with its driver and its data folder
//! - `host`: what this host can hold, and what others do on it
//!
//! [`verify`] looks at what workloads do instead of how fast, [`explain`] at where their
//! instructions are spent.

#![forbid(unsafe_code)]

mod agent;
mod block;
mod blocks;
mod by_role;
mod calibration;
mod clock;
mod databases;
mod error;
mod execute;
mod explain;
mod explanation;
mod host;
mod instruments;
mod intruders;
mod judge;
mod ledger;
mod lines;
mod observer;
mod rounds;
mod run;
mod server;
mod slice;
mod stop;
#[cfg(test)]
mod testing;
mod trial;
mod verify;
mod warm_up;

pub use error::Error;
pub use execute::execute;
pub use explain::{Explained, Explaining, explain};
pub use host::preflight::{check_plan, host_refusals, scarce};
pub use judge::{Change, Ending, ExplainChanges, Judge, Look};
pub use observer::{Observer, Progress};
pub use run::{
    COMMAND, Counts, DataFolders, DisturbedRounds, FAILURE, Options, Outcome, PERMITTED_BLOCKS,
    Resume, TIME, check_counts,
};
pub use server::Driver;
pub use stop::Stop;
pub use verify::{Discrepancy, Facts, LOAD, Verification, Verified, VerifiedPhase, verify};
