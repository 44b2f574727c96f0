//! The rules of STYLE.md and ARCHITECTURE.md that a program can check: one file per rule and the
//! table of them.

mod blobs;
mod cycles;
mod dependencies;
mod functions;
mod graph;
mod length;
mod markdown;
mod roots;
mod seams;
mod words;

use crate::{repository::Repository, say};

/// One rule.
pub(crate) struct Rule {
    /// Name: the file's stem.
    name: &'static str,
    /// Everything that breaks the rule, one sentence each, beginning with the place.
    check: fn(&Repository) -> Vec<String>,
}

/// In the order of their findings.
pub(crate) const RULES: &[Rule] = &[
    length::RULE,
    functions::RULE,
    words::RULE,
    roots::RULE,
    seams::RULE,
    graph::RULE,
    cycles::RULE,
    dependencies::RULE,
    markdown::RULE,
    blobs::RULE,
];

/// Checks this repository and tells every finding.
pub(crate) fn execute() -> anyhow::Result<()> {
    let repository = Repository::open()?;
    let findings = findings(&repository);
    findings.iter().for_each(|finding| say(finding));
    anyhow::ensure!(findings.is_empty(), "{} places break the rules above", findings.len());
    say(&format!("tidy: {} files keep {} rules", repository.files().len(), RULES.len()));
    Ok(())
}

fn findings(repository: &Repository) -> Vec<String> {
    let of = |rule: &Rule| -> Vec<String> {
        let found = (rule.check)(repository).into_iter();
        found.map(|finding| format!("{finding} [{}]", rule.name)).collect()
    };
    RULES.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_keeps_its_rules() {
        let findings = findings(&Repository::open().unwrap());
        assert!(findings.is_empty(), "\n{}", findings.join("\n"));
    }
}
