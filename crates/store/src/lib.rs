//! Records on disk, and the index that finds them.
//!
//! A results folder holds runs (`runs/<id>`: the plan and its state) and records (`records/<id>`:
//! one folder per trial, append-only, finished by a last marker file). `index.sqlite` beside them
//! finds the records of a run without reading those of all others; it may be deleted at any time.
//! No number is read from it, and every file that numbers are read from is checksummed
//! (`sums.rs`). Nothing here knows what a metric is, what a ratio is, or how a server is started;
//! raw readings go in and come out unchanged.
//!
//! A third-party archive is another source of records: [`Results::import`] writes a run whose
//! records hold printed values (`imported.jsonl`) instead of slices.
//!
//! Read [`Results`] first, then [`RunWriter`] and [`TrialWriter`], which are the only writers.

#![forbid(unsafe_code)]

mod bank;
mod error;
mod explanations;
mod histograms;
mod ids;
mod imports;
mod index;
mod layout;
mod marker;
mod merge;
mod reader;
mod results;
mod run_files;
mod run_writer;
mod series;
mod sums;
mod trial_writer;
mod writable;

pub use bank::Bank;
pub use error::{Error, Result};
pub use histograms::tag as latency_tag;
pub use layout::new_file;
pub use merge::Taken;
pub use results::{Results, RunInfo, Selection, Stored, StoredSlice, StoredTrial};
pub use run_writer::RunWriter;
pub use trial_writer::TrialWriter;
