//! Values that others measured and printed: the content of a third-party archive.

use crate::{measurement::Measurement, notes::Notes, shared::Name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One printed value: a line of `imported.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ImportedValue {
    /// The value with its keys. Its marks name the known biases of the format it came from, and
    /// what was corrected.
    pub measurement: Measurement,
    /// The number exactly as it was printed, which may be in another unit; empty for values that
    /// were computed from several printed ones.
    pub text: String,
    /// Where it was printed.
    pub source: Source,
}

/// A line of a file of a third-party archive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Source {
    /// Path from the imported folder on, which is its first part.
    pub file: Name,
    /// Line, from 1; 0 for the file as a whole.
    pub line: u32,
}

/// What an import was: `import.json` of its run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ImportHeader {
    /// Version of the format.
    pub format: u32,
    /// Name of the archive, the experiment of the tables.
    pub experiment: String,
    /// Labels of the subjects in the archive's own order; the first one is the base.
    pub subjects: Vec<String>,
    /// The paths that were imported, as they were given; empty in records that do not tell.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Files of the archive that each importer took, by its name; empty in records that do not
    /// tell.
    #[serde(default)]
    pub importers: BTreeMap<String, u64>,
    /// Bases of the subjects that the archive compares with another one than the first.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub bases: BTreeMap<String, String>,
    /// Names of the corrections that were asked for.
    pub corrections: Vec<String>,
    /// Irregular places in the archive, one sentence each: the first ones, where there are many.
    pub warnings: Vec<String>,
    /// How many places were irregular.
    #[serde(default)]
    pub irregular: u64,
    /// What people wrote beside the archive's files.
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
}

impl ImportHeader {
    /// How many places were irregular, in records too that only list them.
    pub fn irregular_places(&self) -> u64 {
        self.irregular.max(self.warnings.len() as u64)
    }
}
