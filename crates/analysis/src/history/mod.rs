//! What changed from run to run: values over time, and the steps in them.

mod divisive;
mod steps;
mod trend;

pub use steps::{LASTING, Step, Steps, steps};
pub use trend::{History, Point, Quantity, Session, Trend, history, host_change};
