//! Conditions that servers should have alike where they are compared, unless what they cost is the
//! question: their differences have been published as those of versions.

use crate::{
    value::{is_same_cache, same_value},
    version::setting_value,
};
use model::{Levels, subject::Subject};

/// Settings that together are one condition.
#[derive(Debug)]
pub struct Condition {
    /// What an experiment accepts it by: one of [`model::experiment::CONDITIONS`].
    pub name: &'static str,
    /// Names of settings; those of a group are one setting in different versions.
    settings: &'static [&'static [&'static str]],
    /// A setting and the value that it must have for this condition to matter.
    matters_with: Option<(&'static str, &'static str)>,
    /// What a difference changes.
    pub effect: &'static str,
    /// What to write into both configurations.
    pub remedy: &'static str,
}

/// Those of MySQL and MariaDB.
pub(crate) const MYSQL: &[Condition] = &[
    Condition {
        name: "character set",
        settings: &[
            &["character_set_client", "names"],
            &["character_set_connection"],
            &["character_set_results"],
            &["character_set_server"],
            &["collation_server"],
        ],
        matters_with: None,
        effect: "texts are converted, compared and sorted at another cost",
        remedy: "`session = [\"SET NAMES latin1\"]` and `settings = { character_set_server = \
                 \"latin1\", collation_server = \"latin1_swedish_ci\" }`",
    },
    Condition {
        name: "binary log",
        settings: &[&["log_bin"]],
        matters_with: None,
        effect: "each commit is written twice",
        remedy: "`settings = { skip_log_bin = 1 }`",
    },
    Condition {
        name: "binary log",
        settings: &[&["sync_binlog"], &["binlog_format"], &["binlog_row_image"]],
        matters_with: Some(("log_bin", "ON")),
        effect: "commits wait for the disk more or less often, or log more or less",
        remedy: "`settings = { sync_binlog = 0, binlog_format = \"ROW\" }`",
    },
    Condition {
        name: "doublewrite",
        settings: &[&["innodb_doublewrite"]],
        matters_with: None,
        effect: "pages are written once or twice",
        remedy: "`settings = { innodb_doublewrite = 1 }`",
    },
    Condition {
        name: "flushing",
        settings: &[&["innodb_flush_log_at_trx_commit"], &["innodb_flush_method"]],
        matters_with: None,
        effect: "commits and page writes wait for the disk or for the operating system",
        remedy: "`settings = { innodb_flush_log_at_trx_commit = 2, innodb_flush_method = \
                 \"O_DIRECT\" }`",
    },
    Condition {
        name: "memory",
        settings: &[&["innodb_buffer_pool_size"], &["rocksdb_block_cache_size"]],
        matters_with: None,
        effect: "more or less of the data is read from the disk",
        remedy: "`settings = { innodb_buffer_pool_size = \"1G\" }`",
    },
    Condition {
        name: "transactions",
        settings: &[&["autocommit"], &["transaction_isolation", "tx_isolation"]],
        matters_with: None,
        effect: "statements lock and log differently",
        remedy: "`settings = { autocommit = 1, transaction_isolation = \"REPEATABLE-READ\" }`",
    },
    Condition {
        name: "statistics",
        settings: &[&["innodb_stats_persistent"], &["innodb_stats_persistent_sample_pages"]],
        matters_with: None,
        effect: "plans are chosen by other samples",
        remedy: "`settings = { innodb_stats_persistent = 1 }`",
    },
];

/// Those of Postgres.
pub(crate) const POSTGRES: &[Condition] = &[
    Condition {
        name: "character set",
        settings: &[&["server_encoding"], &["client_encoding"], &["lc_collate"]],
        matters_with: None,
        effect: "texts are converted, compared and sorted at another cost",
        remedy: "`session = [\"SET client_encoding = 'UTF8'\"]`",
    },
    Condition {
        name: "TLS",
        settings: &[&["ssl"]],
        matters_with: None,
        effect: "connections over TCP may be encrypted",
        remedy: "`settings = { ssl = \"off\" }`",
    },
    Condition {
        name: "flushing",
        settings: &[
            &["fsync"],
            &["synchronous_commit"],
            &["full_page_writes"],
            &["wal_level"],
            &["data_checksums"],
        ],
        matters_with: None,
        effect: "commits wait for the disk or not, or log and check more or less",
        remedy: "`settings = { fsync = \"off\", synchronous_commit = \"on\", full_page_writes = \
                 \"on\", wal_level = \"minimal\", max_wal_senders = 0 }`",
    },
    Condition {
        name: "memory",
        settings: &[&["shared_buffers"], &["work_mem"], &["effective_cache_size"]],
        matters_with: None,
        effect: "more or less of the data is read from the disk, and other plans are chosen",
        remedy: "`settings = { shared_buffers = \"1GB\", work_mem = \"4MB\" }`",
    },
    Condition {
        name: "transactions",
        settings: &[&["default_transaction_isolation"]],
        matters_with: None,
        effect: "statements see and lock other rows",
        remedy: "`settings = { default_transaction_isolation = \"read committed\" }`",
    },
    Condition {
        name: "statistics",
        settings: &[&["default_statistics_target"], &["autovacuum"]],
        matters_with: None,
        effect: "plans are chosen by other samples",
        remedy: "`settings = { default_statistics_target = 100, autovacuum = \"on\" }`",
    },
];

/// Those of SQLite.
pub(crate) const SQLITE: &[Condition] = &[
    Condition {
        name: "flushing",
        settings: &[&["journal_mode"], &["synchronous"]],
        matters_with: None,
        effect: "commits wait for the disk more or less often, or write twice",
        remedy: "`settings = { journal_mode = \"DELETE\", synchronous = \"OFF\" }`",
    },
    Condition {
        name: "memory",
        settings: &[&["cache_size"], &["page_size"]],
        matters_with: None,
        effect: "more or less of the data is read from the disk, in other portions",
        remedy: "`settings = { cache_size = -1048576, page_size = 4096 }`",
    },
];

/// What was started, and the settings that a session of it has.
#[derive(Debug, Clone)]
pub struct Started<'a> {
    /// What it was asked for.
    pub subject: &'a Subject,
    /// Its exact version, which a folder of the user's has and its subject does not say.
    pub version: String,
    /// As the server reports them.
    pub settings: Levels,
}

/// A condition that two servers have differently although no configuration asks for it.
#[derive(Debug)]
pub struct Unasked {
    /// Which one.
    pub condition: &'static Condition,
    /// The first setting that differs, by its name in the first server.
    pub setting: String,
    /// Its values.
    pub values: [String; 2],
}

/// Those of the conditions that two servers have differently although their configurations say the
/// same of them.
pub fn unasked(
    conditions: &'static [Condition],
    one: &Started<'_>,
    other: &Started<'_>,
) -> Vec<Unasked> {
    let is_asked = |condition: &&Condition| condition.wanted_by(one) != condition.wanted_by(other);
    let conditions = conditions.iter().filter(|condition| !is_asked(condition));
    conditions.filter_map(|condition| condition.differs(one, other)).collect()
}

impl Condition {
    /// What a configuration says of it: settings with their values, and statements of sessions.
    fn wanted_by<'a>(&self, started: &'a Started<'_>) -> Vec<(&'a str, &'a str)> {
        let names = || self.settings.iter().flat_map(|group| group.iter());
        let is_own = |name: &str| {
            let plain = name.replace('-', "_").to_lowercase();
            names().any(|own| plain.trim_start_matches("skip_") == *own)
        };
        let (config, version) = (&started.subject.config, &started.version);
        let settings = config.settings.iter().filter(|setting| is_own(&setting.name));
        let statements = config.session.iter().filter(|sql| {
            let plain = sql.to_lowercase();
            names().any(|own| plain.contains(own))
        });
        let settings = settings.map(|one| (one.name.as_str(), setting_value(one, version)));
        // An encrypted transport switches TLS on, whatever the settings are.
        let is_of_tls = config.transport.is_encrypted() && names().any(|name| *name == "ssl");
        let transport = is_of_tls.then(|| ("transport", config.transport.name()));
        settings.chain(transport).chain(statements.map(|sql| ("session", sql.as_str()))).collect()
    }

    fn differs(&'static self, one: &Started<'_>, other: &Started<'_>) -> Option<Unasked> {
        let value = |started: &Started<'_>, group: &[&str]| {
            let found = group.iter().find_map(|name| Some((*name, started.settings.get(*name)?)));
            found.map(|(name, value)| (name.to_owned(), value.clone()))
        };
        let matters = self.matters_with.is_none_or(|(name, needed)| {
            let has = |started: &Started<'_>| {
                value(started, &[name]).is_some_and(|(_, found)| same_value(&found, needed))
            };
            has(one) && has(other)
        });
        self.settings.iter().filter(|_| matters).find_map(|group| {
            let ((setting, first), (_, second)) = (value(one, group)?, value(other, group)?);
            let is_same = same_value(&first, &second) || is_same_cache(&setting, &first, &second);
            let values = [first, second];
            (!is_same).then_some(Unasked { condition: self, setting, values })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subject::{Build, Config, Setting};

    fn subject(server: &str, settings: &[(&str, &str)], session: &[&str]) -> Subject {
        let setting = |(name, value): &(&str, &str)| Setting::of(*name, *value);
        Subject {
            label: server.to_owned(),
            build: Build::of(server, "9"),
            config: Config {
                settings: settings.iter().map(setting).collect(),
                session: session.iter().map(|sql| (*sql).to_owned()).collect(),
                ..Config::default()
            },
            levels: Levels::new(),
        }
    }

    fn found(one: (&Subject, &[(&str, &str)]), other: (&Subject, &[(&str, &str)])) -> Vec<String> {
        let [one, other] = [one, other].map(|(subject, settings)| Started {
            subject,
            version: subject.build.version.clone(),
            settings: settings.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
        });
        let unasked = unasked(MYSQL, &one, &other);
        let text = |one: &Unasked| format!("{}: {}", one.condition.name, one.setting);
        unasked.iter().map(text).collect()
    }

    #[test]
    fn only_what_nobody_asked_for_is_found() {
        let plain = subject("mysql", &[("innodb_buffer_pool_size", "1G")], &[]);
        let on: &[(&str, &str)] = &[
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
            ("character_set_results", "utf8mb4"),
            ("tx_isolation", "REPEATABLE-READ"),
        ];
        let off: &[(&str, &str)] = &[
            ("log_bin", "0"),
            ("sync_binlog", "0"),
            ("character_set_results", "latin1"),
            ("transaction_isolation", "READ-COMMITTED"),
        ];
        let all = ["character set: character_set_results", "binary log: log_bin"];
        let isolation = "transactions: tx_isolation";
        assert_eq!(found((&plain, on), (&plain, off)), [all[0], all[1], isolation]);
        assert!(found((&plain, on), (&plain, on)).is_empty());
        // How often an unused log is synced does not matter.
        let unsynced = [&on[..1], &[("sync_binlog", "0")]].concat();
        assert_eq!(found((&plain, on), (&plain, &unsynced)), ["binary log: sync_binlog"]);
        // One character set that two versions call by two names.
        let names = ["utf8", "utf8mb3"].map(|name| [("character_set_server", name)]);
        assert!(found((&plain, &names[0]), (&plain, &names[1])).is_empty());
        // A cache that follows the data, as MySQL 5.6 and 9 round it; and another one.
        let pool = |size: &'static str| [("innodb_buffer_pool_size", size)];
        let [old, new, other] = ["6656360448", "6694109184", "7516192768"].map(pool);
        assert!(found((&plain, &old), (&plain, &new)).is_empty());
        let memory = "memory: innodb_buffer_pool_size";
        assert_eq!(found((&plain, &old), (&plain, &other)), [memory]);
        // What a configuration asks for is the question.
        let asks = subject("mysql", &[("skip-log-bin", "1")], &["SET NAMES latin1"]);
        assert_eq!(found((&plain, on), (&asks, off)), [isolation]);
        // Both ask for the same, and one did not get it.
        assert_eq!(found((&asks, on), (&asks, off)), [all[0], all[1], isolation]);
    }

    #[test]
    fn a_value_that_depends_on_the_version_is_asked_for() {
        let mut subject = subject("mysql", &[("collation_server", "new")], &[]);
        // That of a folder of the user's.
        subject.build.version.clear();
        subject.config.settings[0].before = vec![("8.0".to_owned(), "old".to_owned())];
        let started = |version: &str, value: &str| Started {
            subject: &subject,
            version: version.to_owned(),
            settings: Levels::from([("collation_server".to_owned(), value.to_owned())]),
        };
        let old = started("5.7.44", "old");
        assert!(unasked(MYSQL, &old, &started("8.0.36", "new")).is_empty());
        assert_eq!(unasked(MYSQL, &old, &started("5.7.44", "new")).len(), 1);
    }

    #[test]
    fn experiments_know_the_names() {
        let all = [MYSQL, POSTGRES, SQLITE].into_iter().flatten();
        let all: Vec<&str> = all.map(|condition| condition.name).collect();
        let known = model::experiment::CONDITIONS;
        assert!(all.iter().all(|name| known.contains(name)), "{all:?}");
        assert!(known.iter().all(|name| all.contains(name)), "{all:?}");
    }
}
