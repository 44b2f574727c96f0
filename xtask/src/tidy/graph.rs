//! Crates depend on each other in one direction only, as ARCHITECTURE.md draws it.

use super::Rule;
use crate::repository::Repository;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::{path::Path, process::Command};

/// Each crate and those of ours that it may use. The root package, the command line, may use all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("dbdyno-values", &[]),
    ("dbdyno-model", &["dbdyno-values"]),
    ("dbdyno-plan", &["dbdyno-model", "dbdyno-values"]),
    ("dbdyno-load", &["dbdyno-model", "dbdyno-values"]),
    ("dbdyno-probe", &["dbdyno-model"]),
    ("dbdyno-dbms", &["dbdyno-model"]),
    ("dbdyno-store", &["dbdyno-model", "dbdyno-values"]),
    ("dbdyno-archive", &["dbdyno-model"]),
    ("dbdyno-emulator", &[]),
    ("dbdyno-analysis", &["dbdyno-model", "dbdyno-values"]),
    (
        "dbdyno-runner",
        &["dbdyno-model", "dbdyno-dbms", "dbdyno-emulator", "dbdyno-probe", "dbdyno-store"],
    ),
    ("dbdyno-report", &["dbdyno-model", "dbdyno-analysis", "dbdyno-values"]),
    ("dbdyno-lua", &["dbdyno-model", "dbdyno-load", "dbdyno-report", "dbdyno-values"]),
    ("xtask", &[]),
];

const COMMAND_LINE: &str = "dbdyno";

/// The graph of our own crates.
pub(super) const RULE: Rule = Rule { name: "graph", check };

fn check(repository: &Repository) -> Vec<String> {
    match edges(repository.root()) {
        Ok(edges) => edges.iter().filter_map(|(from, to)| wrong(from, to)).collect(),
        Err(error) => vec![format!("Cargo.toml cannot be read by `cargo metadata`: {error:#}")],
    }
}

fn wrong(from: &str, to: &str) -> Option<String> {
    if from == COMMAND_LINE {
        return None;
    }
    let Some((_, may)) = MAY_USE.iter().find(|(name, _)| *name == from) else {
        return Some(format!(
            "`{from}` is not in the graph: add it to xtask/src/tidy/graph.rs and to ARCHITECTURE.md"
        ));
    };
    (!may.contains(&to)).then(|| format!("`{from}` must not depend on `{to}`: see ARCHITECTURE.md"))
}

/// Pairs of our crates of which the first one uses the second one, outside tests. A crate that uses
/// none of ours is paired with none, so that a new one is noticed.
fn edges(root: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    of_metadata(&serde_json::from_slice(&output.stdout)?)
}

fn of_metadata(metadata: &Value) -> anyhow::Result<Vec<(String, String)>> {
    let packages = metadata["packages"].as_array().context("no packages")?;
    let mut edges = Vec::new();
    for package in packages {
        let from = package["name"].as_str().context("a package without a name")?;
        let uses = package["dependencies"].as_array().context("no dependencies")?;
        let ours = uses.iter().filter(|used| used["path"].is_string() && used["kind"].is_null());
        let names = ours.filter_map(|used| used["name"].as_str());
        edges.extend(names.map(|to| (from.to_owned(), to.to_owned())));
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_drawn_edges_are_permitted() {
        assert_eq!(wrong("dbdyno-plan", "dbdyno-model"), None);
        assert_eq!(wrong("dbdyno", "dbdyno-store"), None);
        let message = wrong("dbdyno-report", "dbdyno-store").unwrap();
        assert!(message.contains("must not depend"), "{message}");
        assert!(wrong("dbdyno-new", "dbdyno-model").unwrap().contains("is not in the graph"));
    }

    #[test]
    fn edges_are_read_from_the_metadata_without_those_of_tests() {
        let text = r#"{"packages": [{"name": "a", "dependencies": [
            {"name": "b", "path": "/b", "kind": null},
            {"name": "c", "path": "/c", "kind": "dev"},
            {"name": "serde", "kind": null}]}]}"#;
        let edges = of_metadata(&serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(edges, [("a".to_owned(), "b".to_owned())]);
        assert!(of_metadata(&Value::Null).is_err());
    }

    #[test]
    fn the_graph_itself_has_no_way_back() {
        for (index, (name, may)) in MAY_USE.iter().enumerate() {
            for used in *may {
                let place = MAY_USE.iter().position(|(other, _)| other == used);
                assert!(place.is_some_and(|place| place < index), "{name} uses {used}");
            }
        }
    }
}
