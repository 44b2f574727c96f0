//! What differs between trials besides the subject.

use crate::settings::means;
use model::{environment::Environment, quoted, record::TrialHeader};
use std::collections::{BTreeMap, BTreeSet};

/// One sentence for each fact of the host that differs between trials, and for each subject whose
/// server differs between its own trials.
pub fn residue<'a>(
    trials: impl IntoIterator<Item = (&'a TrialHeader, &'a Environment)>,
) -> Vec<String> {
    let mut hosts: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut servers: BTreeMap<(&str, &str), BTreeSet<String>> = BTreeMap::new();
    let mut settings: BTreeMap<(&str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (header, environment) in trials {
        for (name, value) in facts(environment) {
            hosts.entry(name).or_default().insert(value);
        }
        let own = [
            ("server version", &header.server_version),
            ("server binary", &header.short_sha256().to_owned()),
        ];
        for (name, value) in own {
            servers.entry((&header.subject, name)).or_default().insert(value.clone());
        }
        for (name, value) in header.settings.iter().filter(|(name, _)| means(name)) {
            settings.entry((&header.subject, name)).or_default().insert(value);
        }
    }
    let hosts = hosts.into_iter().filter(|(_, values)| values.len() > 1);
    let hosts = hosts
        .map(|(name, values)| format!("the trials also differ in {name}: {}", quoted(&values)));
    let servers = servers.into_iter().filter(|(_, values)| values.len() > 1);
    let servers = servers.map(|((subject, name), values)| {
        format!("`{subject}`: its trials differ in {name}: {}", quoted(&values))
    });
    let settings = settings.into_iter().filter(|(_, values)| values.len() > 1);
    let settings = settings.map(|((subject, name), values)| {
        format!("`{subject}`: its trials differ in the setting `{name}`: {}", quoted(&values))
    });
    hosts.chain(servers).chain(settings).collect()
}

/// One sentence for each fact in which the hosts of two runs differ.
pub fn host_differences(base: &Environment, new: &Environment) -> Vec<String> {
    let both = facts(base).into_iter().zip(facts(new));
    let differing = both.filter(|((_, base), (_, new))| base != new);
    let sentence = |((name, base), (_, new)): ((&str, String), (&str, String))| {
        format!("the runs differ in {name}: `{base}` in the base, `{new}` in the other")
    };
    differing.map(sentence).collect()
}

fn facts(environment: &Environment) -> [(&'static str, String); 14] {
    let e = environment;
    [
        ("dbdyno", e.dbdyno.clone()),
        ("host", e.host.clone()),
        ("kernel", e.kernel.clone()),
        ("CPU", e.cpu.clone()),
        ("number of CPUs", e.cpus.to_string()),
        ("memory", format!("{} MiB", e.memory_bytes >> 20)),
        ("virtualization", e.virtualization.clone()),
        ("governor", e.governor.clone()),
        ("mitigations", e.mitigations.join("; ")),
        ("huge pages", e.huge_pages.clone()),
        ("file system", e.filesystem.clone()),
        ("device", e.device.clone()),
        ("perf permission", e.perf.clone()),
        ("freezer", e.freezer.clone()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_has_a_unit() {
        let on = |gib: u64| Environment { memory_bytes: gib << 30, ..Default::default() };
        let expected = "the runs differ in memory: `1024 MiB` in the base, `2048 MiB` in the other";
        assert_eq!(host_differences(&on(1), &on(2)), [expected]);
    }

    #[test]
    fn only_differences_are_told() {
        let header = |subject: &str, memory: &str| {
            let port = if memory == "x" { "5432" } else { "46021" };
            let settings = [("work_mem", memory), ("port", port)];
            crate::settings::tests::header(subject, &settings)
        };
        let on = |kernel: &str| Environment { kernel: kernel.into(), ..Default::default() };
        let trials = [
            (header("a", "x"), on("6.1")),
            (
                TrialHeader { binary_sha256: "0123456789abcdef".into(), ..header("a", "y") },
                on("6.8"),
            ),
            (header("b", "z"), on("6.8")),
        ];
        let found = residue(trials.iter().map(|(header, host)| (header, host)));
        let expected = [
            "the trials also differ in kernel: `6.1`, `6.8`",
            "`a`: its trials differ in server binary: ``, `0123456789ab`",
            "`a`: its trials differ in the setting `work_mem`: `x`, `y`",
        ];
        assert_eq!(found, expected);
        assert_eq!(residue(trials[2..].iter().map(|(h, e)| (h, e))), Vec::<String>::new());
    }
}
