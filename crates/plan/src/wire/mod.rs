//! The TOML as it is written, and its one validating conversion to the values of `model`.
//!
//! Wire types name every key that exists; a key that they do not name is an error. Conversions
//! return a [`crate::source::Fault`], which the owner of the text turns into file and line.

pub(crate) mod areas;
mod attach;
mod coded;
pub(crate) mod compilation;
pub(crate) mod config;
mod deviation;
mod each;
pub(crate) mod experiment;
pub(crate) mod generator;
mod kept;
pub(crate) mod number;
pub(crate) mod numbers;
mod partition;
pub(crate) mod percent;
mod role;
pub(crate) mod schema;
mod shape;
pub(crate) mod sql;
mod statement;
pub(crate) mod suite;
pub(crate) mod value;
pub(crate) mod workload;
