//! `environment`: variables of a server's environment.

use super::{Factor, Up, allocator, of_process};
use crate::{Places, task};
use model::{secret, subject::Subject};
use std::path::PathBuf;

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "environment",
    help: "`NAME=VALUE`, several with spaces between them, or empty for none",
    give,
    label,
    missed,
};

fn give(level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
    for word in level.split_whitespace() {
        let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(format!("`{word}` is no variable: write `NAME=VALUE`"));
        };
        if secret::is_secret_name(name) {
            return Err(format!(
                "`{name}` looks like a secret, and levels are shown: set it by \
                 `environment` of `[servers.NAME]`"
            ));
        }
        let preloaded = subject.levels.get(allocator::FACTOR.name);
        if name == allocator::VARIABLE && preloaded.is_some_and(|level| level != allocator::OWN) {
            return Err(format!(
                "`{name}` would take the place of the allocator: write the factor `environment` \
                 before `allocator`, which adds its library to it"
            ));
        }
        subject.build.environment.retain(|(known, _)| known != name);
        subject.build.environment.push((name.to_owned(), value.to_owned()));
    }
    Ok(())
}

/// Paths are shown by their last part.
fn label(level: &str) -> String {
    let last = |word: &str| {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        format!("{name}-{}", value.rsplit('/').next().unwrap_or_default())
    };
    level.split_whitespace().map(last).collect::<Vec<_>>().join("-")
}

fn missed(up: &Up<'_>) -> Option<String> {
    let asked = &up.subject.build.environment;
    if asked.is_empty() {
        return None;
    }
    let found = match of_process(up.pid, "environ") {
        Ok(found) => found,
        Err(reason) => return Some(reason),
    };
    let has = |entry: &str| found.split('\0').any(|known| known == entry);
    let lacking = asked.iter().find(|(name, value)| !has(&format!("{name}={value}")));
    if let Some((name, value)) = lacking {
        let hidden = secret::is_secret_name(name);
        let value = if hidden { secret::HIDDEN } else { value };
        return Some(format!(
            "its process has no `{name}={value}`; check that no program of `prefix` removes it"
        ));
    }
    not_loaded(asked, up.pid)
}

/// An allocator that was asked for and not loaded would make two equal subjects look compared.
pub(crate) fn not_loaded(environment: &[(String, String)], pid: u32) -> Option<String> {
    let preloads = environment.iter().filter(|(name, _)| name == "LD_PRELOAD");
    let mut libraries = preloads.flat_map(|(_, value)| value.split([' ', ':']));
    let missing = libraries.find(|library| {
        // The loader may have followed links: the maps show the file itself.
        let path = std::fs::canonicalize(library).unwrap_or_else(|_| PathBuf::from(library));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        !library.is_empty() && !task::has_mapped(pid, &name)
    });
    missing.map(|library| format!("`{library}` of `LD_PRELOAD` was not loaded"))
}
