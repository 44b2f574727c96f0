//! Areas of a server's source: `catalog/areas/SERVER.toml`.

use crate::source::{Fault, Under};
use model::explanation::{Area, SourceParts};
use serde::Deserialize;

/// A file of areas.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WireAreas {
    /// One line of help.
    #[serde(rename = "help")]
    _help: String,
    /// Another server whose areas follow.
    pub(crate) extends: Option<String>,
    /// In the order in which they are tried.
    area: Vec<WireArea>,
    /// Rare events.
    #[serde(default)]
    rare: Vec<WireArea>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireArea {
    name: String,
    functions: Vec<String>,
}

impl WireAreas {
    pub(crate) fn check(self) -> Result<SourceParts, Fault> {
        let all = |parts: Vec<WireArea>, key| {
            let checked = parts
                .into_iter()
                .enumerate()
                .map(|(index, part)| check(part).under("functions").under(index).under(key));
            checked.collect::<Result<Vec<Area>, Fault>>()
        };
        Ok(SourceParts { areas: all(self.area, "area")?, rare: all(self.rare, "rare")? })
    }
}

fn check(area: WireArea) -> Result<Area, Fault> {
    let WireArea { name, functions } = area;
    match functions.iter().any(|pattern| pattern.trim_matches('*').is_empty()) {
        true => Err(Fault::invalid(format!("`{name}` has a pattern that every function matches"))),
        false => Ok(Area { name, functions }),
    }
}
