//! Experiment files: `experiments/*.toml` and those of the user.

use super::{
    config::WireConfig,
    number::{self, Whole},
    value::{OneOrMany, Ordered, Scalar, WireArrival},
};
use crate::source::{Fault, Under};
use model::{Parameters, experiment::Design, subject::Build, workload::Mode};
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

/// A whole file; everything is optional, because a file may extend another.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireExperiment {
    pub(crate) question: Option<String>,
    pub(crate) extends: Option<String>,
    pub(crate) suite: Option<String>,
    pub(crate) preset: Option<String>,
    pub(crate) workloads: Option<Vec<String>>,
    pub(crate) design: Option<Design>,
    pub(crate) blocks: Option<Whole<u32>>,
    pub(crate) loads: Option<Whole<u32>>,
    pub(crate) rounds: Option<Whole<u32>>,
    pub(crate) seed: Option<Whole<u64>>,
    pub(crate) baseline: BTreeMap<String, Scalar>,
    pub(crate) factors: Ordered<OneOrMany>,
    pub(crate) tables: Option<Whole<u64>>,
    pub(crate) rows: Option<Whole<u64>>,
    pub(crate) slice_seconds: Option<f64>,
    pub(crate) read_seconds: Option<f64>,
    pub(crate) write_seconds: Option<f64>,
    pub(crate) warmup_seconds: Option<f64>,
    pub(crate) require: Vec<String>,
    #[serde(deserialize_with = "number::parameters")]
    pub(crate) parameters: Parameters,
    pub(crate) arrival: Option<WireArrival>,
    pub(crate) mode: Option<Mode>,
    pub(crate) servers: BTreeMap<String, WireServer>,
    pub(crate) configs: BTreeMap<String, WireConfig>,
}

/// `[servers.NAME]`: a build of the user's own, or one that is started in a way of its own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireServer {
    pub(crate) server: String,
    #[serde(default)]
    version: String,
    pub(crate) config: Option<String>,
    basedir: Option<PathBuf>,
    attach: Option<WireAttach>,
    #[serde(default)]
    prefix: Vec<String>,
    #[serde(default)]
    environment: Ordered<Scalar>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireAttach {
    socket: PathBuf,
}

impl WireServer {
    /// The checked build.
    pub(crate) fn check(&self) -> Result<Build, Fault> {
        if self.basedir.is_some() && self.attach.is_some() {
            let reason = "a server has `basedir` (start it) or `attach` (it is running), not both";
            return Err(Fault::invalid(reason)).under("attach");
        }
        let mut environment = Vec::new();
        for (name, Scalar(value)) in &self.environment.0 {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                let reason = format!("`{name}` cannot name an environment variable");
                return Err(Fault::invalid(reason)).under(name).under("environment");
            }
            environment.push((name.clone(), value.clone()));
        }
        Ok(Build {
            server: self.server.clone(),
            version: self.version.clone(),
            basedir: self.basedir.clone(),
            attach: self.attach.as_ref().map(|attach| attach.socket.clone()),
            prefix: self.prefix.clone(),
            environment,
        })
    }
}
