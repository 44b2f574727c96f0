//! The load engine: control sessions, bulk loading, and the measured hot path of the driver
//! process.
//!
//! It must not know where a server came from, how it is configured or what a result means: it is
//! given a [`model::drive::Target`] and executes its commands. Read [`session::Session`] first (how
//! a server is asked), then [`fill::fill`] (how its tables get their rows).

pub mod arrival;
pub mod channel;
pub mod client;
pub mod clock;
mod decimal;
pub mod engine;
pub mod error;
pub mod fill;
pub mod keys;
mod merge;
mod pieces;
pub mod program;
pub mod recorder;
pub mod serve;
pub mod session;
mod sqlite;
#[cfg(test)]
mod testing;
mod together;
pub mod worker;

pub use error::Error;
pub use serve::serve;
