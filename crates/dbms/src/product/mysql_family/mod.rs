//! What MySQL and MariaDB have in common: configuration, data folder, debts of InnoDB and MyRocks.

use super::Dbms;
use crate::{
    Access, Debt, Explained, Installed, Maintenance, PlanRows, Question, Rendered, Result, Size,
    StateQuery, condition, explain, folder,
    installed::Program,
    package::Release,
    setup::{Setup, Step},
    state,
    value::same_value,
    version::{numbers, setting_value},
};
use fs_err as fs;
use layout::Layout;
use model::{
    drive::{Endpoint, Target},
    subject::{Config, Setting},
};
use option_file::{written, written_path};
use std::{path::Path, time::Duration};

mod layout;
mod option_file;
mod tls;

/// Database in which the tables are made.
const DATABASE: &str = "dbdyno";
const USER: &str = "root";

/// Where InnoDB keeps its tables, one file for each. What `information_schema` tells of them is an
/// estimate that a new index does not change until a table is analyzed.
const INNODB_FILES: &[&str] = &[DATABASE];
/// The same where all tables share a file.
const INNODB_SHARED_FILES: &[&str] = &[DATABASE, "ibdata1"];
/// Where MyRocks keeps everything: the name of the forks of MySQL, and that of MariaDB.
const ROCKSDB_FILES: &[&str] = &[".rocksdb", "#rocksdb"];

/// Where data lie, who can enter, and where the log is, which alone has some failures.
const OWN_SETTINGS: &[&str] = &[
    "datadir",
    "log_error",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "socket",
    "bind_address",
    "skip_networking",
    "admin_address",
    "admin_port",
    "extra_port",
    "init_file",
    "skip_grant_tables",
    "mysqlx",
    "mysqlx_port",
    "mysqlx_bind_address",
    "mysqlx_socket",
];

const INNODB_DEBTS: &[Debt] = &[
    Debt {
        name: "dirty_pages",
        sql: "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
        floor: 100.0,
    },
    // Transactions stay in the list when their rows are purged, until undo pages are freed, with
    // every 128th batch of purge. With fewer than 5,000 left and none to come it goes to sleep
    // (`srv_purge_coordinator_suspend`, 5.6 to 9): a server that is idle never pays those, and has
    // nothing else to do for them. Whether rows are still being purged is seen in its CPU time.
    Debt {
        name: "history_list_length",
        sql: "SELECT `COUNT` FROM information_schema.innodb_metrics \
              WHERE name = 'trx_rseg_history_len'",
        floor: 5000.0,
    },
];

const ROCKSDB_DEBTS: &[Debt] = &[
    Debt {
        name: "compactions_pending",
        sql: "SELECT COALESCE(SUM(value), 0) FROM information_schema.rocksdb_cfstats \
              WHERE stat_type = 'COMPACTION_PENDING'",
        floor: 0.0,
    },
    Debt {
        name: "memtables_to_flush",
        sql: "SELECT COALESCE(SUM(value), 0) FROM information_schema.rocksdb_cfstats \
              WHERE stat_type IN ('MEM_TABLE_FLUSH_PENDING', 'NUM_IMMUTABLE_MEM_TABLE')",
        floor: 0.0,
    },
    Debt {
        name: "compactions_running",
        sql: "SELECT COUNT(*) FROM information_schema.rocksdb_active_compaction_stats",
        floor: 0.0,
    },
];

/// Page cleaning at full rate until nothing is dirty; the values before are kept by the session.
const INNODB_SETTLE: &[Maintenance] = &[
    Maintenance::optional("SET @dbdyno_lwm = @@GLOBAL.innodb_max_dirty_pages_pct_lwm"),
    Maintenance::optional("SET @dbdyno_idle = @@GLOBAL.innodb_idle_flush_pct"),
    Maintenance::required("SET @dbdyno_pct = @@GLOBAL.innodb_max_dirty_pages_pct"),
    Maintenance::optional("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0"),
    Maintenance::optional("SET GLOBAL innodb_idle_flush_pct = 100"),
    Maintenance::required("SET GLOBAL innodb_max_dirty_pages_pct = 0"),
];

const INNODB_UNSETTLE: &[Maintenance] = &[
    Maintenance::required("SET GLOBAL innodb_max_dirty_pages_pct = @dbdyno_pct"),
    Maintenance::optional("SET GLOBAL innodb_max_dirty_pages_pct_lwm = @dbdyno_lwm"),
    Maintenance::optional("SET GLOBAL innodb_idle_flush_pct = @dbdyno_idle"),
];

/// How MyRocks writes what it has in memory.
pub(super) const FLUSH_MEMTABLES: Maintenance =
    Maintenance::wanted("SET GLOBAL rocksdb_force_flush_memtable_now = 1");

/// How it compacts level 0, where it can do so alone.
pub(super) const COMPACT_LEVEL_0: Maintenance =
    Maintenance::wanted("SET GLOBAL rocksdb_compact_lzero_now = 1");

const ANALYZE: Maintenance = Maintenance::required("ANALYZE TABLE {table}");

/// Scripts that make the system tables, in this order; versions lack some, or call them otherwise.
const SCRIPTS: &[&str] = &[
    "mysql_system_tables.sql",
    "mariadb_system_tables.sql",
    "mysql_performance_tables.sql",
    "mariadb_performance_tables.sql",
    "mysql_system_tables_data.sql",
    "mariadb_system_tables_data.sql",
    "maria_add_gis_sp_bootstrap.sql",
];

fn has_engine(config: &Config, name: &str) -> bool {
    config.engine.as_deref().unwrap_or("innodb").eq_ignore_ascii_case(name)
}

/// What tells the members of the family apart; see [`Dbms`] for the methods that it has too.
pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// Names of the server's program, the preferred one first.
    pub(super) programs: &'static [&'static str],
    pub(super) plan_questions: fn(&Explained<'_>) -> Vec<Question>,
    /// Statements that make MyRocks flush and compact what it has postponed.
    pub(super) settle_rocksdb: &'static [Maintenance],
    pub(super) limit_sql: fn(&str, Option<Duration>) -> Option<String>,
    pub(super) settings_under_emulation: fn(&Config) -> Vec<Setting>,
    pub(super) releases: fn() -> Vec<Release>,
    /// Unpacks what a package holds packed.
    pub(super) unpack: fn(&Path) -> Result<()>,
    pub(super) recognises: fn(&str) -> bool,
}

impl Dbms for Member {
    fn name(&self) -> &'static str {
        self.name
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn protocol(&self) -> &'static str {
        "mysql"
    }

    fn settings_sql(&self) -> &'static str {
        "SHOW VARIABLES"
    }

    fn build_sql(&self) -> &'static str {
        "SHOW GLOBAL VARIABLES LIKE 'version%'"
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        (self.plan_questions)(statement)
    }

    fn plan_access(&self, answer: &PlanRows) -> Vec<Access> {
        explain::mysql_access(answer)
    }

    // As published; MyRocks has its log among them.
    fn size(&self, config: &Config, version: &str) -> Size {
        let is_own = |setting: &&Setting| plain(&setting.name) == "innodb_file_per_table";
        let by_default = numbers(version) < vec![5, 6];
        let set = config.settings.iter().rev().find(is_own);
        let shared = set.map_or(by_default, |one| same_value("off", setting_value(one, version)));
        Size::Files(match (has_engine(config, "rocksdb"), shared) {
            (true, _) => ROCKSDB_FILES,
            (false, true) => INNODB_SHARED_FILES,
            (false, false) => INNODB_FILES,
        })
    }

    fn conditions(&self) -> &'static [condition::Condition] {
        condition::MYSQL
    }

    fn state(&self, config: &Config) -> &'static [StateQuery] {
        if has_engine(config, "rocksdb") { state::ROCKSDB } else { state::INNODB }
    }

    fn debts(&self, config: &Config) -> Vec<Debt> {
        if has_engine(config, "rocksdb") { ROCKSDB_DEBTS } else { INNODB_DEBTS }.to_vec()
    }

    fn settle_sql(&self, config: &Config, _version: &str) -> Vec<Maintenance> {
        match has_engine(config, "rocksdb") {
            true => [&[ANALYZE], self.settle_rocksdb].concat(),
            // Pages are cleaned while tables are analyzed.
            false => [INNODB_SETTLE, &[ANALYZE]].concat(),
        }
    }

    fn unsettle_sql(&self, config: &Config) -> Vec<Maintenance> {
        if has_engine(config, "rocksdb") { &[] } else { INNODB_UNSETTLE }.to_vec()
    }

    fn limit_sql(&self, version: &str, limit: Option<Duration>) -> Option<String> {
        (self.limit_sql)(version, limit)
    }

    fn settings_under_emulation(&self, config: &Config) -> Vec<Setting> {
        (self.settings_under_emulation)(config)
    }

    fn releases(&self) -> Vec<Release> {
        (self.releases)()
    }

    fn arrange(&self, folder: &Path) -> Result<()> {
        (self.unpack)(folder)?;
        layout::arrange(folder, self.programs)
    }

    fn program(&self, basedir: &Path) -> Result<Program> {
        layout::program(self.name, basedir, self.programs)
    }

    fn recognises(&self, version_text: &str) -> bool {
        (self.recognises)(version_text)
    }

    fn initialise(&self, setup: &Setup<'_>) -> Result<Vec<Step>> {
        initialise(setup)
    }

    fn render(&self, setup: &Setup<'_>) -> Result<Rendered> {
        Ok(render(setup))
    }

    fn own_settings(&self) -> &'static [&'static str] {
        OWN_SETTINGS
    }

    fn tls_settings(&self, version: &str, files: [&Path; 2]) -> Vec<(&'static str, String)> {
        tls::settings(self.name, version, files)
    }

    fn arguments(&self, setup: &Setup<'_>) -> Vec<String> {
        arguments(setup)
    }

    fn endpoint(&self, setup: &Setup<'_>) -> Endpoint {
        match setup.port {
            None => Endpoint::Socket(setup.sockets.join("s")),
            Some(port) => Endpoint::Port(port),
        }
    }

    fn target(&self, endpoint: Endpoint) -> Target {
        Target {
            user: USER.to_owned(),
            database: DATABASE.to_owned(),
            ..Target::of(self.protocol(), endpoint)
        }
    }

    fn ignored(&self, setup: &Setup<'_>, log: &str) -> Vec<String> {
        ignored(&setup.launch.config.settings, log)
    }

    fn unknown_setting(&self, log: &str) -> Option<String> {
        unknown_setting(log)
    }

    // MySQL, MariaDB, and later versions of that.
    fn lacks_async_io(&self, log: &str) -> bool {
        let lines =
            ["io_setup() failed with EAGAIN", "Linux Native AIO disabled", "native AIO failed"];
        lines.iter().any(|line| log.contains(line))
    }
}

/// The settings that no server starts without, then those of the configuration.
fn render(setup: &Setup<'_>) -> Rendered {
    let launch = &setup.launch;
    let layout = Layout::of(&launch.installed.basedir);
    let mut text = "[mysqld]\n".to_owned();
    let mut set = |name: &str, value: &dyn std::fmt::Display| {
        text.push_str(&format!("{name} = {value}\n"));
    };
    set("basedir", &written_path(&layout.base));
    set("datadir", &written_path(launch.data));
    set("tmpdir", &written_path(&setup.temporary));
    set("socket", &written_path(&setup.sockets.join("s")));
    set("pid_file", &written_path(&setup.sockets.join("pid")));
    if let Some(share) = &layout.share {
        set("lc_messages_dir", &written_path(share));
        if share.join("charsets").is_dir() {
            set("character_sets_dir", &written_path(&share.join("charsets")));
        }
    }
    if let Some(plugins) = &layout.plugins {
        set("plugin_dir", &written_path(plugins));
    }
    set("local_infile", &1);
    if initialises_itself(setup) {
        set("secure_file_priv", &"NULL");
        set("loose_mysqlx", &0);
        // Else sizes of tables are those of a day ago.
        set("loose_information_schema_stats_expiry", &0);
    }
    for setting in &launch.config.settings {
        let loose = if setting.optional { "loose_" } else { "" };
        let value = setting_value(setting, &launch.installed.version);
        set(&format!("{loose}{}", setting.name), &written(switched(&setting.name, value)));
    }
    // Last, so that nothing before can change them.
    match setup.port {
        None => set("skip_networking", &1),
        Some(port) => {
            set("bind_address", &"127.0.0.1");
            set("port", &port);
        }
    }
    if let Some(made) = &setup.certificate {
        text.push_str(&tls::lines(launch.installed, made));
    }
    Rendered { text, ignored: Vec::new() }
}

/// Settings that the log calls unknown, where they are optional, or removed: MariaDB takes those,
/// and does nothing with them.
fn ignored(settings: &[Setting], log: &str) -> Vec<String> {
    let unknown: Vec<String> = unknown(log)
        .filter_map(|name| Some(plain(name).strip_prefix("loose_")?.to_owned()))
        .collect();
    let removed: Vec<String> = log
        .lines()
        .filter_map(|line| line.split_once("' was removed. ")?.0.rsplit('\'').next())
        .map(plain)
        .collect();
    let is_ignored = |setting: &&Setting| {
        let name = plain(&setting.name);
        removed.contains(&name) || setting.optional && unknown.contains(&name)
    };
    settings.iter().filter(is_ignored).map(|setting| setting.name.clone()).collect()
}

/// The setting that the log calls unknown, and that was not optional.
fn unknown_setting(log: &str) -> Option<String> {
    unknown(log).map(plain).find(|name| !name.starts_with("loose_"))
}

fn plain(name: &str) -> String {
    name.to_lowercase().replace('-', "_")
}

/// A value of a setting whose name begins with what these servers take off it: `0` alone turns that
/// around, and `skip_log_bin = off` would be no binary log.
fn switched<'a>(name: &str, value: &'a str) -> &'a str {
    let name = plain(name);
    let name = name.trim_start_matches("loose_");
    let turns = ["skip_", "disable_", "enable_"].iter().any(|word| name.starts_with(word));
    if turns && same_value(value, "off") { "0" } else { value }
}

/// Names that the log calls unknown, as they were written.
fn unknown(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter_map(|line| {
        let (_, rest) =
            line.split_once("unknown variable '").or(line.split_once("unknown option '"))?;
        rest.trim_start_matches('-').split(['=', '\'']).next()
    })
}

fn arguments(setup: &Setup<'_>) -> Vec<String> {
    vec![format!("--defaults-file={}", setup.config_file.display())]
}

/// MySQL from 5.7 on makes its own data folder; before, and always MariaDB, scripts of the build
/// do, or a ready folder is copied.
fn initialises_itself(setup: &Setup<'_>) -> bool {
    let installed = setup.launch.installed;
    installed.server == "mysql" && numbers(&installed.version) >= vec![5, 7]
}

fn initialise(setup: &Setup<'_>) -> Result<Vec<Step>> {
    let launch = &setup.launch;
    let layout = Layout::of(&launch.installed.basedir);
    let mut words = launch.installed.program().command();
    words.extend(arguments(setup));
    let file = setup.inputs.join("initialise.sql");
    if initialises_itself(setup) {
        words.push("--initialize-insecure".to_owned());
        words.push(format!("--init-file={}", file.display()));
        setup.write(&file, &first_statements(setup.password.reveal()))?;
        return Ok(vec![Step { words, input: None, files: vec![file] }]);
    }
    if let Some(template) = &layout.template {
        fs::remove_dir(launch.data)?;
        folder::copy_tree(template, launch.data)?;
        folder::make(launch.data, 0o700, None)?;
        // A folder is a database to these versions.
        folder::make(&launch.data.join(DATABASE), 0o700, None)?;
        if setup.password.is_empty() {
            return Ok(Vec::new());
        }
    }
    words.push("--bootstrap".to_owned());
    let mut text = match layout.template {
        Some(_) => String::new(),
        None => bootstrap(layout.share.as_deref())?,
    };
    if !setup.password.is_empty() {
        text.push_str(&password_for_all(launch.installed, setup.password.reveal()));
    }
    setup.write(&file, &text)?;
    Ok(vec![Step { words, input: Some(file.clone()), files: vec![file] }])
}

/// Every account of a new data folder gets the password, without grants being checked.
fn password_for_all(installed: &Installed, password: &str) -> String {
    let accounts_are_json =
        installed.server == "mariadb" && numbers(&installed.version) >= vec![10, 4];
    if accounts_are_json {
        return format!(
            "UPDATE mysql.global_priv SET Priv = JSON_SET(Priv, '$.plugin', \
             'mysql_native_password', '$.authentication_string', PASSWORD('{password}'));\n"
        );
    }
    format!("UPDATE mysql.user SET Password = PASSWORD('{password}');\n")
}

// One statement per line: these servers read lines. Over TCP, root comes from 127.0.0.1.
fn first_statements(password: &str) -> String {
    let by = match password {
        "" => String::new(),
        password => format!(" IDENTIFIED BY '{password}'"),
    };
    let local =
        if by.is_empty() { by.clone() } else { format!("ALTER USER root@localhost{by};\n") };
    format!(
        "CREATE DATABASE {DATABASE};\n{local}\
         CREATE USER IF NOT EXISTS root@'127.0.0.1'{by};\n\
         GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n"
    )
}

fn bootstrap(share: Option<&Path>) -> Result<String> {
    let mut text = "CREATE DATABASE IF NOT EXISTS mysql;\n\
                    USE mysql;\n\
                    SET @skip_auth_anonymous = 1;\n\
                    SET @auth_root_socket = NULL;\n"
        .to_owned();
    for name in SCRIPTS {
        let script = share.map(|share| share.join(name)).filter(|path| path.exists());
        if let Some(script) = script {
            text.push_str(&fs::read_to_string(script)?);
            text.push('\n');
        }
    }
    text.push_str(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE};\n"));
    Ok(text)
}

#[cfg(test)]
mod tests;
