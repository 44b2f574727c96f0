//! Option groups that several commands share.

use clap::{Args, ValueEnum};
use model::plan::Plan;
use plan::Catalog;
use std::path::PathBuf;

/// Where results lie.
#[derive(Debug, Clone, Args)]
pub(crate) struct ResultsArgs {
    /// Folder of the records.
    #[arg(long, value_name = "DIR", default_value = "dbdyno-results")]
    pub(crate) results: PathBuf,
}

/// Where workloads, suites, schemas and configurations come from.
#[derive(Debug, Clone, Args)]
pub(crate) struct CatalogArgs {
    /// Folder whose files are added to the shipped catalog, or replace files of the same name.
    #[arg(long, value_name = "DIR")]
    pub(crate) catalog: Option<PathBuf>,
}

impl CatalogArgs {
    /// The catalog that these options describe.
    pub(crate) fn open(&self) -> anyhow::Result<Catalog> {
        Ok(match &self.catalog {
            Some(folder) => Catalog::with_overlay(folder)?,
            None => Catalog::embedded()?,
        })
    }
}

/// The user of servers where none is named.
pub(crate) const DEFAULT_SERVER_USER: &str = "nobody";

/// Who the servers belong to.
#[derive(Debug, Clone, Args)]
pub(crate) struct HostArgs {
    /// System user that servers run as when dbdyno is started by root.
    #[arg(long, value_name = "USER", default_value = DEFAULT_SERVER_USER)]
    pub(crate) server_user: String,
}

impl HostArgs {
    /// The folders of builds, data and sockets on this host.
    pub(crate) fn places(&self) -> anyhow::Result<dbms::Places> {
        Ok(dbms::Places::of_this_host(&self.server_user)?)
    }
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressStyle {
    /// A bar on a terminal.
    Bar,
    /// One line per slice, in the form that sysbench's interval reports have.
    Plain,
    /// Nothing.
    None,
}

/// Which experiment, and what is changed in it for this time.
#[derive(Debug, Clone, Args)]
pub(crate) struct ExperimentArgs {
    /// TOML file, or name of a shipped experiment (`dbdyno list experiments`).
    #[arg(value_name = "EXPERIMENT")]
    pub(crate) experiment: Option<String>,
    /// Only these workloads, separated by commas.
    #[arg(long, value_name = "WORKLOAD,…", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Overrides one key of the experiment; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The experiment that `dbdyno run` takes where none is named.
const QUICKSTART: &str = "quickstart";

impl ExperimentArgs {
    /// The plan of the experiment on this host.
    pub(crate) fn plan(&self, catalog: &Catalog, places: &dbms::Places) -> anyhow::Result<Plan> {
        let name = self.experiment.as_deref().unwrap_or(QUICKSTART);
        let overrides = plan::Overrides { set: self.set.clone(), only: self.only.clone() };
        let versions = crate::versions::HostVersions { places };
        let draft = plan::load_experiment(name, catalog, &overrides)?;
        Ok(plan::plan(&draft, catalog, &versions)?)
    }
}
