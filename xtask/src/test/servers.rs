//! Server builds that the tests need.

use super::execute_program;
use crate::say;
use std::path::Path;

/// Every server that some test starts, as the tests name it: fixed versions where they do not move.
const SERVERS: &[&str] = &[
    "postgres@18",
    "postgres@11",
    "postgres@9.6",
    "mysql@5.5",
    "mysql@5.6.24",
    "mysql@9",
    "mariadb@10.1",
    "mariadb@10.11.19",
];

/// Installs the builds that are not in the cache yet.
pub(super) fn provide(dbdyno: &Path) -> anyhow::Result<()> {
    say(&format!("installing servers, where they are not in the cache: {}", SERVERS.join(" ")));
    execute_program(dbdyno.as_os_str(), &[&["install"], SERVERS].concat())
}
