//! JSON Schemas of the TOML files, for editors that complete and check them.

use crate::wire::{
    config::WireConfig, experiment::WireExperiment, schema::WireSchema, suite::WireSuite,
    workload::WireWorkload,
};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

/// A kind of file that users write.
#[derive(Debug, Clone, Copy)]
pub struct FileKind {
    /// Its word: `experiment`, `workload`, …
    pub name: &'static str,
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
}

/// All kinds of files that users write.
pub const FILE_KINDS: &[FileKind] = &[
    FileKind { name: "experiment", make: of::<WireExperiment> },
    FileKind { name: "workload", make: of::<WireWorkload> },
    FileKind { name: "schema", make: of::<WireSchema> },
    FileKind { name: "suite", make: of::<WireSuite> },
    FileKind { name: "config", make: of::<WireConfig> },
];

fn of<T: JsonSchema>() -> Value {
    SchemaGenerator::default().into_root_schema_for::<T>().to_value()
}
