//! How long names may be: they stand in every title, row and chart.

use crate::{Cell, Found, number};
use std::collections::BTreeMap;

/// Characters of the longest name; file systems have no longer ones.
const CHARS_MAX: usize = 255;

/// A name that is not kept whole if it is too long, and still is too long then.
pub(crate) fn capped(name: &str) -> &str {
    name.char_indices().nth(CHARS_MAX + 1).map_or(name, |(end, _)| &name[..end])
}

/// Whether a name may stand for something.
pub(crate) fn is_short(name: &str) -> bool {
    name.len() <= CHARS_MAX || name.chars().count() <= CHARS_MAX
}

/// Leaves out what has a name that is too long, with a warning at its first line: a shorter one
/// could be that of something else.
pub(crate) fn check(found: &mut Found) {
    let mut told: BTreeMap<String, u32> = BTreeMap::new();
    found.values.retain(|value| match too_long(&value.cell) {
        Some(name) => {
            told.entry(number::excerpt(name)).or_insert(value.line);
            false
        }
        None => true,
    });
    found.subjects.retain(|subject| is_short(subject));
    for (name, line) in told {
        let reason = format!(
            "the name `{name}` has more than {CHARS_MAX} characters, so what it names is left out"
        );
        found.warn(line, reason);
    }
}

fn too_long(cell: &Cell) -> Option<&str> {
    let names =
        [&cell.subject, &cell.phase, &cell.workload].into_iter().chain(cell.levels.values());
    names.map(String::as_str).find(|name| !is_short(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted_in_characters() {
        let check = |name: &str, short: bool, kept: usize| {
            assert_eq!((is_short(name), capped(name).chars().count()), (short, kept));
        };
        check("", true, 0);
        check(&"é".repeat(255), true, 255);
        check(&"é".repeat(256), false, 256);
        check(&"x".repeat(1 << 20), false, 256);
    }
}
