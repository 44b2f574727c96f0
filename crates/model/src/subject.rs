//! The system under test: a build and a configuration.

use crate::{Levels, expression::Expression};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is compared: one build with one configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// Unique label with the resolved version, e.g. `mysql-9.7.4` or `sqlite-3.50.4.wal`.
    pub label: String,
    /// The server build.
    pub build: Build,
    /// The settings.
    pub config: Config,
    /// Levels of the factors that make this subject (`build`, `config`).
    pub levels: Levels,
}

/// A server build.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Product: a name of the table of server products (`mysql`, `mariadb`, `postgres`, `sqlite`).
    pub server: String,
    /// Version as asked for: a version, a prefix of one, or empty for the newest.
    pub version: String,
    /// A server that the user already has, instead of one that is installed. For `sqlite`, a
    /// library's path.
    pub basedir: Option<PathBuf>,
    /// A server that is already running; never stopped nor frozen, classic design only.
    pub attach: Option<PathBuf>,
    /// Words put before the server's command (`taskset -c 0`, `numactl …`).
    pub prefix: Vec<String>,
    /// Environment variables of the server alone.
    pub environment: Vec<(String, String)>,
}

/// A named set of settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Unique name among the configs of the product.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// Storage engine, for products that have several; replaces `{engine}` in schemas.
    pub engine: Option<String>,
    /// UNIX socket or TCP on 127.0.0.1.
    pub transport: Transport,
    /// The settings in the order in which they are written to the server's configuration.
    pub settings: Vec<Setting>,
}

/// How the driver reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// UNIX socket in a folder of the run.
    #[default]
    Socket,
    /// A port of its own on 127.0.0.1.
    Tcp,
}

/// One setting with the reason for its value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The server's own name of it.
    pub name: String,
    /// The value as the server's configuration writes it.
    pub value: String,
    /// Why it has this value.
    pub reason: String,
    /// Whether servers that do not know it ignore it (named in the record), instead of failing.
    pub optional: bool,
    /// Other values for older servers: the first version that takes `value` again, and what all
    /// versions before it take. In ascending order of versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<(String, String)>,
    /// How the value follows the size of the plan. None in a plan: it is resolved there.
    #[serde(skip)]
    pub follows: Option<Follows>,
}

/// A whole number that grows with the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follows {
    /// What the value is raised to, over `connections` (of the largest phase) and `tables`.
    pub at_least: Expression,
    /// The version's own default stays where the expression is not above this.
    pub only_above: i64,
}
