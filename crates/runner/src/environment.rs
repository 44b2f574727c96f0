//! The host as the records describe it.

use model::environment::Environment;
use std::path::Path;

/// Everything about this host that affects results on the file system of `data`.
pub(crate) fn of(data: &Path) -> Environment {
    let mut environment = probe::environment(data);
    environment.dbdyno = env!("CARGO_PKG_VERSION").to_owned();
    environment
}
