//! Command lines that a user can paste into a shell.

/// A word as a POSIX shell reads it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=@,:+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in [
            ("rows=1000", "rows=1000"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("factors.build=[\"sqlite\"]", "'factors.build=[\"sqlite\"]'"),
            ("$HOME;`x`", "'$HOME;`x`'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
