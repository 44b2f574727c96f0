//! Collects what readers of a table must know, without repeating it for each slice.

use std::collections::{BTreeMap, BTreeSet};

/// Phases named in a sentence before it says how many more there are.
const NAMED: usize = 3;

/// Warnings by text and subject.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Warnings {
    found: BTreeMap<(String, String), Found>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Found {
    count: u64,
    phases: BTreeSet<(u32, String)>,
}

/// Where something was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) subject: &'a str,
    pub(crate) phase: &'a str,
    pub(crate) position: u32,
}

impl Warnings {
    /// Adds `count` cases of `text` at one place; nothing if there are none.
    pub(crate) fn add(&mut self, place: Place<'_>, text: &str, count: u64) {
        if count == 0 {
            return;
        }
        let key = (text.to_owned(), place.subject.to_owned());
        let found = self.found.entry(key).or_default();
        found.count += count;
        found.phases.insert((place.position, place.phase.to_owned()));
    }

    /// Whether this text is told of any subject.
    pub(crate) fn hold(&self, text: &str) -> bool {
        self.found.keys().any(|(known, _)| known == text)
    }

    /// One sentence per text and subject; `{count}` in the text stands for the number of cases.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let sentence = |((text, subject), found): (&(String, String), &Found)| {
            let text = text.replace("{count}", &found.count.to_string());
            format!("`{subject}`: {text} ({})", phases(&found.phases))
        };
        self.found.iter().map(sentence).collect()
    }
}

fn phases(phases: &BTreeSet<(u32, String)>) -> String {
    let names: Vec<_> = phases.iter().take(NAMED).map(|(_, name)| format!("`{name}`")).collect();
    match phases.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more phases", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_warnings_become_one_sentence() {
        let mut warnings = Warnings::default();
        let phases = ["a", "b", "c", "d", "e"];
        for (position, phase) in (0_u32..).zip(phases) {
            let place = Place { subject: "new", phase, position };
            warnings.add(place, "{count} errors", 2);
            warnings.add(place, "nothing", 0);
        }
        warnings.add(Place { subject: "old", phase: "b", position: 1 }, "not calm", 1);
        let expected =
            ["`old`: not calm (`b`)", "`new`: 10 errors (`a`, `b`, `c` and 2 more phases)"];
        assert_eq!(warnings.sentences(), expected);
    }
}
