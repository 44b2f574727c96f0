//! Users' own sysbench scripts: a host in which scripts written in Lua for sysbench run as they
//! are, over the wire clients of [`load`].
//!
//! It must not know how servers are started or what a result means: it is given a command line of
//! sysbench, and hands reports to a function as text. Read [`run()`] first (the life of a script),
//! then `prelude.lua` (the objects that scripts see), then `host` (what stands behind them).

#![forbid(unsafe_code)]

mod bins;
mod bulk;
mod command_line;
mod counters;
mod error;
mod failed;
mod general;
mod host;
mod literal;
mod random;
mod report;
mod run;
mod script_options;
mod settings;
mod shared;
mod sources;
mod state;
#[cfg(test)]
mod testing;
mod worker;
mod workload;

pub use command_line::CommandLine;
pub use error::Error;
pub use run::{Ending, run};
pub use workload::{LuaScripts, inspect};
