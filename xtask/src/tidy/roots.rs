//! The root of every crate says what the crate is, and forbids unsafe code.

use super::Rule;
use crate::repository::{File, Repository};

/// Crates that have unsafe code, and why; each such module allows it by name.
const UNSAFE: &[(&str, &str)] = &[
    ("crates/load/", "clocks, and the C interface of embedded engines"),
    ("crates/probe/", "steps tasks by ptrace"),
    ("crates/dbms/", "ends and reaps processes between fork and exec"),
];

/// The first lines of libraries and programs.
pub(super) const RULE: Rule = Rule { name: "roots", check };

fn check(repository: &Repository) -> Vec<String> {
    let ends = ["src/lib.rs", "src/main.rs"];
    ends.iter().flat_map(|end| repository.ending(end)).flat_map(check_root).collect()
}

fn check_root(file: &File) -> Vec<String> {
    let path = &file.path;
    let mut findings = Vec::new();
    let told = file.text.lines().take_while(|line| line.starts_with("//!")).count();
    let least = if path.ends_with("lib.rs") { 3 } else { 1 };
    if told < least {
        findings.push(format!(
            "{path} must begin with `//!`: what it is, what it must not know, what to read first"
        ));
    }
    let may = UNSAFE.iter().any(|(folder, _)| path.starts_with(folder));
    if !may && !file.text.contains("\n#![forbid(unsafe_code)]\n") {
        findings.push(format!("{path} lacks `#![forbid(unsafe_code)]`"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_tells_and_forbids() {
        let told = "//! A.\n//!\n//! B.\n\n";
        for (path, text, expected) in [
            ("crates/x/src/lib.rs", format!("{told}#![forbid(unsafe_code)]\n"), 0),
            ("crates/x/src/lib.rs", told.to_owned(), 1),
            ("crates/load/src/lib.rs", told.to_owned(), 0),
            ("src/main.rs", "fn main() {}".to_owned(), 2),
            ("src/other.rs", String::new(), 0),
        ] {
            let findings = super::check(&Repository::of(&[(path, &text)]));
            assert_eq!(findings.len(), expected, "{path} {findings:?}");
        }
    }
}
