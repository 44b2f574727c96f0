//! Collects what readers of a table must know, without repeating it for each slice.

use model::{number::counted, quoted};
use std::collections::{BTreeMap, BTreeSet};

/// Names in a sentence before it says how many more there are.
const NAMED: usize = 3;

/// How texts begin for several cases, and for one.
const ONE: [(&str, &str); 4] = [
    ("{count} slices ", "1 slice "),
    ("{count} errors were ", "1 error was "),
    ("{count} operations ", "1 operation "),
    ("{count} statements ", "1 statement "),
];

/// Warnings by text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Warnings {
    found: BTreeMap<String, Found>,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Found {
    count: u64,
    subjects: BTreeSet<String>,
    phases: BTreeSet<(u32, String)>,
}

/// Where something was seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Location<'a> {
    pub(crate) subject: &'a str,
    pub(crate) phase: &'a str,
    pub(crate) position: u32,
}

impl Warnings {
    /// Adds `count` cases of `text` at one place; nothing if there are none.
    pub(crate) fn add(&mut self, place: Location<'_>, text: &str, count: u64) {
        if count == 0 {
            return;
        }
        let found = self.found.entry(text.to_owned()).or_default();
        found.count += count;
        found.subjects.insert(place.subject.to_owned());
        found.phases.insert((place.position, place.phase.to_owned()));
    }

    /// Adds those of other slices.
    pub(crate) fn extend(&mut self, others: Self) {
        for (text, found) in others.found {
            let own = self.found.entry(text).or_default();
            own.count += found.count;
            own.subjects.extend(found.subjects);
            own.phases.extend(found.phases);
        }
    }

    /// Leaves `text` out of the phases in which `better` tells more.
    pub(crate) fn prefer(&mut self, better: &str, text: &str) {
        let told = self.found.get(better).map(|found| found.phases.clone()).unwrap_or_default();
        if let Some(found) = self.found.get_mut(text) {
            found.phases.retain(|phase| !told.contains(phase));
        }
    }

    /// Whether this text is among the warnings, or left out for a better one.
    pub(crate) fn hold(&self, text: &str) -> bool {
        self.found.contains_key(text)
    }

    /// One sentence per text; `{count}` in the text stands for the number of cases.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let sentence = |(text, found): (&String, &Found)| {
            let one = |text: String, (many, one): &(&str, &str)| text.replace(many, one);
            let singular = ONE.iter().fold(text.clone(), one);
            let text = if found.count == 1 { &singular } else { text };
            let text = text.replace("{count}", &found.count.to_string());
            let subjects = listed(found.subjects.iter().map(String::as_str), "variant");
            let phases = listed(found.phases.iter().map(|(_, name)| name.as_str()), "phase");
            format!("{subjects}: {text} ({phases})")
        };
        self.found.iter().filter(|(_, found)| !found.phases.is_empty()).map(sentence).collect()
    }
}

/// The first names, and how many more things of this kind (a singular noun) there are.
pub(crate) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>, what: &str) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first = quoted(names.take(NAMED));
    match more {
        0 => first,
        more => format!("{first} and {}", counted(more, &format!("more {what}"))),
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
            let place = Location { subject: "new", phase, position };
            warnings.add(place, "{count} errors", 2);
            warnings.add(place, "nothing", 0);
        }
        warnings.add(Location { subject: "old", phase: "b", position: 1 }, "not calm", 1);
        let expected =
            ["`old`: not calm (`b`)", "`new`: 10 errors (`a`, `b`, `c` and 2 more phases)"];
        assert_eq!(warnings.sentences(), expected);
    }

    #[test]
    fn one_case_is_one() {
        for (text, expected) in [
            ("{count} errors were reported", "`a`: 1 error was reported (`p`)"),
            ("{count} operations started late", "`a`: 1 operation started late (`p`)"),
            ("{count} statements had rows", "`a`: 1 statement had rows (`p`)"),
            ("{count} slices left out", "`a`: 1 slice left out (`p`)"),
        ] {
            let mut warnings = Warnings::default();
            warnings.add(Location { subject: "a", phase: "p", position: 0 }, text, 1);
            assert_eq!(warnings.sentences(), [expected]);
        }
    }

    #[test]
    fn one_cause_is_one_sentence_however_many_variants_have_it() {
        let mut warnings = Warnings::default();
        for subject in ["a", "b", "c", "d"] {
            for (position, phase) in (0_u32..).zip(["p", "q", "r", "s"]) {
                warnings.add(Location { subject, phase, position }, "{count} errors", 1);
            }
        }
        let expected =
            "`a`, `b`, `c` and 1 more variant: 16 errors (`p`, `q`, `r` and 1 more phase)";
        assert_eq!(warnings.sentences(), [expected]);
    }
}
