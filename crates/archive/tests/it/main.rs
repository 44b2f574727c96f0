//! Third-party archives, from files to exports: one module per concern.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says what it skips"
)]

mod clients;
mod formats;
mod hostile;
mod insert;
mod lab;
mod options;
mod pgbench;
mod published;
mod repeated;
mod reproduced;
mod tags;
