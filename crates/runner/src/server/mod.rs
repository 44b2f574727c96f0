//! Servers that are up: each with the driver that is connected to it, its data folder and its
//! tables. Nothing here knows slices or records.

pub(crate) mod attached;
mod calm;
pub(crate) mod data;
mod driver;
mod foreground;
mod instance;
mod observing;
mod placement;
pub(crate) mod side_by_side;
pub(crate) mod tables;
pub(crate) mod thaw;

pub(crate) use calm::Patience;
pub use driver::Driver;
#[cfg(test)]
pub(crate) use driver::OpSeen;
pub(crate) use driver::{OwnServer, Seen, Wrapper, unexpected};
pub(crate) use foreground::Foreground;
pub(crate) use instance::{Instance, Waiting, initialise};
pub(crate) use observing::Observing;
