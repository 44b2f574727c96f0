//! Files of the Insert Benchmark: what is read from them, and what is written again.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::print_stdout, reason = "a skipped test says why, and figures are shown")]

mod archive_2021;
mod formats;
mod hostile;
mod own;
