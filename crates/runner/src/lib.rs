//! Executes a [`model::plan::Plan`] on this host and leaves records behind.
//!
//! The runner knows servers (`dbms`), counters (`probe`), the driver's talk (`model::drive`) and
//! records (`store`). It must not know TOML, statistics, tables or the terminal: it takes a plan as
//! a value and tells an [`Observer`].
//!
//! Read [`execute`] first, then `interleaved` and `classic` (the two designs), then `trial` (one
//! subject in one block) and `slice` (one stretch of work). [`verify`] looks at what workloads do
//! instead of how fast.

#![forbid(unsafe_code)]

mod by_role;
mod calibrate;
mod calm;
mod capacity;
mod classic;
mod copy;
mod discard;
mod driver;
mod error;
mod foreground;
mod header;
mod indexes;
mod interleaved;
mod ledger;
mod maintenance;
mod null_client;
mod observer;
mod others;
mod preflight;
mod recovery;
mod roles;
mod rows;
mod run;
mod slice;
mod stepping;
mod stop;
mod template;
#[cfg(test)]
mod testing;
mod thaw;
mod trial;
mod verify;

pub use driver::Driver;
pub use error::Error;
pub use observer::{Observer, Progress};
pub use preflight::{check_plan, host_refusals};
pub use run::{COMMAND, DataFolders, Options, Outcome, Resume, Steps, TIME, execute};
pub use stop::Stop;
pub use verify::{Discrepancy, Facts, Verified, VerifiedPhase, verify};
