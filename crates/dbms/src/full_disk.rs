//! Telling a full disk of the host from a fault of a server or of a build.

/// What is said where a disk takes nothing more, in pieces: by the system, by SQLite, and by MySQL
/// and MariaDB.
const SAID: [&[&str]; 5] = [
    &["No space left on device"],
    &["Disk quota exceeded"],
    &["Read-only file system"],
    &["database or disk is full"],
    &["The table '", "' is full"],
];

/// Whether a text, of a server, of a build or of the system, says that a disk takes nothing more.
pub fn is_full_disk(text: &str) -> bool {
    SAID.iter().any(|pieces| pieces.iter().all(|piece| text.contains(piece)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_by_the_words_of_systems_and_servers() {
        let postgres = "53100: could not extend file \"base/5/16384\": No space left on device";
        assert!(is_full_disk(postgres) && is_full_disk("database or disk is full"));
        assert!(is_full_disk("Error writing file 'x' (OS errno 28 - No space left on device)"));
        assert!(is_full_disk("1 of 9 operations failed (1114: The table 'pi1' is full)"));
        assert!(!is_full_disk("The table 'pi1' doesn't exist") && !is_full_disk(""));
    }
}
