//! What a server counted of itself over a slice.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// First words of the names of counters: where the server tells them.
pub const GROUPS: &[&str] = &[
    "status",
    "innodb",
    "rocksdb",
    "database",
    "bgwriter",
    "checkpointer",
    "wal",
    "io",
    "table",
    "index",
    "file",
];

/// Name of the file of a record that has them, after its number.
pub const FILE: &str = "state.json";

/// The state of a server at the begin and at the end of a slice's measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StateChange {
    /// Counters that moved, by `GROUP.NAME`: before and after.
    pub counters: BTreeMap<String, [f64; 2]>,
    /// Reports for people after the window, by group.
    pub texts: BTreeMap<String, String>,
}

/// Whether a metric is a counter of the server itself: `status.Innodb_rows_read`.
pub fn is_counter(name: &str) -> bool {
    name.split_once('.').is_some_and(|(group, rest)| GROUPS.contains(&group) && !rest.is_empty())
}
/// The first word of a counter's name.
fn group(counter: &str) -> &str {
    counter.split_once('.').map_or("", |(group, _)| group)
}

/// Whether a server keeps a counter: it moved there, or on another server with which it has a
/// counter of the same group in common. `own` and `all` are names of those that moved.
pub fn keeps<'a>(
    own: &BTreeSet<String>,
    all: impl IntoIterator<Item = &'a BTreeSet<String>>,
    name: &str,
) -> bool {
    let is_alike = |other: &BTreeSet<String>| {
        own.intersection(other).any(|shared| group(shared) == group(name))
    };
    own.contains(name) || all.into_iter().any(|other| other.contains(name) && is_alike(other))
}
