//! `config`: a named set of settings, read back from the server.

use super::{Factor, Up};
use crate::{
    Places,
    value::{is_other_form, is_rounded, number_of_word, same_value},
    version::setting_value,
};
use model::{
    Levels,
    secret::HIDDEN,
    subject::{Setting, Subject},
};
use std::{collections::BTreeMap, path::Path};

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "config",
    help: "a configuration of the catalog or of `[configs.NAME]`",
    give,
    label: str::to_owned,
    missed,
};

/// The planner has found the settings in the catalog.
fn give(_: &str, _: &mut Subject, _: &Places) -> Result<(), String> {
    Ok(())
}

fn missed(up: &Up<'_>) -> Option<String> {
    let config = &up.subject.config;
    let product = crate::find(&up.subject.build.server).ok()?;
    // An encrypted transport has settings of its own in the place of these.
    let own = match config.transport.is_encrypted() {
        true => product.tls_settings(up.version, [Path::new(""); 2]),
        false => Vec::new(),
    };
    let is_own = |one: &Setting| own.iter().any(|(name, _)| *name == plain_name(&one.name));
    let asked = config.settings.iter().filter(|one| !is_own(one)).cloned();
    let asked: Vec<Setting> = asked.collect();
    let first = differing(&asked, up.version, up.settings?).into_iter();
    first.map(|text| format!("{text}; set what it can take")).next()
}

/// One sentence for each setting of which the server reports another value than was asked for, both
/// hidden if it is a secret. What it does not report is not compared.
pub fn differing(settings: &[Setting], version: &str, reported: &Levels) -> Vec<String> {
    let reported: BTreeMap<String, &String> =
        reported.iter().map(|(name, value)| (plain_name(name), value)).collect();
    let compare = |setting: &Setting| {
        let plain = plain_name(&setting.name);
        let value = reported.get(&plain)?;
        let asked = setting_value(setting, version);
        let number = number_of_word(&plain, asked);
        if same_value(asked, value)
            || number.is_some_and(|number| same_value(&number, value))
            || is_rounded(&plain, asked, value)
            || is_other_form(&plain, asked, value)
        {
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
