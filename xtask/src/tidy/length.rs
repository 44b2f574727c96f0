//! Lines fit 100 columns and files are short.

use super::Rule;
use crate::repository::{File, Repository};

/// Columns of a line of Rust.
const COLUMNS: usize = 100;

/// Lines of a file of Rust, without its tests at the end.
const LINES: usize = 500;

/// Lengths of lines and files.
pub(super) const RULE: Rule = Rule { name: "length", check };

fn check(repository: &Repository) -> Vec<String> {
    repository.ending(".rs").flat_map(|file| wide(file).chain(long(file))).collect()
}

fn wide(file: &File) -> impl Iterator<Item = String> {
    let columns = |line: &str| line.chars().count();
    let wide = file.text.lines().enumerate().filter(move |(_, line)| columns(line) > COLUMNS);
    wide.map(move |(index, line)| {
        format!("{}:{} has {} columns, at most {COLUMNS}", file.path, index + 1, columns(line))
    })
}

fn long(file: &File) -> Option<String> {
    let lines = without_tests(&file.text);
    let path = &file.path;
    (lines > LINES).then(|| format!("{path} has {lines} lines without its tests, at most {LINES}"))
}

/// Lines before the module of tests that ends a file.
fn without_tests(text: &str) -> usize {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).rposition(|two| {
        two[0] == "#[cfg(test)]" && two[1].starts_with("mod tests") && two[1].ends_with('{')
    });
    tests.unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_lines_and_long_files_are_found_without_their_tests() {
        let line = |columns: usize| "x".repeat(columns);
        let body = |lines: usize| "x\n".repeat(lines);
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(super::check(&Repository::of(&[("a.rs", text)])), expected);
        };
        check(&line(100), &[]);
        check(&format!("{}\n{}", line(3), line(101)), &["a.rs:2 has 101 columns, at most 100"]);
        check(&"é".repeat(100), &[]);
        check(&body(500), &[]);
        check(&body(501), &["a.rs has 501 lines without its tests, at most 500"]);
        check(&format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", body(500), body(100)), &[]);
    }
}
