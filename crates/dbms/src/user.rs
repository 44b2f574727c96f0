//! The system user that runs the servers when root starts dbdyno.

use crate::{Error, Result, task};
use fs_err as fs;
use std::process::{Command, Stdio};

/// The system user of the servers where none is named. It is created when root needs it first.
pub const SERVER_USER: &str = "dbdyno";
const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// The user that server processes run as when dbdyno is root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ServerUser {
    /// User id.
    pub uid: u32,
    /// Primary group id.
    pub gid: u32,
}

impl ServerUser {
    /// The user of this name, who is created if the name is [`SERVER_USER`]. Fails for root.
    pub(crate) fn of_this_host(name: &str) -> Result<Self> {
        let user = match Self::named(name)? {
            Some(user) => user,
            None if name == SERVER_USER => create(name)?,
            None => return Err(Error::UnknownUser { name: name.to_owned() }),
        };
        if user.uid == 0 || user.gid == 0 {
            return Err(Error::RootServers { name: name.to_owned() });
        }
        Ok(user)
    }

    /// Its name, or its number where it has none.
    pub(crate) fn name(self) -> String {
        let users = task::text(USERS);
        let number = self.uid.to_string();
        let is_own = |line: &&str| line.split(':').nth(2) == Some(&number);
        let name = users.lines().find(is_own).and_then(|line| line.split(':').next());
        name.map_or(number.clone(), str::to_owned)
    }

    fn named(name: &str) -> Result<Option<Self>> {
        Ok(Self::in_table(&fs::read(USERS)?, name))
    }

    /// The user of this name in the bytes of a table of users. Full names in it may be no UTF-8.
    fn in_table(users: &[u8], name: &str) -> Option<Self> {
        let users = String::from_utf8_lossy(users);
        let id = |text: Option<&&str>| text.and_then(|text| text.parse().ok());
        let mut lines = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let line = lines.find(|fields| fields.first() == Some(&name));
        line.and_then(|fields| Some(Self { uid: id(fields.get(2))?, gid: id(fields.get(3))? }))
    }
}

/// Creates a system user with a group of its own, no home and no shell. A user that was removed may
/// have left its group.
fn create(name: &str) -> Result<ServerUser> {
    let groups = task::text(GROUPS);
    let has_group = groups.lines().any(|line| line.split(':').next() == Some(name));
    let group: &[&str] = if has_group { &["--gid", name] } else { &["--user-group"] };
    let mut command = Command::new("useradd");
    command
        .args(["--system", "--no-create-home", "--home-dir", "/nonexistent"])
        .args(group)
        .args(["--shell", "/usr/sbin/nologin", name])
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let reason = match command.output() {
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("`useradd`: {error}"),
    };
    // Another process may have been first: what counts is that the user is there.
    ServerUser::named(name)?.ok_or_else(|| Error::NoServerUser { name: name.to_owned(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_beside_full_names_in_latin_1() {
        let users =
            b"root:x:0:0::/:/bin/sh\nm:x:7:8:M\xfcller:/:/bin/sh\ndbdyno:x:9:10::/:/bin/sh\n";
        let user = ServerUser { uid: 9, gid: 10 };
        assert_eq!(ServerUser::in_table(users, "dbdyno"), Some(user));
        assert_eq!(ServerUser::in_table(users, "nobody"), None);
    }

    #[test]
    fn an_unknown_server_user_is_named_and_root_is_refused() {
        let check = |name, expected: &str| {
            let message = ServerUser::of_this_host(name).unwrap_err().to_string();
            assert_eq!(message, expected);
        };
        check(
            "no-such-user",
            "this machine has no user `no-such-user`; name another by `--server-user`",
        );
        check("root", "servers refuse to run as `root`; name another user by `--server-user`");
    }
}
