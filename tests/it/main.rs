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
mod attach;
mod bisect;
mod browser;
mod budgets;
mod builds;
mod callgrind;
mod changed_bytes;
mod cluster;
mod concurrent;
mod devtools;
mod diagnosed;
mod emulated;
mod errors;
mod explain;
mod factors;
mod failures;
mod faults;
mod feasible;
mod help;
mod history;
mod injected;
mod insert_benchmark;
mod lab;
mod looks;
mod lua;
mod lua_workloads;
mod marks;
mod moments;
#[path = "../../crates/plan/tests/it/mutant.rs"]
mod mutant;
mod mutation;
mod noise;
mod outputs;
mod pixels;
mod pooled;
mod power;
mod quickstart;
mod report;
mod reports;
mod running;
mod same_data;
mod secrets;
mod servers;
mod sources;
mod stopped;
mod storage;
mod streams;
mod survival;
mod sysbench;
mod terminal;
mod tpcc;
mod two_runs;
mod vectors;
mod verify;
