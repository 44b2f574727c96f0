//! The load engine: control sessions, bulk loading, and the measured hot path of the driver
//! process.
//!
//! It must not know where a server came from, how it is configured or what a result means: it is
//! given a [`model::drive::Target`] and executes its commands. Read [`protocol`] first (how a
//! server is asked), then [`fill::fill`] (how its tables get their rows).

pub mod arrival;
pub mod clock;
mod decimal;
pub mod engine;
pub mod error;
pub mod fill;
mod keys;
mod merge;
pub mod program;
pub mod protocol;
pub mod recorder;
mod scheduling;
pub mod scripts;
pub mod serve;
#[cfg(test)]
mod testing;
mod together;
pub mod transaction;
pub mod wire;
pub mod worker;

pub use error::Error;
pub use scheduling::give_way;
pub use serve::serve;
