//! Server builds that the tests need.

use super::execute_program;
use crate::say;
use std::path::Path;

/// Every server that some test starts, as the tests name it: fixed versions where they do not move.
/// The oldest and the newest of each series, because all of them start with all configurations.
#[rustfmt::skip]
const SERVERS: &[&str] = &[
    "postgres@9.6.10", "postgres@9.6", "postgres@10.4", "postgres@10", "postgres@11.1",
    "postgres@11", "postgres@12.0", "postgres@12", "postgres@13.1", "postgres@13",
    "postgres@14.0", "postgres@14", "postgres@15.1", "postgres@15", "postgres@16.0",
    "postgres@16", "postgres@17.0", "postgres@17", "postgres@18.0", "postgres@18",
    "mysql@5.5", "mysql@5.6.24", "mysql@9",
    "mariadb@10.1.8", "mariadb@10.1", "mariadb@10.2", "mariadb@10.5", "mariadb@10.11.5",
    "mariadb@10.11.19", "mariadb@11.4", "mariadb@11.8",
];

/// Installs the builds that are not in the cache yet.
pub(super) fn provide(dbdyno: &Path) -> anyhow::Result<()> {
    say(&format!("installing servers, where they are not in the cache: {}", SERVERS.join(" ")));
    execute_program(dbdyno.as_os_str(), &[&["install"], SERVERS].concat())
}
