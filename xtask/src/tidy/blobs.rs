//! No large files: version control keeps them for ever.

use super::Rule;
use crate::repository::{File, Repository};

/// Bytes of a file, at most.
const BYTES: u64 = 200_000;

/// Bytes of a worked example's report, at most: what reports promise themselves.
const REPORT: u64 = 2_000_000;

/// What a file may have.
fn limit(path: &str) -> u64 {
    let is_report = path.starts_with("docs/examples/") && path.ends_with(".html");
    if is_report { REPORT } else { BYTES }
}

/// Sizes of files.
pub(super) const RULE: Rule = Rule { name: "blobs", check };

fn check(repository: &Repository) -> Vec<String> {
    let large = repository.files().iter().filter(|file| file.bytes > limit(&file.path));
    let said = |file: &File| {
        format!("{} has {} bytes, at most {}", file.path, file.bytes, limit(&file.path))
    };
    large.map(said).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_found() {
        let (small, large) = ("x".repeat(200_000), "x".repeat(200_001));
        let report = "docs/examples/one.html";
        let findings =
            super::check(&Repository::of(&[("a", &small), ("b", &large), (report, &large)]));
        assert_eq!(findings, ["b has 200001 bytes, at most 200000"]);
        let huge = "x".repeat(2_000_001);
        let findings = super::check(&Repository::of(&[(report, &huge)]));
        assert_eq!(findings, [format!("{report} has 2000001 bytes, at most 2000000")]);
    }
}
