//! The structure of a TOML text: which line a key is on, and which key stands at an offset.

use toml::de::{DeTable, DeValue};

/// A parsed text with the places of its keys. Parse once for many questions.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    root: Option<DeTable<'a>>,
    /// Offsets of the line breaks.
    breaks: Vec<usize>,
}

impl<'a> Tree<'a> {
    /// The structure of `text`; of one that is not TOML only the lines.
    pub(crate) fn new(text: &'a str) -> Self {
        let root = DeTable::parse(text).ok().map(toml::Spanned::into_inner);
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { root, breaks: breaks.map(|(at, _)| at).collect() }
    }

    /// The line of a byte, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        1 + self.breaks.partition_point(|end| *end < offset)
    }

    /// The line of the value at `path`; of the nearest table around it, if it is not in the text.
    pub(crate) fn line_of(&self, path: &[String]) -> Option<usize> {
        self.find(path).0.map(|offset| self.line(offset))
    }

    /// Whether the text has a value at `path`.
    pub(crate) fn has(&self, path: &[String]) -> bool {
        self.find(path).1 == path.len()
    }

    /// Byte offset of the deepest part of `path` that exists, and how deep that is.
    fn find(&self, path: &[String]) -> (Option<usize>, usize) {
        let Some(root) = &self.root else { return (None, 0) };
        let Some(first) = path.first() else { return (None, 0) };
        let Some((key, mut value)) = root.get_key_value(first.as_str()) else { return (None, 0) };
        let mut offset = key.span().start;
        for (depth, step) in path.iter().enumerate().skip(1) {
            let next = match value.get_ref() {
                DeValue::Table(table) => {
                    table.get_key_value(step.as_str()).map(|(key, value)| (key.span(), value))
                }
                DeValue::Array(items) => {
                    let item = step.parse().ok().and_then(|index: usize| items.get(index));
                    item.map(|value| (value.span(), value))
                }
                _ => None,
            };
            match next {
                Some((span, deeper)) => (offset, value) = (span.start, deeper),
                None => return (Some(offset), depth),
            }
        }
        (Some(offset), path.len())
    }

    /// The key at a byte or around it, dotted (`arrival.per_second`); places in lists are left out.
    pub(crate) fn key_at(&self, offset: usize) -> String {
        let mut names = Vec::new();
        if let Some(root) = &self.root {
            in_table(root, offset, &mut names);
        }
        names.join(".")
    }
}

/// Adds the names that lead to the byte; false if it is not in the table.
fn in_table(table: &DeTable<'_>, offset: usize, names: &mut Vec<String>) -> bool {
    for (key, value) in table {
        names.push(key.get_ref().to_string());
        // A table with a header of its own does not lie within its key's.
        if in_value(value, offset, names) || key.span().contains(&offset) {
            return true;
        }
        names.pop();
    }
    false
}

fn in_value(value: &toml::Spanned<DeValue<'_>>, offset: usize, names: &mut Vec<String>) -> bool {
    let inside = match value.get_ref() {
        DeValue::Table(table) => in_table(table, offset, names),
        DeValue::Array(items) => items.iter().any(|item| in_value(item, offset, names)),
        _ => false,
    };
    inside || value.span().contains(&offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\n\n[b]\nc = [\n  1,\n  2]\n[[d]]\nx = 1\n[[d]]\nx = { y = 2 }\n";

    #[test]
    fn lines_of_values_are_found() {
        let tree = Tree::new(TEXT);
        let line = |path: &[&str]| {
            let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
            tree.line_of(&path)
        };
        assert_eq!(line(&["a"]), Some(1));
        assert_eq!(line(&["b", "c", "1"]), Some(6));
        assert_eq!(line(&["d", "1", "x"]), Some(10));
        assert_eq!(line(&["b", "nothing"]), Some(3));
        assert_eq!(line(&["nothing"]), None);
    }

    #[test]
    fn the_key_at_a_byte_is_found() {
        let tree = Tree::new(TEXT);
        let check = |part: &str, expected: &str| {
            let offset = TEXT.find(part).unwrap();
            assert_eq!(tree.key_at(offset), expected, "{part}");
        };
        check("a = 1", "a");
        check("1\n\n", "a");
        check("2]", "b.c");
        check("[b]", "b");
        check("2 }", "d.x.y");
        assert_eq!(Tree::new("a = ").key_at(0), "");
    }
}
