//! Words that no file may hold, each with the reason.

use super::Rule;
use crate::repository::{File, Repository};

/// A word, the files it concerns, and why it must not be there.
struct Word {
    /// Written in two parts, so that this file does not hold it itself.
    parts: [&'static str; 2],
    /// Endings of the names of the files that are checked; empty means all.
    files: &'static [&'static str],
    reason: &'static str,
}

const RUST: &[&str] = &[".rs"];

/// Texts that users meet; the documents also quote output of earlier versions.
const TEXTS: &[&str] = &[".rs", ".toml"];

const WORDS: &[Word] = &[
    word("/wo", "rk/", &[], "a path of one machine: name the folder from the repository's root"),
    word("/ro", "ot/", &[], "a path of one machine: ask the environment for the home folder"),
    word("issue", " #", &[], "a number that readers cannot follow: say what is meant"),
    word("helper", " session", &[], "the repository speaks of dbdyno alone"),
    word(
        "artif",
        "actory",
        &[],
        "the host of one site's registry: leave it to the clients' settings",
    ),
    word("FIX", "ME", &[], "unfinished: finish it, or say in a sentence what is missing and why"),
    word("X", "XX", RUST, "unfinished: finish it, or say in a sentence what is missing and why"),
    word("TO", "DO", RUST, "unfinished: finish it, or say in a sentence what is missing and why"),
    word("todo", "!(", RUST, "unfinished: return an error that says what is missing"),
    word("unimple", "mented!(", RUST, "unfinished: return an error that says what is missing"),
    word("dea", "rer", TEXTS, "a private word: say `slower`, `more expensive` or the ratio"),
    word("debts", " left", TEXTS, "a private word: say `background work pending`"),
    word("pays its", " debts", TEXTS, "a private word: say `finishes pending background work`"),
    word("foreign", " archive", &[], "say `third-party archive`"),
    word("use std", "::fs;", RUST, "errors without a path: use `fs_err`"),
    word("std::fs::", "read", SHIPPED, "errors without a path: use `fs_err`"),
    word("std::fs::", "write", SHIPPED, "errors without a path: use `fs_err`"),
    word("std::fs::", "create", SHIPPED, "errors without a path: use `fs_err`"),
    word("std::fs::", "remove", SHIPPED, "errors without a path: use `fs_err`"),
    word("std::fs::", "rename", SHIPPED, "errors without a path: use `fs_err`"),
    word("std::fs::", "copy", SHIPPED, "errors without a path: use `fs_err`"),
];

/// Rust that is not a test of its own: tests may panic without naming the file.
const SHIPPED: &[&str] = &["src/*.rs"];

const fn word(
    first: &'static str,
    rest: &'static str,
    files: &'static [&'static str],
    reason: &'static str,
) -> Word {
    Word { parts: [first, rest], files, reason }
}

/// Words that are not ours.
pub(super) const RULE: Rule = Rule { name: "words", check };

fn check(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    for word in WORDS {
        let text = word.parts.concat();
        for file in repository.files().iter().filter(|file| word.concerns(file)) {
            let lines = file.text.lines().enumerate().filter(|(_, line)| line.contains(&text));
            findings.extend(lines.map(|(index, _)| {
                format!("{}:{} says `{text}`: {}", file.path, index + 1, word.reason)
            }));
        }
    }
    findings
}

impl Word {
    fn concerns(&self, file: &File) -> bool {
        let path = &file.path;
        let fits = |pattern: &&str| match pattern.split_once('*') {
            Some((folder, end)) => {
                (path.starts_with(folder) || path.contains(&format!("/{folder}")))
                    && path.ends_with(end)
            }
            None => path.ends_with(*pattern),
        };
        self.files.is_empty() || self.files.iter().any(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        let findings = super::check(&Repository::of(&[(path, text)]));
        assert_eq!(findings.len(), expected, "{path}: {findings:?}");
    }

    #[test]
    fn words_are_found_in_the_files_they_concern() {
        for word in WORDS {
            let text = format!("a\n{}b\n", word.parts.concat());
            check("crates/x/src/x.rs", &text, 1);
        }
        check("x.md", "see FIX", 0);
        check("x.md", &["see FIX", "ME"].concat(), 1);
        check("x.md", &["TO", "DO"].concat(), 0);
        check("crates/x/tests/x.rs", &["std::fs::", "write(a)"].concat(), 0);
        check("src/x.rs", &["std::fs::", "write(a)"].concat(), 1);
    }

    #[test]
    fn a_finding_names_the_place_and_the_remedy() {
        let text = ["a\nuse std", "::fs;"].concat();
        let findings = super::check(&Repository::of(&[("src/x.rs", &text)]));
        let expected = ["src/x.rs:2 says `use std", "::fs;`: errors without a path: use `fs_err`"];
        assert_eq!(findings, [expected.concat()]);
    }
}
