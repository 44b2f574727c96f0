//! Conditions of tests that a comparison takes to be equal, and that are not.

use crate::{command_line, import::pgbench};
use model::{Levels, measurement::Measurement, number::counted, quoted};
use std::collections::{BTreeMap, BTreeSet};

/// A condition of a test, as the program that executed it names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Condition {
    key: &'static str,
    program: &'static str,
}

fn conditions() -> impl Iterator<Item = Condition> {
    let of = |program: &'static str| move |key: &'static str| Condition { key, program };
    let of_pgbench = pgbench::CONDITIONS.iter().map(|(_, key)| *key);
    command_line::KEPT.into_iter().map(of("sysbench")).chain(of_pgbench.map(of("pgbench")))
}

/// Values of a condition.
type Kinds<'a> = BTreeSet<&'a str>;

/// What has another condition than the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Among<'a> {
    Variants,
    /// Those of this variant.
    Repetitions(&'a str),
}

/// One sentence for each condition that differs between variants of a phase, or between repetitions
/// of one, though a comparison takes it to be equal: which values it has, and in how many phases.
pub fn option_differences<'a>(values: impl Iterator<Item = &'a Measurement>) -> Vec<String> {
    let mut phases: BTreeMap<&str, BTreeMap<&str, Vec<&Levels>>> = BTreeMap::new();
    for value in values {
        // Summaries know no options.
        if conditions().any(|one| value.levels.contains_key(one.key)) {
            let subjects = phases.entry(&value.phase).or_default();
            let known = subjects.entry(&value.subject).or_default();
            let levels: &Levels = &value.levels;
            if !known.contains(&levels) {
                known.push(levels);
            }
        }
    }
    let mut found: BTreeMap<(Condition, Among<'_>), BTreeMap<Kinds<'_>, Vec<&str>>> =
        BTreeMap::new();
    for (phase, subjects) in phases {
        for one in conditions() {
            let own = |levels: &&'a Levels| levels.get(one.key).map_or("default", String::as_str);
            let of = |levels: &Vec<&'a Levels>| -> Kinds<'a> { levels.iter().map(own).collect() };
            let mut add = |among, kinds: Kinds<'a>| {
                found.entry((one, among)).or_default().entry(kinds).or_default().push(phase);
            };
            let all: Vec<(&str, Kinds<'a>)> =
                subjects.iter().map(|(subject, levels)| (*subject, of(levels))).collect();
            if all.windows(2).any(|pair| pair[0].1 != pair[1].1) {
                add(Among::Variants, all.iter().flat_map(|(_, kinds)| kinds).copied().collect());
            }
            for (subject, kinds) in all.into_iter().filter(|(_, kinds)| kinds.len() > 1) {
                add(Among::Repetitions(subject), kinds);
            }
        }
    }
    let mut told = Vec::new();
    for ((one, among), kinds) in &found {
        told.extend(kinds.iter().map(|(kinds, phases)| sentence(*one, *among, kinds, phases)));
    }
    told
}

fn sentence(one: Condition, among: Among<'_>, kinds: &Kinds<'_>, phases: &[&str]) -> String {
    let kinds = quoted(kinds);
    let first = phases.first().copied().unwrap_or_default();
    let more = match phases.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more phase")),
    };
    let among = match among {
        Among::Variants => "variants".to_owned(),
        Among::Repetitions(subject) => format!("repetitions of `{subject}`"),
    };
    let Condition { key, program } = one;
    format!("{program}'s `{key}` differs between {among} in `{first}`{more}: {kinds}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn conditions_that_differ_are_told_with_the_program_that_names_them() {
        let value = |subject: &str, levels: &[(&str, &str)]| Measurement {
            subject: subject.into(),
            phase: "read".into(),
            levels: Arc::new(
                levels.iter().map(|(key, level)| (key.to_string(), level.to_string())).collect(),
            ),
            ..Measurement::default()
        };
        let values = [
            value("old", &[("scale", "10"), ("query-mode", "simple")]),
            value("new", &[("scale", "10"), ("query-mode", "prepared")]),
        ];
        let told = option_differences(values.iter());
        let expected =
            "pgbench's `query-mode` differs between variants in `read`: `prepared`, `simple`";
        assert_eq!(told, [expected]);
        assert!(option_differences(values[..1].iter()).is_empty());
        let other = ["<builtin: select only>", "read.sql"].map(|script| {
            let key = "transaction-type";
            value(script, &[(key, script)])
        });
        let told = option_differences(other.iter());
        assert!(told[0].starts_with("pgbench's `transaction-type` differs"), "{told:?}");
        // Values of one variant are its repetitions; one of them has no options.
        let repeated = [value("new", &[]), value("new", &[("scale", "10")]), values[1].clone()];
        let told = option_differences(repeated.iter());
        let expected = "pgbench's `query-mode` differs between repetitions of `new` in `read`: \
                        `default`, `prepared`";
        assert_eq!(told, [expected]);
        let all = values.iter().flat_map(|one| {
            let again = Measurement { phase: "write".into(), ..one.clone() };
            [one.clone(), again]
        });
        let all: Vec<Measurement> = all.collect();
        let told = option_differences(all.iter());
        assert!(told[0].contains("in `read` and 1 more phase: "), "{told:?}");
    }
}
