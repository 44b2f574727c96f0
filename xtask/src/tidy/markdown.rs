//! A document begins with its one title.

use super::Rule;
use crate::repository::{File, Repository};

/// Titles of documents.
pub(super) const RULE: Rule = Rule { name: "markdown", check };

fn check(repository: &Repository) -> Vec<String> {
    repository.ending(".md").filter_map(check_file).collect()
}

fn check_file(file: &File) -> Option<String> {
    let path = &file.path;
    if !file.text.starts_with("# ") {
        return Some(format!("{path} does not begin with a title, `# …`"));
    }
    let mut code = false;
    let titles = file.text.lines().filter(|line| {
        code ^= line.trim_start().starts_with("```");
        !code && line.starts_with("# ")
    });
    let count = titles.count();
    (count > 1).then(|| format!("{path} has {count} titles `# …`: sections begin with `##`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(super::check(&Repository::of(&[("a.md", text)])), expected, "{text}");
    }

    #[test]
    fn a_document_has_one_title_and_it_comes_first() {
        check("# Title\n\n## Part\n", &[]);
        check("# Title\n```\n# a comment of a shell\n```\n", &[]);
        check("text\n# Title\n", &["a.md does not begin with a title, `# …`"]);
        check("# One\n# Two\n", &["a.md has 2 titles `# …`: sections begin with `##`"]);
    }
}
