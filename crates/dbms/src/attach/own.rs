//! The database that is made on an attached server and dropped again, and what it takes.

use crate::{Result, error::NoWayIn, version::numbers};
use std::path::{Path, PathBuf};

/// Rows of an answer.
type Rows = [Vec<Option<String>>];

/// What MySQL and MariaDB have to permit in the database.
const NEEDED: &[&str] =
    &["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "INDEX", "ALTER"];

/// How a database of ours is made and dropped over one protocol.
pub struct Own {
    protocol: &'static str,
    /// Port where none is named.
    pub(super) port: u16,
    /// Who enters where nobody is named.
    pub(super) user: &'static str,
    /// A database that is there; empty where a connection needs none.
    pub(super) control: &'static str,
    /// Names that the server's program may have.
    pub programs: &'static [&'static str],
    /// A statement by which a session may be idle as long as a load or a phase takes: servers may
    /// be set up to close those that are idle for a minute.
    pub(super) stays: &'static str,
    /// A statement that gives a row where the server is to take no writes, as a replica: users with
    /// all privileges could write nevertheless, and its primary would not have that.
    pub read_only: &'static str,
    /// A statement that gives the privileges of whoever asks.
    pub rights: &'static str,
    lacks: fn(&Rows, &str) -> Option<String>,
    exists: &'static str,
    create: &'static str,
    drop: fn(&[u32]) -> &'static [&'static str],
}

const OWN: &[Own] = &[
    Own {
        protocol: "mysql",
        port: 3306,
        user: "root",
        control: "",
        programs: &["mysqld", "mariadbd", "mysqld-debug"],
        // The longest that they know, a year.
        stays: "SET SESSION wait_timeout = 31536000",
        read_only: "SHOW GLOBAL VARIABLES WHERE Variable_name = 'read_only' AND Value <> 'OFF'",
        rights: "SHOW GRANTS",
        lacks: lacks_grants,
        exists: "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{}'",
        create: "CREATE DATABASE `{}`",
        // Whoever still holds a table is ours, and about to leave.
        drop: |_| &["SET SESSION lock_wait_timeout = 60", "DROP DATABASE `{}`"],
    },
    Own {
        protocol: "postgres",
        port: 5432,
        user: "postgres",
        control: "postgres",
        programs: &["postgres", "postmaster"],
        // There is no such limit before 14.
        stays: "SELECT set_config(name, '0', false) FROM pg_settings \
                WHERE name = 'idle_session_timeout' AND setting <> '0'",
        read_only: "SELECT 1 WHERE pg_is_in_recovery()",
        rights: "SELECT quote_ident(rolname), rolcreatedb OR rolsuper FROM pg_roles \
                 WHERE rolname = current_user",
        lacks: lacks_createdb,
        exists: "SELECT 1 FROM pg_database WHERE datname = '{}'",
        create: "CREATE DATABASE {}",
        drop: |version| match version.first() {
            Some(13..) => &["DROP DATABASE {} WITH (FORCE)"],
            _ => &["DROP DATABASE {}"],
        },
    },
];

impl Own {
    /// That of a protocol.
    ///
    /// # Errors
    /// Its servers cannot be attached to.
    pub fn of(protocol: &str) -> Result<&'static Self> {
        let refused = || NoWayIn {
            server: protocol.to_owned(),
            reason: "`attach` is for servers of `mysql`, `mariadb` and `postgres`".to_owned(),
        };
        Ok(OWN.iter().find(|own| own.protocol == protocol).ok_or_else(refused)?)
    }

    /// What the answer to [`Own::rights`] lacks for a database, with the statement that gives it.
    pub fn lacks(&self, answer: &Rows, database: &str) -> Option<String> {
        (self.lacks)(answer, database)
    }

    /// A statement that gives a row if there is such a database.
    pub fn exists(&self, database: &str) -> String {
        self.exists.replace("{}", database)
    }

    /// A statement that makes a database, and fails where there is one of that name.
    pub fn create(&self, database: &str) -> String {
        self.create.replace("{}", database)
    }

    /// Statements that drop a database of a server of this version.
    pub fn drop(&self, database: &str, version: &str) -> Vec<String> {
        let statements = (self.drop)(&numbers(version));
        statements.iter().map(|sql| sql.replace("{}", database)).collect()
    }

    /// The socket's file: that of Postgres may be named by its folder.
    pub(super) fn socket_in(&self, path: &Path, port: u16) -> PathBuf {
        match self.protocol == "postgres" && path.is_dir() {
            true => path.join(format!(".s.PGSQL.{port}")),
            false => path.to_owned(),
        }
    }
}

fn lacks_createdb(answer: &Rows, database: &str) -> Option<String> {
    let row = answer.first()?;
    let [Some(role), Some(may)] = row.as_slice() else { return None };
    (may != "t").then(|| {
        format!(
            "the user `{role}` may not make the database `{database}`, for which it lacks \
             `CREATEDB`: `ALTER ROLE {role} CREATEDB`"
        )
    })
}

fn lacks_grants(answer: &Rows, database: &str) -> Option<String> {
    let lines: Vec<&str> = answer.iter().filter_map(|row| row.first()?.as_deref()).collect();
    let grants: Vec<Grant<'_>> = lines.iter().filter_map(|line| Grant::of(line)).collect();
    let has = |right: &&&str| {
        let fitting = grants.iter().filter(|grant| grant.covers(database));
        fitting.into_iter().any(|grant| grant.gives(right))
    };
    let missing: Vec<&str> = NEEDED.iter().filter(|right| !has(right)).copied().collect();
    let account = grants.first().map_or("CURRENT_USER()", |grant| grant.account);
    (!missing.is_empty()).then(|| {
        let (list, scope) = (missing.join(", "), database.replace('_', "\\_"));
        format!(
            "the user {account} lacks {list} on the database `{database}`: `GRANT {list} ON \
             \\`{scope}\\`.* TO {account}`"
        )
        .replace("\\`", "`")
    })
}

/// A line of `SHOW GRANTS` that grants privileges.
struct Grant<'a> {
    rights: Vec<&'a str>,
    /// A pattern, or `*` for all databases.
    database: String,
    account: &'a str,
}

impl<'a> Grant<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (rights, rest) = line.strip_prefix("GRANT ")?.split_once(" ON ")?;
        let (scope, rest) = rest.split_once(" TO ")?;
        let scope = scope.strip_suffix(".*")?;
        let account = rest.split(" IDENTIFIED ").next()?.split(" WITH ").next()?;
        let account = account.split(" REQUIRE ").next()?.trim();
        // With ANSI_QUOTES names are in the other quotes.
        let database = scope.trim_matches(['`', '"']).to_owned();
        Some(Self { rights: rights.split(',').map(str::trim).collect(), database, account })
    }

    fn covers(&self, database: &str) -> bool {
        self.database == "*" || is_like(self.database.as_bytes(), database.as_bytes())
    }

    fn gives(&self, right: &str) -> bool {
        let all = ["ALL PRIVILEGES", "ALL"];
        self.rights.iter().any(|given| all.contains(given) || *given == right)
    }
}

/// Whether a name fits a pattern of MySQL: `%` for any bytes, `_` for one, `\` before what is meant
/// as it is. Only the last `%` is tried with more: what lies before it has been found as early as
/// it can be.
fn is_like(mut pattern: &[u8], mut name: &[u8]) -> bool {
    let mut last_any: Option<(&[u8], &[u8])> = None;
    loop {
        // What the next byte has to be, if it may not be any.
        let next = match pattern {
            [] if name.is_empty() => return true,
            [] => None,
            [b'%', rest @ ..] => {
                last_any = Some((rest, name));
                pattern = rest;
                continue;
            }
            [b'\\', plain, rest @ ..] => Some((Some(*plain), rest)),
            [b'_', rest @ ..] => Some((None, rest)),
            [plain, rest @ ..] => Some((Some(*plain), rest)),
        };
        match (next, name) {
            (Some((wanted, rest)), [first, others @ ..])
                if wanted.is_none_or(|byte| byte == *first) =>
            {
                (pattern, name) = (rest, others);
            }
            _ => {
                let Some((rest, [_, others @ ..])) = last_any else { return false };
                last_any = Some((rest, others));
                (pattern, name) = (rest, others);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&[&str]]) -> Vec<Vec<Option<String>>> {
        let row = |row: &&[&str]| row.iter().map(|value| Some((*value).to_owned())).collect();
        lines.iter().map(row).collect()
    }

    #[test]
    fn what_grants_lack_is_named_with_the_statement_that_gives_it() {
        let own = Own::of("mysql").unwrap();
        let check = |lines: &[&str], expected: Option<&str>| {
            let lines: Vec<Vec<&str>> = lines.iter().map(|line| vec![*line]).collect();
            let lines: Vec<&[&str]> = lines.iter().map(Vec::as_slice).collect();
            assert_eq!(own.lacks(&rows(&lines), "dbdyno_bench").as_deref(), expected, "{lines:?}");
        };
        check(&["GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"], None);
        check(&["GRANT USAGE ON *.* TO `b`@`%`", r"GRANT ALL ON `dbdyno\_%`.* TO `b`@`%`"], None);
        let some = "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX, ALTER ON \
                    `dbdyno\\_bench`.* TO `b`@`%`";
        let lacks = "the user `b`@`%` lacks DROP on the database `dbdyno_bench`: \
                     `GRANT DROP ON `dbdyno\\_bench`.* TO `b`@`%``";
        check(&[some], Some(lacks));
        check(&[some, "GRANT DROP ON *.* TO `b`@`%`"], None);
        check(&[some, "GRANT DROP ON `dbdyno_bench`.`t` TO `b`@`%`"], Some(lacks));
        check(&[some, r"GRANT DROP ON `dbdyno\_ben`.* TO `b`@`%`"], Some(lacks));
        check(&[some, r#"GRANT DROP ON "dbdyno\_bench".* TO "b"@"%""#], None);
        let old = "GRANT USAGE ON *.* TO 'b'@'%' IDENTIFIED BY PASSWORD '*AB'";
        let said = own.lacks(&rows(&[&[old]]), "dbdyno_x").unwrap();
        assert!(said.ends_with("TO 'b'@'%'`") && !said.contains("*AB"), "{said}");
    }

    #[test]
    fn a_role_without_createdb_is_named() {
        let own = Own::of("postgres").unwrap();
        assert_eq!(own.lacks(&rows(&[&["bench", "t"]]), "dbdyno_bench"), None);
        assert_eq!(
            own.lacks(&rows(&[&["bench", "f"]]), "dbdyno_bench").unwrap(),
            "the user `bench` may not make the database `dbdyno_bench`, for which it lacks \
             `CREATEDB`: `ALTER ROLE bench CREATEDB`"
        );
        assert_eq!(own.drop("dbdyno_x", "18.6"), ["DROP DATABASE dbdyno_x WITH (FORCE)"]);
        assert_eq!(own.drop("dbdyno_x", "11.22"), ["DROP DATABASE dbdyno_x"]);
        assert!(Own::of("sqlite").is_err());
    }

    #[test]
    fn patterns_are_those_of_mysql() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(is_like(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        };
        check("db%", "dbdyno_x", true);
        check(r"dbdyno\_x", "dbdyno_x", true);
        check(r"dbdyno\_x", "dbdynoax", false);
        check("dbdyno_x", "dbdynoax", true);
        check("%x", "dbdyno_xx", true);
        check("", "d", false);
        check("d", "", false);
        check("%o%_x", "dbdyno_x", true);
        check("%d%", "dbdyno_x", true);
        check("%y%d", "dbdyno_x", false);
        // One that a server may send to keep its client busy.
        check(&("%".repeat(40) + "b"), &"a".repeat(64), false);
        check(&"%a".repeat(40), &"a".repeat(39), false);
    }
}
