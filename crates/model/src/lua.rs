//! Users' own sysbench scripts as workloads: which files, and with which options.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the operation of a workload that is a script.
pub const EVENT: &str = "event";

/// A script with its options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lua {
    /// Path of its file.
    pub path: String,
    /// Options by their names with `_`, as a command line of sysbench would give them.
    pub options: BTreeMap<String, String>,
    /// Every file that was loaded, the script's own first; empty until somebody has looked.
    pub files: Vec<LuaFile>,
}

/// A file of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LuaFile {
    /// Its path.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

/// What is found in a script before anything is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LuaFound {
    /// The files that it loads.
    pub files: Vec<LuaFile>,
    /// Names of its options, and of sysbench's own, some of which no workload takes.
    pub options: Vec<String>,
    /// File and line of its function `prepare`, if it has one: scripts whose data are made by the
    /// same function share them.
    pub prepare: Option<String>,
}
