//! Who enters a server. The one place where passwords will come from a file of the user's.

use model::drive::Target;

/// User name and password of a connection. The password never enters a message, log or record.
#[derive(Clone, Default)]
pub struct Credentials {
    /// User name, or empty for the server's default.
    pub user: String,
    /// Password; empty is the normal case, as servers under test are private to the run.
    pub password: String,
}

impl Credentials {
    /// The credentials for `target`: its user with an empty password.
    pub fn of(target: &Target) -> Self {
        Self { user: target.user.clone(), password: String::new() }
    }
}
