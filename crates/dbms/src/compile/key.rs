//! The name of a compiled build: the hash of everything that it depends on.

use super::{Compilers, Order};
use crate::{CompileError, Error, Result, source::Identity};
use sha2::{Digest, Sha256};

/// Changes whenever equal inputs no longer mean an equal build.
const FORMAT: u32 = 1;
/// Bytes of the hash in the name.
const BYTES: usize = 6;

/// The name for a tree, the ways of its recipe, the options and the compilers.
pub(super) fn of(order: &Order, identity: &Identity, compilers: &Compilers) -> Result<String> {
    let inputs = (
        FORMAT,
        &order.server,
        &identity.hash,
        &order.recipe.ways,
        (&order.set.options, &order.set.configure),
        (&compilers.cc, &compilers.identity),
    );
    let text = serde_json::to_vec(&inputs).map_err(|error| {
        Error::Compile(CompileError::Recipe {
            server: order.server.clone(),
            reason: error.to_string(),
        })
    })?;
    let hash = Sha256::digest(&text);
    Ok(hash.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect())
}
