//! Passwords: the servers that dbdyno starts have their own, and none may lie about.

/// The variable that MySQL's own programs take a password from.
const MYSQL_PWD: &str = "MYSQL_PWD";

/// Refuses an environment with a password in it, which every driver and server would inherit and
/// other processes of the same user can read. An empty one is none.
pub(crate) fn check() -> anyhow::Result<()> {
    anyhow::ensure!(
        std::env::var_os(MYSQL_PWD).is_none_or(|password| password.is_empty()),
        "`{MYSQL_PWD}` is set, and a password in the environment can be read by other processes: \
         unset it; the servers that dbdyno starts have their own, a server of `attach` has it in \
         a variable of another name (`password_env`), and your clients read one from a file by \
         `--defaults-file`"
    );
    Ok(())
}
