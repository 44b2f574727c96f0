//! Integration tests: the binary as its users see it, one module per concern.
//!
//! Servers are real. A test that needs one installs it, into the same cache that users have.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and says what it skips"
)]

mod archives;
mod browser;
mod builds;
mod changed_bytes;
mod concurrent;
mod devtools;
mod errors;
mod failures;
mod faults;
mod help;
mod insert_benchmark;
mod lab;
mod marks;
#[path = "../../crates/plan/tests/it/mutant.rs"]
mod mutant;
mod mutation;
mod pixels;
mod quickstart;
mod report;
mod reports;
mod running;
mod same_data;
mod servers;
mod streams;
mod survival;
mod sysbench;
mod terminal;
mod verify;
