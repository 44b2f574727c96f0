//! Reports, from comparisons to bytes: one module per concern.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod beside;
mod charts;
mod contrast;
mod costs;
mod details;
mod golden;
mod history;
mod html;
mod insert_benchmark;
mod lab;
mod many;
mod missed;
mod recall;
mod steps;
mod sysbench;
mod why;
