//! JSON Schemas of the TOML files, for editors that complete and check them.

use crate::wire::{
    config::WireConfig, experiment::WireExperiment, schema::WireSchema, suite::WireSuite,
    workload::WireWorkload,
};
use model::recipe::Recipe;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// A kind of file that users write.
#[derive(Debug, Clone, Copy)]
pub struct FileKind {
    /// Its word: `experiment`, `workload`, …
    pub name: &'static str,
    /// The files and keys that name such a file; empty for one that a command takes.
    named_in: &'static str,
    make: fn() -> Value,
}

impl FileKind {
    /// The JSON Schema (draft 2020-12) of such files. It knows every key and the type of its value;
    /// what names and expressions mean, only a plan can tell.
    pub fn json_schema(self) -> Value {
        let mut schema = (self.make)();
        schema["title"] = format!("dbdyno {}", self.name).into();
        schema
    }

    /// Whether such files have this key at their top.
    pub fn has_key(self, key: &str) -> bool {
        (self.make)()["properties"].get(key).is_some()
    }
}

/// What to do with a text that is no experiment, if more of its keys are those of another kind.
pub(crate) fn not_an_experiment(text: &str) -> Option<String> {
    let table: toml::Table = text.parse().ok()?;
    let fitting = |kind: &&FileKind| table.keys().filter(|key| kind.has_key(key)).count();
    // Of equal ones the last, so an experiment stays one.
    let FileKind { name, named_in, .. } = FILE_KINDS.iter().rev().max_by_key(fitting)?;
    if named_in.is_empty() {
        return None;
    }
    Some(format!("this is a {name}, not an experiment; name it in {named_in}"))
}

/// All kinds of files that users write.
pub const FILE_KINDS: &[FileKind] = &[
    FileKind { name: "experiment", named_in: "", make: of::<WireExperiment> },
    FileKind {
        name: "workload",
        named_in: "`workloads` of an experiment",
        make: of::<WireWorkload>,
    },
    FileKind { name: "schema", named_in: "`schema` of a workload", make: of::<WireSchema> },
    FileKind { name: "suite", named_in: "`suite` of an experiment", make: of::<WireSuite> },
    FileKind {
        name: "config",
        named_in: "`configs/SERVER` of a catalog folder",
        make: of::<WireConfig>,
    },
    FileKind { name: "recipe", named_in: "`recipe` of a `[servers.NAME]`", make: of::<Recipe> },
];

fn of<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}
