//! Configuration files: `catalog/configs/SERVER/*.toml`, and `[configs.NAME]` of an experiment.

use super::value::{Formula, Ordered, SETTING, Scalar};
use crate::source::{Fault, Under};
use model::subject::{Config, Follows, Setting, Transport};
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::{collections::BTreeMap, fmt};

/// A whole file or table: what differs from the one that it extends.
#[derive(Debug, Clone, Default, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct WireConfig {
    pub(crate) help: Option<String>,
    pub(crate) extends: Option<String>,
    engine: Option<String>,
    transport: Option<Transport>,
    session: Option<Vec<String>>,
    settings: Ordered<WireSetting>,
}

/// `{ value, reason, optional, … }`, or the value alone.
#[derive(Debug, Clone, Default)]
pub(super) struct WireSetting {
    value: String,
    reason: String,
    optional: bool,
    secret: bool,
    before: Vec<(String, String)>,
    follows: Option<Follows>,
}

#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireFullSetting {
    value: Scalar,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    secret: bool,
    #[serde(default)]
    before: BTreeMap<String, Scalar>,
    at_least: Option<Formula>,
    #[serde(default)]
    only_above: i64,
}

impl WireSetting {
    fn bare(value: Scalar) -> Self {
        Self { value: value.0, ..Self::default() }
    }
}

impl TryFrom<WireFullSetting> for WireSetting {
    type Error = String;

    fn try_from(full: WireFullSetting) -> Result<Self, String> {
        let mut before: Vec<(Vec<u32>, String, String)> = Vec::new();
        for (version, value) in full.before {
            let numbers: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
            let Ok(numbers) = numbers else {
                return Err(format!("`before` names versions such as \"10.5\", not `{version}`"));
            };
            before.push((numbers, version, value.0));
        }
        before.sort();
        if full.at_least.is_some() && full.value.0.parse::<i64>().is_err() {
            return Err(format!(
                "`at_least` needs a whole number, but the value is `{}`",
                full.value.0
            ));
        }
        let only_above = full.only_above;
        let follows = full.at_least.map(|Formula(at_least)| Follows { at_least, only_above });
        let before = before.into_iter().map(|(_, version, value)| (version, value)).collect();
        let (value, reason, optional) = (full.value.0, full.reason, full.optional);
        Ok(Self { value, reason, optional, secret: full.secret, before, follows })
    }
}

impl WireConfig {
    /// This configuration over the one that it extends.
    pub(crate) fn over(self, name: &str, base: Option<Config>) -> Result<Config, Fault> {
        let mut config = base.unwrap_or_default();
        name.clone_into(&mut config.name);
        config.help = self.help.unwrap_or(config.help);
        config.engine = self.engine.or(config.engine);
        config.transport = self.transport.unwrap_or(config.transport);
        config.session = self.session.unwrap_or(config.session);
        for (name, wire) in self.settings.0 {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            if name.is_empty() || !name.chars().all(is_plain) {
                let shown = name.escape_default();
                let reason = format!(
                    "`{shown}` cannot name a setting: use letters, digits, `_`, `-` and `.`"
                );
                return Err(Fault::invalid(reason)).under(name).under("settings");
            }
            let sane = |text: &str| !text.contains(['\n', '\r', '\0']);
            let values = wire.before.iter().map(|(_, value)| value).chain([&wire.value]);
            if !values.into_iter().all(|value| sane(value)) {
                let reason = "a setting's value is one line";
                return Err(Fault::invalid(reason)).under(name).under("settings");
            }
            let WireSetting { value, reason, optional, secret, before, follows } = wire;
            config.set(Setting { name, value, reason, optional, secret, before, follows });
        }
        Ok(config)
    }
}

struct SettingVisitor;

impl<'de> Visitor<'de> for SettingVisitor {
    type Value = WireSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, or a table such as { value = \"1G\", reason = \"…\" }")
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<WireSetting, E> {
        SETTING.visit_i64(value).map(WireSetting::bare)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<WireSetting, E> {
        SETTING.visit_f64(value).map(WireSetting::bare)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<WireSetting, E> {
        SETTING.visit_bool(value).map(WireSetting::bare)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WireSetting, E> {
        SETTING.visit_str(value).map(WireSetting::bare)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WireSetting, A::Error> {
        let full = WireFullSetting::deserialize(de::value::MapAccessDeserializer::new(map))?;
        WireSetting::try_from(full).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for WireSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}
