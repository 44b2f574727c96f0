//! Repetitions of a test: files or folders of the user's own that differ in a number at the end of
//! their names, such as `before-1.txt` and `before-2.txt`, or `read.run1.txt` and `read.run2.txt`.

use crate::Cell;
use model::Levels;
use std::collections::{BTreeMap, BTreeSet};

/// Words that say that a number behind them counts repetitions.
const WORDS: [&str; 8] = ["repetition", "iteration", "repeat", "iter", "run", "rep", "try", "r"];

/// What stands between a name and its number.
const BETWEEN: [char; 4] = ['.', '-', '_', ' '];

/// A name without the number of a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Numbered<'a> {
    name: &'a str,
    number: u32,
    /// Whether a word says what the number is.
    is_said: bool,
}

/// The number of a repetition at the end of a name, of a folder or of a file without its ending. A
/// number behind another one and a point is that of a version: `mysql-8.0.44`.
fn numbered(name: &str) -> Option<Numbered<'_>> {
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name.get(before.len()..)?.parse().ok()?;
    let said = WORDS.iter().find_map(|word| {
        let before = before.trim_end_matches(BETWEEN).strip_suffix(word)?;
        // `r1` alone may be anything.
        if before.is_empty() && word.len() > 1 { Some("") } else { before.strip_suffix(BETWEEN) }
    });
    if let Some(name) = said {
        return Some(Numbered { name, number, is_said: true });
    }
    let name = if before.is_empty() { "" } else { before.strip_suffix(BETWEEN)? };
    let is_version = before.ends_with('.') && name.ends_with(|c: char| c.is_ascii_digit());
    (!is_version).then_some(Numbered { name, number, is_said: false })
}

/// The number of a folder that holds one repetition of everything below it: `run2`, `rep-3`.
pub(crate) fn of_folder(name: &str) -> Option<u32> {
    let before = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let word = before.trim_end_matches(BETWEEN);
    // A folder `r1` may be anything.
    let is_word = word.len() > 1 && WORDS.contains(&word);
    is_word.then(|| name.get(before.len()..)?.parse().ok()).flatten()
}

/// A test of one file: its subject, phase and clients.
type Test = (String, String, Option<u32>);

fn test(cell: &Cell) -> Test {
    (cell.subject.clone(), cell.phase.clone(), cell.clients)
}

/// Tells apart the reports of one file that have other conditions, such as another query mode: they
/// are no repetitions of one test. Where they differ, the phases say it at their ends.
pub(crate) fn tell_apart(reports: &mut [Cell]) {
    let mut tests: BTreeMap<Test, (Levels, BTreeSet<String>)> = BTreeMap::new();
    for cell in reports.iter() {
        let (first, differ) = tests.entry(test(cell)).or_default();
        for (key, level) in &cell.levels {
            if *first.entry(key.clone()).or_insert_with(|| level.clone()) != *level {
                differ.insert(key.clone());
            }
        }
    }
    for cell in reports {
        let Some((_, differ)) = tests.get(&test(cell)) else { continue };
        let parts = cell.levels.iter().filter(|(key, _)| differ.contains(*key));
        let part: String = parts.map(|(key, level)| format!(" {key}={level}")).collect();
        cell.phase.push_str(&part);
        cell.part.push_str(&part);
    }
}

/// Numbers the reports of one file that stand behind each other: those of the same test repeat it.
#[derive(Default)]
pub(crate) struct Repeats {
    /// How many there were of each test.
    known: BTreeMap<Test, u32>,
}

impl Repeats {
    /// Numbers the cell of the next report, before any value is taken of it.
    pub(crate) fn number(&mut self, cell: &mut Cell) {
        let before = self.known.entry(test(cell)).or_default();
        cell.report = *before;
        *before += 1;
    }
}

/// Names without their numbers, and these, by the names with them.
pub(crate) type Repeated = BTreeMap<String, (String, u32)>;

/// A name without the number at its end, and this, where no word says that it counts repetitions.
pub(crate) fn without_number(name: &str) -> Option<(&str, u32)> {
    let found = numbered(name).filter(|found| !found.is_said && !found.name.is_empty())?;
    Some((found.name, found.number))
}

/// The names that are repetitions; nothing is left of `run1`, and of `1`. Without such a word,
/// numbers have to go from 0 or 1 to 2 or more without a gap, or to lack some of those of another
/// name.
pub(crate) fn repeated(names: &BTreeSet<&str>) -> Repeated {
    type Family<'a> = BTreeMap<u32, &'a str>;
    let mut families: BTreeMap<(&str, bool), Family<'_>> = BTreeMap::new();
    for name in names {
        if let Some(found) = numbered(name) {
            families.entry((found.name, found.is_said)).or_default().insert(found.number, name);
        }
    }
    let counts = |numbers: &Family<'_>| {
        let ends = numbers.keys().next().zip(numbers.keys().next_back());
        ends.is_some_and(|(first, last)| {
            let between = u64::from(*last) - u64::from(*first);
            *first <= 1 && numbers.len() > 1 && numbers.len() as u64 == between + 1
        })
    };
    let whole: Vec<BTreeSet<u32>> = families
        .values()
        .filter(|numbers| counts(numbers))
        .map(|numbers| numbers.keys().copied().collect())
        .collect();
    let lacks = |numbers: &Family<'_>| {
        let is_in = |all: &BTreeSet<u32>| numbers.keys().all(|number| all.contains(number));
        numbers.len() > 1 && whole.iter().any(is_in)
    };
    families.retain(|(_, is_said), numbers| *is_said || counts(numbers) || lacks(numbers));
    let one =
        |name: &str, (number, with): (u32, &str)| (with.to_owned(), (name.to_owned(), number));
    let all = families.into_iter().flat_map(|((name, _), numbers)| {
        numbers.into_iter().map(move |numbered| one(name, numbered))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(names: &[&str]) -> Vec<(String, u32)> {
        repeated(&names.iter().copied().collect()).into_values().collect()
    }

    #[test]
    fn numbers_at_the_end_count_repetitions() {
        let check = |names: &[&str], expected: &[(&str, u32)]| {
            let expected: Vec<(String, u32)> =
                expected.iter().map(|(name, number)| ((*name).to_owned(), *number)).collect();
            assert_eq!(taken(names), expected, "{names:?}");
        };
        check(&["old-1", "old-2", "new-1", "new"], &[("old", 1), ("old", 2)]);
        check(&["read_0", "read_1", "read_2"], &[("read", 0), ("read", 1), ("read", 2)]);
        check(&["pg17.1", "pg17.2", "my.1", "my.2"], &[("my", 1), ("my", 2)]);
        // One was lost.
        check(
            &["a-1", "a-2", "a-3", "b-1", "b-3", "c-2", "d-2", "d-4"],
            &[("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 3)],
        );
        // A word needs no neighbors.
        check(&["a.run7", "b-rep-3", "c r2"], &[("a", 7), ("b", 3), ("c", 2)]);
        // Clients, versions, and names that are only a number.
        check(&["c-1", "c-2", "c-4", "my-8.0.1", "my-8.0.2", "2", "3", "r1"], &[]);
        check(&["run1", "run2", "1", "2"], &[("", 1), ("", 2), ("", 1), ("", 2)]);
        check(
            &["pg-17", "pg-18", "dbr1", "dbr2", "x-99999999999", "x-1", "y-0", "y-4294967295"],
            &[],
        );
    }

    #[test]
    fn reports_with_other_conditions_are_other_tests() {
        let report = |clients: u32, levels: &[(&str, &str)]| Cell {
            phase: "t".to_owned(),
            clients: Some(clients),
            levels: levels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Cell::default()
        };
        let of = |mode| [("mode", mode), ("scale", "1")];
        let mut reports = [
            report(1, &of("simple")),
            report(1, &of("prepared")),
            report(1, &of("simple")),
            // What a report does not say differs from nothing.
            report(1, &[]),
            report(8, &of("prepared")),
        ];
        tell_apart(&mut reports);
        let mut repeats = Repeats::default();
        reports.iter_mut().for_each(|cell| repeats.number(cell));
        let told = reports.each_ref().map(|cell| (cell.phase.as_str(), cell.report));
        let [simple, prepared] = ["t mode=simple", "t mode=prepared"];
        assert_eq!(told, [(simple, 0), (prepared, 0), (simple, 1), ("t", 0), ("t", 0)]);
        assert_eq!((reports[0].whole_phase(), reports[4].part.as_str()), ("t", ""));
    }

    #[test]
    fn folders_of_repetitions_have_a_word() {
        let check = |name, number| assert_eq!(of_folder(name), number, "{name}");
        check("run1", Some(1));
        check("rep-12", Some(12));
        check("iteration_3", Some(3));
        for none in ["r1", "1", "run", "prun1", "pg17", "run99999999999"] {
            check(none, None);
        }
    }
}
