//! Third-party result archives in, published formats out.
//!
//! An importer turns one file of others into printed values with their place; [`import`] walks
//! folders, offers each file to the importers, and joins what they found to archives. An exporter
//! turns values, imported ones or dbdyno's own, into files that other tools read. Nothing here
//! knows records, statistics or the terminal. Input files are never trusted: an irregular place
//! becomes a warning with file and line, and never a shifted or an invented row.
//!
//! Read [`import::Importer`] and [`export::Exporter`] first, then [`Found`].

#![forbid(unsafe_code)]

mod assemble;
mod blocks;
mod cell;
mod center;
mod command_line;
mod conditions;
mod conflict;
mod content;
mod contradiction;
pub mod correct;
mod derive;
mod error;
pub mod export;
mod file;
mod folders;
mod found;
pub mod import;
pub mod insert;
mod intake;
mod memory;
mod names;
mod naming;
mod number;
mod phase;
mod repetition;
mod resolve;
pub mod samples;
mod statements;
mod step;
mod study;
mod tag;
mod unnamed;
mod variants;
mod walk;

pub use assemble::Archive;
pub use conditions::option_differences;
pub use error::{Error, Result};
pub use file::{File, FileHead, Line, Scene};
pub use found::{Cell, Column, Fault, Found, Value, bias};
pub use memory::import_bytes;
pub use statements::statement_difference;
pub use study::{ExportOptions, Exported, Input, Study};
pub use variants::{groups, of as written, short as short_label, with_variants};
pub use walk::{Imported, Options, Warning, import};
