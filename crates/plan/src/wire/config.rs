//! Configuration files: `catalog/configs/SERVER/*.toml`, and `[configs.NAME]` of an experiment.

use super::value::{Ordered, Scalar, ScalarVisitor};
use crate::source::{Fault, Under};
use model::subject::{Config, Setting, Transport};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

/// A whole file or table: what differs from the one that it extends.
#[derive(Debug, Clone, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireConfig {
    pub(crate) help: Option<String>,
    pub(crate) extends: Option<String>,
    engine: Option<String>,
    transport: Option<Transport>,
    settings: Ordered<WireSetting>,
}

/// `{ value, reason, optional }`, or the value alone.
#[derive(Debug, Clone)]
struct WireSetting {
    value: String,
    reason: String,
    optional: bool,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFullSetting {
    value: Scalar,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    optional: bool,
}

impl WireSetting {
    fn bare(value: Scalar) -> Self {
        Self { value: value.0, reason: String::new(), optional: false }
    }
}

impl WireConfig {
    /// This configuration over the one that it extends.
    pub(crate) fn over(self, name: &str, base: Option<Config>) -> Result<Config, Fault> {
        let mut config = base.unwrap_or_else(|| Config {
            name: String::new(),
            help: String::new(),
            engine: None,
            transport: Transport::Socket,
            settings: Vec::new(),
        });
        name.clone_into(&mut config.name);
        config.help = self.help.unwrap_or(config.help);
        config.engine = self.engine.or(config.engine);
        config.transport = self.transport.unwrap_or(config.transport);
        for (name, wire) in self.settings.0 {
            let sane = |text: &str| !text.contains(['\n', '\r', '\0']);
            if name.is_empty() || !sane(&name) || !sane(&wire.value) {
                let reason = "a setting's name and value are one line each";
                return Err(Fault::invalid(reason)).under(name).under("settings");
            }
            let WireSetting { value, reason, optional } = wire;
            let setting = Setting { name, value, reason, optional };
            match config.settings.iter_mut().find(|old| same_name(&old.name, &setting.name)) {
                Some(old) => *old = setting,
                None => config.settings.push(setting),
            }
        }
        Ok(config)
    }
}

/// Servers take `-` for `_` in names of settings.
fn same_name(a: &str, b: &str) -> bool {
    a.replace('-', "_").eq_ignore_ascii_case(&b.replace('-', "_"))
}

struct SettingVisitor;

impl<'de> Visitor<'de> for SettingVisitor {
    type Value = WireSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a table such as { value = \"1G\", reason = \"…\" }")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<WireSetting, E> {
        ScalarVisitor.visit_i64(value).map(WireSetting::bare)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<WireSetting, E> {
        ScalarVisitor.visit_f64(value).map(WireSetting::bare)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<WireSetting, E> {
        ScalarVisitor.visit_bool(value).map(WireSetting::bare)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WireSetting, E> {
        ScalarVisitor.visit_str(value).map(WireSetting::bare)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WireSetting, A::Error> {
        let full = WireFullSetting::deserialize(de::value::MapAccessDeserializer::new(map))?;
        Ok(WireSetting { value: full.value.0, reason: full.reason, optional: full.optional })
    }
}

impl<'de> Deserialize<'de> for WireSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}
