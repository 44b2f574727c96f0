//! What coded transactions and their loads draw beside plain numbers.

pub(crate) mod latent;
pub(crate) mod read;
pub(crate) mod tpcc;
