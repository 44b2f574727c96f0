//! Every dependency has a reason, and a version in one place.

use super::Rule;
use crate::repository::Repository;

/// Reasons and places of dependencies.
pub(super) const RULE: Rule = Rule { name: "dependencies", check };

fn check(repository: &Repository) -> Vec<String> {
    let root = repository.ending("Cargo.toml").filter(|file| file.path == "Cargo.toml");
    let mut findings: Vec<String> = root.flat_map(|file| without_reason(&file.text)).collect();
    for file in repository.ending("/Cargo.toml") {
        let lines = section_lines(&file.text, |name| name.ends_with("dependencies"));
        let own = lines.filter(|(_, line)| is_entry(line) && !line.contains("workspace = true"));
        findings.extend(own.map(|(number, line)| {
            let name = line.split([' ', '.', '=']).next().unwrap_or_default();
            let path = &file.path;
            format!("{path}:{number} `{name}` has a version of its own: use the workspace's")
        }));
    }
    findings
}

/// The workspace's dependencies on others without a comment above their block of lines.
fn without_reason(text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut told = false;
    for (number, line) in section_lines(text, |name| name == "workspace.dependencies") {
        if line.starts_with('#') {
            told = true;
        } else if line.is_empty() {
            told = false;
        } else if is_entry(line) && !told && !line.contains("path = \"crates/") {
            let name = line.split([' ', '.', '=']).next().unwrap_or_default();
            findings.push(format!(
                "Cargo.toml:{number} `{name}` has no comment above it that says what it is for"
            ));
        }
    }
    findings
}

fn is_entry(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_alphabetic())
}

/// Numbered lines of the sections whose names are wanted.
fn section_lines<'a>(
    text: &'a str,
    wanted: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (usize, &'a str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if let Some(name) = line.strip_prefix('[') {
            inside = wanted(name.trim_end().trim_end_matches(']'));
            return None;
        }
        inside.then_some((index + 1, line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_covers_the_lines_below_it_up_to_a_gap() {
        let text = "[workspace.dependencies]\nmodel = { path = \"crates/model\" }\n\n# Why.\n\
                    a = \"1\"\nb = \"1\"\n\nc = \"1\"\n[profile.dev]\nd = 1\n";
        let expected = "Cargo.toml:8 `c` has no comment above it that says what it is for";
        assert_eq!(super::check(&Repository::of(&[("Cargo.toml", text)])), [expected]);
    }

    #[test]
    fn versions_stand_in_the_workspace() {
        let text = "[package]\nversion = \"1\"\n[dependencies]\na.workspace = true\nb = \"1\"\n\
                    [dev-dependencies]\nc = { workspace = true, features = [\"x\"] }\n";
        let findings = super::check(&Repository::of(&[("crates/x/Cargo.toml", text)]));
        let expected = "crates/x/Cargo.toml:5 `b` has a version of its own: use the workspace's";
        assert_eq!(findings, [expected]);
    }
}
