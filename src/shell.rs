//! Command lines that a user can paste into a shell.

use std::ffi::OsString;

/// The command line `words` as a shell reads it, with `flag` after its subcommand.
pub(crate) fn with_flag(words: impl Iterator<Item = OsString>, flag: &str) -> String {
    let mut words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
    if !words.iter().any(|word| word == flag) {
        // Options of all commands may stand before the subcommand.
        let run = words.iter().position(|word| word == "run").unwrap_or(1);
        words.insert(words.len().min(run + 1), flag.to_owned());
    }
    words.join(" ")
}

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
    use super::*;

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

    #[test]
    fn a_flag_comes_once_and_before_what_is_no_option() {
        let check = |words: &str, expected: &str| {
            let found = with_flag(words.split('|').map(OsString::from), "--resume");
            assert_eq!(found, expected);
        };
        check("dbdyno|run", "dbdyno run --resume");
        check("./dbdyno|run|--set|a=[1]|--|-x", "./dbdyno run --resume --set 'a=[1]' -- -x");
        check("dbdyno|run|x|--resume", "dbdyno run x --resume");
        check("dbdyno|--color|never|run|x", "dbdyno --color never run --resume x");
    }
}
