//! Whether a commit waits until it is on the disk.

use crate::warning::listed;
use model::{natural, record::TrialHeader};
use std::collections::BTreeMap;

/// Settings with values at which a commit returns before it is on the disk, as the servers report
/// them. From the manuals: InnoDB and MyRocks write at each commit (2) or not even that (0);
/// Postgres' `fsync` never syncs; SQLite's `synchronous` 0 never does.
const UNSYNCED: [(&str, &[&str]); 5] = [
    ("fsync", &["off"]),
    ("innodb_flush_log_at_trx_commit", &["0", "2"]),
    ("rocksdb_flush_log_at_trx_commit", &["0", "2"]),
    ("synchronous", &["0"]),
    ("synchronous_commit", &["off"]),
];

/// The setting by which commits of a server return before they are on the disk, if they do.
fn unsynced(header: &TrialHeader) -> Option<&'static str> {
    let is = |name: &str, value: &str| header.settings.get(name).is_some_and(|own| own == value);
    // Each commit waits for the binary log.
    if is("log_bin", "ON") && is("sync_binlog", "1") {
        return None;
    }
    // With the write-ahead log, SQLite's 1 syncs before checkpoints alone.
    if is("journal_mode", "wal") && is("synchronous", "1") {
        return Some("synchronous");
    }
    let is_set = |(name, values): &&(&str, &[&str])| values.iter().any(|value| is(name, value));
    UNSYNCED.iter().find(is_set).map(|(name, _)| *name)
}

/// A sentence where commits of any subject do not wait for the disk: which, by which setting.
pub fn unsynced_commits<'a>(headers: impl IntoIterator<Item = &'a TrialHeader>) -> Option<String> {
    let mut found: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for header in headers {
        let Some(name) = unsynced(header) else { continue };
        let subjects = found.entry(format!("{name}={}", header.settings[name])).or_default();
        if !subjects.contains(&header.subject.as_str()) {
            subjects.push(&header.subject);
        }
    }
    let one = |(setting, mut subjects): (String, Vec<&str>)| {
        subjects.sort_by(|one, other| natural::compare(one, other));
        format!("{} ({setting})", listed(subjects.into_iter(), "variant"))
    };
    let told: Vec<String> = found.into_iter().map(one).collect();
    (!told.is_empty()).then(|| {
        format!(
            "Commits do not wait for the disk on {}: what writes cost with a sync for each is \
             another question (config `durable`).",
            told.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::header;

    #[test]
    fn commits_that_do_not_wait_are_told_with_their_setting() {
        let flush = "innodb_flush_log_at_trx_commit";
        let headers = [
            header("a", &[("synchronous", "0")]),
            header("b", &[(flush, "2")]),
            header("c", &[(flush, "1"), ("synchronous", "2"), ("fsync", "on")]),
            header("a", &[("synchronous", "0")]),
            header("d", &[(flush, "2"), ("log_bin", "ON"), ("sync_binlog", "1")]),
            header("b2", &[(flush, "2"), ("log_bin", "OFF"), ("sync_binlog", "1")]),
        ];
        let expected = "Commits do not wait for the disk on `b`, `b2` \
                        (innodb_flush_log_at_trx_commit=2), `a` (synchronous=0): what writes cost \
                        with a sync for each is another question (config `durable`).";
        assert_eq!(unsynced_commits(&headers).as_deref(), Some(expected));
        assert_eq!(unsynced_commits(&headers[2..3]), None);
        // With its write-ahead log SQLite syncs before checkpoints alone.
        let normal = |journal| header("a", &[("journal_mode", journal), ("synchronous", "1")]);
        let told = unsynced_commits(&[normal("wal")]);
        assert!(told.is_some_and(|told| told.contains("on `a` (synchronous=1)")));
        assert_eq!(unsynced_commits(&[normal("delete")]), None);
    }
}
