//! The notes of people beside an archive or in a results folder.

use crate::{Error, source::Source};
use model::notes::Notes;
use std::path::Path;

/// Name of the file.
pub const NOTES: &str = "notes.toml";

/// The notes in a folder, or none if it has no [`NOTES`]. Fails for a file that cannot be read or
/// is not understood, and names the line.
pub fn notes_in(folder: &Path) -> Result<Notes, Error> {
    let path = folder.join(NOTES);
    if !path.is_file() {
        return Ok(Notes::default());
    }
    Source::read(&path)?.parse()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_read_and_a_wrong_key_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(notes_in(folder.path()).unwrap(), Notes::default());
        let path = folder.path().join(NOTES);
        fs_err::write(&path, "hardware = \"8 cores\"\n[tests]\nscan = \"not cached\"\n").unwrap();
        let notes = notes_in(folder.path()).unwrap();
        assert_eq!(
            (notes.hardware.as_str(), notes.tests["scan"].as_str()),
            ("8 cores", "not cached")
        );
        fs_err::write(&path, "\nhardwear = \"8 cores\"\n").unwrap();
        let error = notes_in(folder.path()).unwrap_err().to_string();
        assert!(error.contains("notes.toml:2") && error.contains("hardware"), "{error}");
    }
}
