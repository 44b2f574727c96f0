//! Values of columns and arguments: random streams, dates, the generators that draw from chance
//! alone, and vectors of a file.
//!
//! A generator is one file of [`generator`]: its keys in a workload's file, its numbers, and how it
//! draws. Read [`generator::Generate`] first. Nothing here allocates or locks while it draws.

#![forbid(unsafe_code)]

pub mod civil;
pub mod digits;
pub mod generator;
pub mod random;
pub mod vector_file;

pub use random::{Random, SplitMix};
pub use vector_file::VectorFile;
