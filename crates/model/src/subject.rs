//! The system under test: a build and a configuration.

use crate::{Levels, attach::Attach, expression::Expression, recipe::Compilation, secret};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use std::path::PathBuf;

/// Factors whose levels act on the start of a server, beside `build` and `config`. What each does
/// is a file of `dbms::factor`.
pub const START_FACTORS: &[&str] =
    &["allocator", "compiler", "cpu_set", "environment", "flags", "memory", "prefix", "transport"];

/// What is compared: one build with one configuration, started in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subject {
    /// Unique label with the resolved version, e.g. `mysql-9.7.4` or `sqlite-3.50.4.wal`.
    pub label: String,
    /// The server build.
    pub build: Build,
    /// The settings.
    pub config: Config,
    /// Levels of the factors that make this subject: `build`, `config` and [`START_FACTORS`].
    pub levels: Levels,
}

/// A server build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Product: a name of the table of server products (`mysql`, `mariadb`, `postgres`, `sqlite`).
    pub server: String,
    /// Version as asked for: a version, a prefix of one, or empty for the newest.
    pub version: String,
    /// A server that the user already has, instead of one that is installed. For `sqlite`, a
    /// library's path.
    pub basedir: Option<PathBuf>,
    /// A server that is there already and that dbdyno does not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attach: Option<Box<Attach>>,
    /// How it is compiled, for one that is.
    #[serde(default, skip_serializing_if = "Compilation::is_empty")]
    pub compilation: Compilation,
    /// Words put before the server's command (`taskset -c 0`, `numactl …`).
    #[serde(serialize_with = "shown_words")]
    pub prefix: Vec<String>,
    /// Environment variables of the server alone.
    #[serde(serialize_with = "shown_variables")]
    pub environment: Vec<(String, String)>,
    /// Memory that the server may have, with its share of the page cache, bytes; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

impl Build {
    /// The build `SERVER@VERSION`, or `SERVER`, whose newest version is meant.
    pub fn named(text: &str) -> Self {
        let (server, version) = text.split_once('@').unwrap_or((text, ""));
        Self::of(server, version)
    }

    /// A build that is named by product and version only.
    pub fn of(server: &str, version: &str) -> Self {
        Self { server: server.to_owned(), version: version.to_owned(), ..Self::default() }
    }
}

/// A named set of settings.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Unique name among the configs of the product.
    pub name: String,
    /// One line of help.
    pub help: String,
    /// Storage engine, for products that have several; replaces `{engine}` in schemas.
    pub engine: Option<String>,
    /// UNIX socket or TCP on 127.0.0.1.
    pub transport: Transport,
    /// Statements that each connection executes first, such as `SET NAMES latin1`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub session: Vec<String>,
    /// The settings in the order in which they are written to the server's configuration.
    #[serde(serialize_with = "shown_settings")]
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
    /// Such a port, encrypted by the newest version of TLS that both sides have.
    Tls,
    /// Such a port, encrypted by TLS 1.2.
    #[serde(rename = "tls1.2")]
    Tls12,
    /// Such a port, encrypted by TLS 1.3.
    #[serde(rename = "tls1.3")]
    Tls13,
}

impl Transport {
    /// All of them, with their names in experiments.
    pub const NAMES: &[(&str, Self)] = &[
        ("socket", Self::Socket),
        ("tcp", Self::Tcp),
        ("tls", Self::Tls),
        ("tls1.2", Self::Tls12),
        ("tls1.3", Self::Tls13),
    ];

    /// Its name in experiments.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, known)| *known == self);
        found.map_or("", |(name, _)| name)
    }

    /// The versions of TLS that a connection may have; none where it is not encrypted.
    pub fn tls_versions(self) -> &'static [&'static str] {
        match self {
            Self::Socket | Self::Tcp => &[],
            Self::Tls => &["1.2", "1.3"],
            Self::Tls12 => &["1.2"],
            Self::Tls13 => &["1.3"],
        }
    }

    /// Whether connections are encrypted.
    pub fn is_encrypted(self) -> bool {
        !self.tls_versions().is_empty()
    }
}

/// One setting with the reason for its value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The server's own name of it.
    pub name: String,
    /// The value as the server's configuration writes it.
    pub value: String,
    /// Why it has this value.
    pub reason: String,
    /// Whether servers that do not know it ignore it (named in the record), instead of failing.
    pub optional: bool,
    /// Whether the value is a secret though its name does not say so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub secret: bool,
    /// Other values for older servers: the first version that takes `value` again, and what all
    /// versions before it take. In ascending order of versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<(String, String)>,
    /// How the value follows the size of the plan. None in a plan: it is resolved there.
    #[serde(skip)]
    pub follows: Option<Follows>,
}

impl Setting {
    /// A setting that every server must know, without a reason.
    pub fn of(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into(), ..Self::default() }
    }

    /// Whether its value is not shown.
    pub fn is_secret(&self) -> bool {
        self.secret || secret::is_secret_name(&self.name)
    }
}

impl Build {
    /// Values that are not shown.
    pub fn secrets(&self) -> Vec<&str> {
        let variables = self.environment.iter().filter(|(name, _)| secret::is_secret_name(name));
        let mut found = secret::secrets_in(&self.prefix);
        found.extend(self.attach.iter().flat_map(|attach| secret::secrets_in(&attach.agent)));
        found.extend(variables.map(|(_, value)| value.as_str()));
        found
    }

    /// Whether a build as it is written brings code that is executed: a program of the server or
    /// its source, words before it, variables (which may name libraries), the program of an agent.
    /// Factors may have filled that of a subject.
    pub fn brings_code(&self) -> bool {
        let compiles = &self.compilation;
        self.basedir.is_some()
            || compiles.tree.is_some()
            || compiles.recipe.is_some()
            || !self.prefix.is_empty()
            || !self.environment.is_empty()
            || self.attach.as_ref().is_some_and(|attach| !attach.agent.is_empty())
    }
}

impl Config {
    /// Gives a setting in the place of the one with its name, or after all others.
    pub fn set(&mut self, setting: Setting) {
        // Servers take `-` for `_`.
        let plain = |name: &str| name.replace('-', "_").to_ascii_lowercase();
        let name = plain(&setting.name);
        match self.settings.iter_mut().find(|old| plain(&old.name) == name) {
            Some(old) => *old = setting,
            None => self.settings.push(setting),
        }
    }

    /// Values that are not shown.
    pub fn secrets(&self) -> Vec<&str> {
        let secret = self.settings.iter().filter(|setting| setting.is_secret());
        let mut found = Vec::new();
        for setting in secret {
            found.push(setting.value.as_str());
            found.extend(setting.before.iter().map(|(_, value)| value.as_str()));
        }
        found
    }
}

pub(crate) fn shown_words<S: Serializer>(
    words: &[String],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let secrets = secret::secrets_in(words);
    let shown = words.iter().map(|word| {
        let is_whole = secrets.contains(&word.as_str());
        match word.split_once('=') {
            _ if is_whole => secret::HIDDEN.to_owned(),
            Some((name, value)) => format!("{name}={}", secret::shown(name, value)),
            None => word.clone(),
        }
    });
    serializer.collect_seq(shown)
}

fn shown_variables<S: Serializer>(
    variables: &[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(variables.iter().map(|(name, value)| (name, secret::shown(name, value))))
}

fn shown_settings<S: Serializer>(settings: &[Setting], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(settings.iter().map(|setting| {
        let mut setting = setting.clone();
        if setting.is_secret() {
            secret::HIDDEN.clone_into(&mut setting.value);
            let before = setting.before.iter_mut();
            before.for_each(|(_, value)| secret::HIDDEN.clone_into(value));
        }
        setting
    }))
}

/// A whole number that grows with the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Follows {
    /// What the value is raised to, over `connections` (of the largest phase) and `tables`.
    pub at_least: Expression,
    /// The version's own default stays where the expression is not above this; 0 for never.
    pub only_above: i64,
}

/// `SERVER@VERSION` where a version was put behind the name of a server in another way, as labels
/// have it: `postgres-18`, `mysql:9`.
pub fn version_behind<'a>(
    name: &str,
    mut servers: impl Iterator<Item = &'a str>,
) -> Option<String> {
    let server = servers.find(|server| name.starts_with(server))?;
    let version = name[server.len()..].trim_start_matches(['-', ':', ' ', '=', '_']);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit());
    is_version.then(|| format!("{server}@{version}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_written() {
        let setting = |name: &str, secret| Setting {
            secret,
            before: vec![("8.0".to_owned(), "hunter2".to_owned())],
            ..Setting::of(name, "hunter2")
        };
        let config = Config {
            name: "c".to_owned(),
            settings: vec![setting("plain", true), setting("keyring_password", false)],
            ..Config::default()
        };
        let build = Build {
            prefix: ["wrap", "--token", "hunter2", "KEY=hunter2"].map(str::to_owned).to_vec(),
            environment: vec![
                ("API_TOKEN".to_owned(), "hunter2".to_owned()),
                ("LD_PRELOAD".to_owned(), "/lib/x.so".to_owned()),
            ],
            ..Build::of("mysql", "")
        };
        let text = serde_json::to_string(&(&config, &build)).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("/lib/x.so") && text.contains("KEY=***"), "{text}");
        assert_eq!((config.secrets().len(), build.secrets().len()), (4, 3));
    }
}
