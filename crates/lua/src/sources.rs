//! The files of a script: each is read here and nowhere else, so that their sums are known.

use crate::shared::{Shared, held};
use model::lua::LuaFile;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Reads a file that a script is made of, and notes it. The line of an interpreter at its head
/// becomes a comment.
///
/// # Errors
/// It cannot be read, or is not what was looked at before: one sentence.
pub(crate) fn read(shared: &Shared, path: &str) -> Result<Vec<u8>, String> {
    let mut source = fs_err::read(path).map_err(|error| error.to_string())?;
    let found = LuaFile { path: absolute(path), sha256: sum(&source) };
    if let Some(expected) = &shared.expected {
        check(expected, &found)?;
    }
    let mut files = held(&shared.files);
    if !files.contains(&found) {
        files.push(found);
    }
    drop(files);
    if source.starts_with(b"#") {
        source.splice(..1, *b"--");
    }
    Ok(source)
}

fn check(expected: &[LuaFile], found: &LuaFile) -> Result<(), String> {
    let path = &found.path;
    match expected.iter().find(|known| known.path == *path) {
        None => Err(format!(
            "`{path}` was not loaded when the run was planned: `require` it where the script \
             begins, so that the record can name it"
        )),
        Some(known) if known.sha256 != found.sha256 => {
            Err(format!("`{path}` has changed since the run was planned; start a new run"))
        }
        Some(_) => Ok(()),
    }
}

/// The path from the root, if the file is there.
pub(crate) fn absolute(path: &str) -> String {
    let found = fs_err::canonicalize(Path::new(path));
    found.map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_one_that_was_looked_at_or_refused() {
        let file = |path: &str, sha256: &str| LuaFile { path: path.into(), sha256: sha256.into() };
        let expected = [file("/a.lua", "1"), file("/b.lua", "2")];
        assert_eq!(check(&expected, &file("/b.lua", "2")), Ok(()));
        let told = |found: LuaFile| check(&expected, &found).unwrap_err();
        assert!(told(file("/b.lua", "1")).contains("`/b.lua` has changed"));
        assert!(told(file("/c.lua", "1")).contains("`/c.lua` was not loaded"));
    }

    #[test]
    fn a_sum_is_that_of_the_bytes() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sum(b""), empty);
    }
}
