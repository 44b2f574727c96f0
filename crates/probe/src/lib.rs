//! Counters of a server, of the driver and of the host, read around a window and along a series.
//!
//! An [`Observer`] observes one of the kinds of [`model::observed::Observation`], on this host or,
//! by [`serve`], for a run on another one. A [`Meter`] is opened on a [`Target`] while the server
//! is idle or frozen; two [`Snapshot`]s of it give the [`model::reading::Reading`]s of the window
//! between them. A [`Sampler`] records the cheap counters every second, [`Waits`] looks at what
//! serving tasks wait for, and [`CpuSamples`] at where a task spends its CPU time. This crate must
//! not know what a workload or a product is, must not divide a counter by operations, and must not
//! stop because a host permits less: what is missing becomes a mark.
//!
//! Read [`Target`] first, then [`source`] (the probes and their table), then [`Meter`].

mod agent;
mod attach;
mod background;
mod counter;
mod cpu_samples;
mod environment;
mod error;
#[cfg(test)]
mod fake;
mod host_time;
mod limit;
mod listener;
mod meter;
mod mount;
mod observer;
mod part;
mod permission;
mod processors;
mod sampler;
pub mod source;
mod target;
mod task;
mod tracefs;
mod unseen;
mod value;
mod waits;

pub use agent::serve;
pub use counter::{Counter, Kind};
pub use cpu_samples::{CpuSamples, Found, KernelNames, Stack};
pub use environment::{Roots, environment};
pub use error::Error;
pub use host_time::HostTime;
pub use limit::{available_memory, raise_file_limit};
pub use meter::{Meter, Snapshot, is_gauge};
pub use model::observed::TaskCpu;
pub use observer::{Observer, OwnCpu, observer};
pub use permission::{Permission, SyncCounts, files_per_task, permission, sync_counts};
pub use processors::stay_on_fast_processors;
pub use sampler::{Sampler, raise_peaks};
pub use target::Target;
pub use task::{process_tree, task_cpu, task_cpu_again, tick_ns};
pub use tracefs::{NoSyncEvents, SyncEvents};
pub use value::Values;
pub use waits::Waits;
