//! How MySQL and MariaDB encrypt connections.

use super::written_path;
use crate::{Installed, certificate::Certificate, version::numbers};
use std::path::Path;

/// Settings with a certificate and its key.
pub(super) fn settings(
    server: &str,
    version: &str,
    [file, key]: [&Path; 2],
) -> Vec<(&'static str, String)> {
    // Before, MySQL refuses the name of a version that it does not have.
    let is_old = server == "mysql" && numbers(version) < vec![8, 0, 16];
    let versions = if is_old { "TLSv1.2" } else { "TLSv1.2,TLSv1.3" };
    vec![
        ("ssl", "1".to_owned()),
        ("ssl_cert", written_path(file)),
        ("ssl_key", written_path(key)),
        ("tls_version", versions.to_owned()),
    ]
}

/// The same as lines of an option file. A server that lacks one of them offers no TLS, which is
/// found out when it is up.
pub(super) fn lines(installed: &Installed, made: &Certificate) -> String {
    let settings = settings(&installed.server, &installed.version, [&made.file, &made.key]);
    settings.iter().map(|(name, value)| format!("loose_{name} = {value}\n")).collect()
}
