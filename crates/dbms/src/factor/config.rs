//! `config`: a named set of settings, read back from the server.

use super::{Factor, Up};
use crate::{Places, version::setting_value};
use model::{
    Levels,
    secret::HIDDEN,
    subject::{Setting, Subject},
};
use std::collections::BTreeMap;

/// The factor.
pub(super) struct Config;

impl Factor for Config {
    fn name(&self) -> &'static str {
        "config"
    }

    fn help(&self) -> &'static str {
        "a configuration of the catalog or of `[configs.NAME]`"
    }

    /// The planner has found the settings in the catalog.
    fn give(&self, _: &str, _: &mut Subject, _: &Places) -> Result<(), String> {
        Ok(())
    }

    fn missed(&self, up: &Up<'_>) -> Option<String> {
        let first = differing(&up.subject.config.settings, up.version, up.settings?).into_iter();
        first.map(|text| format!("{text}; set what it can take")).next()
    }
}

/// One sentence for each setting of which the server reports another value than was asked for, both
/// hidden if it is a secret. What it does not report is not compared.
pub fn differing(settings: &[Setting], version: &str, reported: &Levels) -> Vec<String> {
    let reported: BTreeMap<String, &String> =
        reported.iter().map(|(name, value)| (plain_name(name), value)).collect();
    let compare = |setting: &Setting| {
        let value = reported.get(&plain_name(&setting.name))?;
        let asked = setting_value(setting, version);
        if same(asked, value) {
            return None;
        }
        let hidden = setting.is_secret().then_some(HIDDEN);
        let (asked, value) = (hidden.unwrap_or(asked), hidden.unwrap_or(value));
        let name = &setting.name;
        Some(format!("`{name}` was set to `{asked}`, but the server reports `{value}`"))
    };
    settings.iter().filter_map(compare).collect()
}

fn plain_name(name: &str) -> String {
    name.trim_start_matches("loose_").replace('-', "_").to_ascii_lowercase()
}

/// Whether two ways of writing mean one value: `1G` and `1073741824`, `off` and `0`.
fn same(asked: &str, reported: &str) -> bool {
    let (asked, reported) = (asked.trim(), reported.trim());
    match (number(asked), number(reported)) {
        (Some(asked), Some(reported)) => (asked - reported).abs() <= 1e-9 * asked.abs(),
        _ => asked.eq_ignore_ascii_case(reported),
    }
}

/// A value as a number: truth values, the levels of SQLite's `synchronous`, sizes.
fn number(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "on" | "true" | "yes" | "normal" => return Some(1.0),
        "off" | "false" | "no" => return Some(0.0),
        "full" => return Some(2.0),
        _ => {}
    }
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &lower[digits.len()..] {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1024.0_f64.powi(2),
        "g" | "gb" => 1024.0_f64.powi(3),
        "t" | "tb" => 1024.0_f64.powi(4),
        _ => return None,
    };
    digits.trim().parse::<f64>().ok().map(|value| value * unit)
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn ways_of_writing_one_value_are_the_same() {
        let check = |asked: &str, reported: &str, expected: bool| {
            assert_eq!(same(asked, reported), expected, "{asked} {reported}");
        };
        check("1G", "1073741824", true);
        check("1GB", "1024MB", true);
        check("off", "OFF", true);
        check("OFF", "0", true);
        check("30min", "30min", true);
        check("O_DIRECT", "o_direct", true);
        check("FULL", "2", true);
        check("-1048576", "-1048576", true);
        check("1G", "134217728", false);
        check("on", "OFF", false);
        check("minimal", "replica", false);
    }
}
