//! Effective settings that differ between subjects.

use model::record::TrialHeader;
use std::collections::BTreeSet;

/// Settings that name a place or an identity: they differ always and mean nothing.
const IDENTITIES: &[&str] = &[
    "basedir",
    "bind_address",
    "character_sets_dir",
    "cluster_name",
    "config_file",
    "data_directory",
    "datadir",
    "external_pid_file",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_purged",
    "gtid_slave_pos",
    "hba_file",
    "hostname",
    "ident_file",
    "identity",
    "innodb_version",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "lc_messages_dir",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "relay_log",
    "relay_log_basename",
    "relay_log_index",
    "report_host",
    "report_port",
    "server_id",
    "server_uid",
    "server_uuid",
    "server_version",
    "server_version_num",
    "slave_load_tmpdir",
    "replica_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "statement_id",
    "timestamp",
    "tmpdir",
    "unix_socket_directories",
    "version",
    "version_comment",
    "version_compile_machine",
    "version_compile_os",
    "version_compile_zlib",
    "version_malloc_library",
    "version_source_revision",
    "version_ssl_library",
    "wsrep_node_address",
    "wsrep_node_incoming_address",
    "wsrep_node_name",
];

/// One setting that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingDifference {
    /// The server's own name of it.
    pub name: String,
    /// The value of each header, in the order of the headers; `None` where the server does not have
    /// it.
    pub values: Vec<Option<String>>,
}

impl SettingDifference {
    /// Whether the servers that have the setting agree on its value.
    pub fn is_only_missing(&self) -> bool {
        let kinds: BTreeSet<_> = self.values.iter().flatten().collect();
        kinds.len() < 2
    }
}

/// The effective settings in which servers differ, by name: first those with different values, then
/// those that not every server has. Places and identities are left out: they always differ.
pub fn settings_differences(headers: &[TrialHeader]) -> Vec<SettingDifference> {
    let names: BTreeSet<&String> = headers.iter().flat_map(|h| h.settings.keys()).collect();
    let values = |name: &String| SettingDifference {
        name: name.clone(),
        values: headers.iter().map(|header| header.settings.get(name).cloned()).collect(),
    };
    let differs = |found: &SettingDifference| {
        found.values.iter().any(|value| Some(value) != found.values.first())
    };
    let mut found: Vec<_> =
        names.into_iter().filter(|name| means(name)).map(values).filter(differs).collect();
    found.sort_by_key(SettingDifference::is_only_missing);
    found
}

/// The effective settings that all servers have with one value, by name; all of them for a single
/// server. Places and identities are left out.
pub fn shared_settings(headers: &[TrialHeader]) -> Vec<(String, String)> {
    let Some((first, others)) = headers.split_first() else { return Vec::new() };
    let shared = |(name, value): &(&String, &String)| {
        means(name) && others.iter().all(|other| other.settings.get(*name) == Some(*value))
    };
    let settings = first.settings.iter().filter(shared);
    settings.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Whether a setting is more than a place or an identity.
pub(crate) fn means(name: &str) -> bool {
    !IDENTITIES.contains(&name.to_ascii_lowercase().as_str())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn header(subject: &str, settings: &[(&str, &str)]) -> TrialHeader {
        TrialHeader {
            format: 1,
            subject: subject.into(),
            settings: settings.iter().map(|(n, v)| ((*n).into(), (*v).into())).collect(),
            ..TrialHeader::default()
        }
    }

    #[test]
    fn different_settings_come_before_missing_ones() {
        let headers = [
            header("old", &[("b", "1"), ("same", "x"), ("gtid_executed", "u:1"), ("a", "y")]),
            header("new", &[("b", "2"), ("same", "x"), ("gtid_executed", "u:1-9")]),
        ];
        let line = |d: &SettingDifference| {
            let values: Vec<_> = d.values.iter().map(|v| v.as_deref().unwrap_or("-")).collect();
            format!("{}: {}", d.name, values.join(" "))
        };
        let found: Vec<_> = settings_differences(&headers).iter().map(line).collect();
        assert_eq!(found, ["b: 1 2", "a: y -"]);
        assert_eq!(settings_differences(&headers[..1]), []);
        assert_eq!(settings_differences(&[]), []);
    }

    #[test]
    fn what_all_servers_have_alike_is_shared() {
        let headers = [
            header("old", &[("b", "1"), ("same", "x"), ("datadir", "/1"), ("a", "y")]),
            header("new", &[("b", "2"), ("same", "x"), ("datadir", "/1")]),
        ];
        assert_eq!(shared_settings(&headers), [("same".to_owned(), "x".to_owned())]);
        let names = |headers| -> Vec<String> {
            shared_settings(headers).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(&headers[..1]), ["a", "b", "same"]);
        assert_eq!(shared_settings(&[]), []);
    }
}
