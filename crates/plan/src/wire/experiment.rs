//! Experiment files: `experiments/*.toml` and those of the user.

use super::{
    attach::WireAttach,
    compilation::{Parts, WireTree},
    config::WireConfig,
    number::{self, Whole},
    percent::Percent,
    value::{OneOrMany, Ordered, Scalar, Variable, WireArrival},
};
use crate::source::{Fault, Under};
use model::{
    Parameters,
    experiment::{Combine, Design, Placement},
    margins::Quantity,
    subject::Build,
    workload::Mode,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};

/// A whole file; everything is optional, because a file may extend another.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireExperiment {
    /// The report's title: one sentence.
    pub(crate) question: Option<String>,
    /// An experiment, by name or path, whose keys hold where this file has none.
    pub(crate) extends: Option<String>,
    /// A suite of the catalog, or a path. Exactly one of `suite` and `workloads`.
    pub(crate) suite: Option<String>,
    /// A preset of the suite: a named set of its values.
    pub(crate) preset: Option<String>,
    /// Workloads, by name or path.
    pub(crate) workloads: Option<Vec<String>>,
    /// Series that the run belongs to: `dbdyno history NAME` shows its runs over time (none).
    pub(crate) series: Option<String>,
    /// What is new in this run, such as a commit: its history shows it (none).
    pub(crate) note: Option<String>,
    /// How slices follow each other.
    pub(crate) design: Option<Design>,
    /// Fresh starts of every subject (8, or the last of `looks`).
    pub(crate) blocks: Option<Whole<u32>>,
    /// Numbers of blocks after which the run is judged: a test that is decided then is measured no
    /// further (none: all blocks are measured).
    pub(crate) looks: Option<Vec<u32>>,
    /// What has to be decided, and the change of it that matters: `time`, `cpu`, `instructions`
    /// (all of them, "5%", "2%" and "0.5%").
    pub(crate) decide: BTreeMap<Quantity, Percent>,
    /// Whether the largest changes in instructions are explained by function after the last block
    /// (false).
    pub(crate) explain: Option<bool>,
    /// Independent loads over which the blocks are spread (1).
    pub(crate) loads: Option<Whole<u32>>,
    /// Slices of each workload, subject and block of the interleaved design (2).
    pub(crate) rounds: Option<Whole<u32>>,
    /// Seed of everything random (each run draws its own).
    pub(crate) seed: Option<Whole<u64>>,
    /// The base of the comparison: levels of some factors.
    pub(crate) baseline: BTreeMap<String, Scalar>,
    /// The axes, each with its levels; at least `build`.
    pub(crate) factors: Ordered<OneOrMany>,
    /// Tables of the schema (1).
    pub(crate) tables: Option<Whole<u64>>,
    /// Rows of each table (1,000,000).
    pub(crate) rows: Option<Whole<u64>>,
    /// Operations per row of each writing test that keeps the number of rows, executed once after
    /// the load (0).
    pub(crate) age: Option<f64>,
    /// Length of a slice on the base, seconds (2; interleaved).
    pub(crate) slice_seconds: Option<f64>,
    /// Length of a reading step, seconds (180; classic).
    pub(crate) read_seconds: Option<f64>,
    /// Length of a writing step, seconds (300; classic).
    pub(crate) write_seconds: Option<f64>,
    /// Discarded start of every slice, seconds (0.3, classic 5).
    pub(crate) warmup_seconds: Option<f64>,
    /// Servers that are up at the same time (1; classic).
    pub(crate) at_once: Option<Whole<u32>>,
    /// Whether each client shares a processor with the task that serves it (paired, classic free).
    pub(crate) placement: Option<Placement>,
    /// How levels that need a server of their own are combined (`all`).
    pub(crate) combine: Combine,
    /// What this host must permit: `perf`.
    pub(crate) require: Vec<String>,
    /// Conditions that may differ although nobody asks for it, such as `character set`.
    pub(crate) accept: Vec<String>,
    /// Values for parameters of the workloads and of the suite.
    #[serde(deserialize_with = "number::parameters")]
    #[schemars(with = "BTreeMap<String, Whole<i64>>")]
    pub(crate) parameters: Parameters,
    /// A script whose `prepare` makes the data of all scripts (each its own).
    pub(crate) prepare: Option<String>,
    /// A file of vectors in the layout of ann-benchmarks (HDF5), which suites of vectors load and
    /// search instead of vectors of their own.
    pub(crate) dataset: Option<PathBuf>,
    /// Options of the scripts of your own that it executes.
    pub(crate) options: BTreeMap<String, Scalar>,
    /// Closed loop, or an open loop at a rate.
    pub(crate) arrival: Option<WireArrival>,
    /// How all statements travel.
    pub(crate) mode: Option<Mode>,
    /// Servers of your own; each name is a level of `build`.
    pub(crate) servers: BTreeMap<String, WireServer>,
    /// Configurations of your own; each name is a level of `config`.
    pub(crate) configs: BTreeMap<String, WireConfig>,
}

/// `[servers.NAME]`: a build of the user's own, or one that is started in a way of its own.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireServer {
    /// Product; of a server that is there already it may be absent.
    #[serde(default)]
    pub(crate) server: String,
    /// The same, for a server that is there already; what it greets with if absent.
    product: Option<String>,
    /// A server that is there already, which dbdyno neither starts nor stops.
    attach: Option<WireAttach>,
    #[serde(default)]
    version: String,
    pub(crate) config: Option<String>,
    basedir: Option<PathBuf>,
    /// A tree that is compiled on this host.
    source: Option<WireTree>,
    /// A set of compiler options of the recipe, or options themselves.
    flags: Option<String>,
    /// The C compiler.
    compiler: Option<String>,
    /// A file that says how the tree is compiled, instead of the shipped recipe.
    recipe: Option<PathBuf>,
    #[serde(default)]
    prefix: Vec<String>,
    #[serde(default)]
    environment: Ordered<Variable>,
}

impl WireServer {
    /// The checked build.
    pub(crate) fn check(&self) -> Result<Build, Fault> {
        if let Some(attach) = &self.attach {
            return self.attached(attach);
        }
        if self.product.is_some() {
            let reason = "`product` is for a server with `attach`; write `server`";
            return Err(Fault::invalid(reason)).under("product");
        }
        if self.server.is_empty() {
            return Err(Fault::invalid("the key `server` is missing; add it"));
        }
        if self.basedir.is_some() && !self.version.is_empty() {
            let reason = "remove `version`: the build in `basedir` says which one it is";
            return Err(Fault::invalid(reason)).under("version");
        }
        if let (Some(_), Some(key)) = (&self.source, self.beside_source()) {
            let reason = format!("remove `{key}`: `source` says which build it is");
            return Err(Fault::invalid(reason)).under(key);
        }
        let compilation = Parts {
            tree: self.source.as_ref(),
            flags: self.flags.as_ref(),
            compiler: self.compiler.as_ref(),
            recipe: self.recipe.as_ref(),
        };
        let mut environment = Vec::new();
        for (name, Variable(value)) in &self.environment.0 {
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
            attach: None,
            compilation: compilation.check()?,
            prefix: self.prefix.clone(),
            environment,
            memory: None,
        })
    }

    /// A server that is there already. Its product is empty where only its greeting tells.
    fn attached(&self, attach: &WireAttach) -> Result<Build, Fault> {
        let keys = [
            ("basedir", self.basedir.is_some()),
            ("version", !self.version.is_empty()),
            ("source", self.source.is_some()),
            ("flags", self.flags.is_some()),
            ("compiler", self.compiler.is_some()),
            ("recipe", self.recipe.is_some()),
            ("prefix", !self.prefix.is_empty()),
            ("environment", !self.environment.0.is_empty()),
            ("config", self.config.is_some()),
        ];
        if let Some((key, _)) = keys.into_iter().find(|(_, given)| *given) {
            let reason = format!("remove `{key}`: a server with `attach` runs as it is");
            return Err(Fault::invalid(reason)).under(key);
        }
        if self.product.is_some() && !self.server.is_empty() {
            let reason = "`server` and `product` both name the product; keep one";
            return Err(Fault::invalid(reason)).under("product");
        }
        let attach = Some(Box::new(attach.check().under("attach")?));
        let product = self.product.as_ref().unwrap_or(&self.server);
        Ok(Build { attach, ..Build::of(product, "") })
    }

    /// A key that names a build in another way than `source`.
    fn beside_source(&self) -> Option<&'static str> {
        let keys = [("basedir", self.basedir.is_some()), ("version", !self.version.is_empty())];
        keys.into_iter().find(|(_, given)| *given).map(|(key, _)| key)
    }
}
