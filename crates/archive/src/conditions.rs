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

/// One sentence for each condition that differs between variants of a phase, though a comparison
/// takes it to be equal: which values it has, and in how many phases.
pub fn option_differences<'a>(values: impl Iterator<Item = &'a Measurement>) -> Vec<String> {
    let mut phases: BTreeMap<&str, BTreeMap<&str, &Levels>> = BTreeMap::new();
    for value in values {
        // Summaries know no options.
        if conditions().any(|one| value.levels.contains_key(one.key)) {
            let subjects = phases.entry(&value.phase).or_default();
            subjects.entry(&value.subject).or_insert(&value.levels);
        }
    }
    let mut found: BTreeMap<Condition, BTreeMap<BTreeSet<&str>, Vec<&str>>> = BTreeMap::new();
    for (phase, subjects) in phases {
        for one in conditions() {
            let own = |levels: &&'a Levels| levels.get(one.key).map_or("default", String::as_str);
            let kinds: BTreeSet<&str> = subjects.values().map(own).collect();
            if kinds.len() > 1 {
                found.entry(one).or_default().entry(kinds).or_default().push(phase);
            }
        }
    }
    let mut told = Vec::new();
    for (one, kinds) in &found {
        told.extend(kinds.iter().map(|(kinds, phases)| sentence(*one, kinds, phases)));
    }
    told
}

fn sentence(one: Condition, kinds: &BTreeSet<&str>, phases: &[&str]) -> String {
    let kinds = quoted(kinds);
    let first = phases.first().copied().unwrap_or_default();
    let more = match phases.len() {
        1 => String::new(),
        count => format!(" and {}", counted(count - 1, "more phase")),
    };
    let Condition { key, program } = one;
    format!("{program}'s `{key}` differs between variants in `{first}`{more}: {kinds}")
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
        let all = values.iter().flat_map(|one| {
            let again = Measurement { phase: "write".into(), ..one.clone() };
            [one.clone(), again]
        });
        let all: Vec<Measurement> = all.collect();
        let told = option_differences(all.iter());
        assert!(told[0].contains("in `read` and 1 more phase: "), "{told:?}");
    }
}
