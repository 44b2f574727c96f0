//! No large files: version control keeps them for ever.

use super::Rule;
use crate::repository::Repository;

/// Sizes of files.
pub(super) struct Blobs;

/// Bytes of a file, at most.
const BYTES: u64 = 200_000;

impl Rule for Blobs {
    fn name(&self) -> &'static str {
        "blobs"
    }

    fn check(&self, repository: &Repository) -> Vec<String> {
        let large = repository.files().iter().filter(|file| file.bytes > BYTES);
        large
            .map(|file| format!("{} has {} bytes, at most {BYTES}", file.path, file.bytes))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_files_are_found() {
        let (small, large) = ("x".repeat(200_000), "x".repeat(200_001));
        let findings = Blobs.check(&Repository::of(&[("a", &small), ("b", &large)]));
        assert_eq!(findings, ["b has 200001 bytes, at most 200000"]);
    }
}
