//! Exact user instructions and system calls of a program on any host: the program is executed under
//! QEMU's user-mode emulator, with a plugin that counts by thread.
//!
//! This crate finds the emulator, says how a program is started under it, and reads the counters
//! while the program works. It must not know servers, operations or records. Counts are those of
//! the emulated processor, which is the same for every program; time under emulation means nothing.
//!
//! Read [`Emulator`] first, then [`Counters`] and [`Calls`]; `counter.c`, `calls.c` and
//! `chosen.c` are the plugin.

#![forbid(unsafe_code)]

mod binary;
mod calls;
mod chosen;
mod counters;
mod error;
mod find;
mod frames;
mod maps;
mod names;
mod symbols;

pub use calls::{Block, Calls, Node, Tree};
pub use chosen::Chosen;
pub use counters::{Counters, Snapshot, Thread, Within};
pub use error::{Error, Result};
pub use find::{Emulator, Prepared};
pub use frames::{Frame, frames};
pub use names::{Names, shortened};
