//! Who enters a server.

use model::{drive::Target, secret::Secret};

/// User name and password of a connection. The password never enters a message, log or record.
#[derive(Clone, Default)]
pub struct Credentials {
    /// User name, or empty for the server's default.
    pub user: String,
    /// Password; empty for sockets, which are private to the run.
    pub password: Secret,
}

impl Credentials {
    /// The credentials for `target`.
    pub fn of(target: &Target) -> Self {
        Self { user: target.user.clone(), password: target.password.clone() }
    }
}
