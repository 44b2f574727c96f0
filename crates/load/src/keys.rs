//! Random streams and the values drawn from them: the only source of chance in the load engine.
//!
//! Every connection owns one [`Random`], seeded from the stretch's seed and the connection's index,
//! so that the same seed gives the same operations on every server and in every thread order.

mod filler;
pub(crate) mod latent;
mod random;
mod template;
pub(crate) mod tpcc;
mod zipf;

pub(crate) use filler::Letters;
pub use filler::{Filler, Pool};
pub use random::Random;
pub use template::Template;
pub use zipf::Zipf;
