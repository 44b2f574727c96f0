//! The published summary tables of the Insert Benchmark: verdicts, colors and derived files.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why, and figures are shown")]

mod archive_2021;
mod columns;
mod judged;
mod published_2024;
