//! `cpu_set`: the CPUs on which a server may run.

use super::{Factor, Up, of_process, prefix, processes};
use crate::Places;
use model::subject::Subject;
use std::collections::BTreeSet;

/// The level that leaves all CPUs to a server.
const ALL: &str = "all";
/// The CPUs of this host that work now.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "cpu_set",
    help: "CPUs as taskset lists them (`0`, `0-3`, `0,2`), or `all`",
    give,
    label: str::to_owned,
    missed,
};

fn give(level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
    if level != ALL {
        let known = cpus(level).filter(|cpus| !cpus.is_empty());
        let asked = known.ok_or_else(|| {
            format!("`{level}` is no set of CPUs: write `0`, `0-3` or `0,2`, or `{ALL}`")
        })?;
        check_host(level, &asked, fs_err::read_to_string(ONLINE).ok().as_deref())?;
        let words = ["taskset", "-c", level].map(str::to_owned);
        prefix::check_program(&words[0], &subject.build)?;
        subject.build.prefix.splice(0..0, words);
    }
    Ok(())
}

fn missed(up: &Up<'_>) -> Option<String> {
    let level = up.subject.levels.get(FACTOR.name).filter(|level| *level != ALL)?;
    processes(up).into_iter().find_map(|pid| {
        let process = if pid == up.pid { Process::First } else { Process::Other };
        let status = of_process(pid, "status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        // One that has ended since runs nowhere.
        let found = line?.trim();
        (!process.is_on(found, level)).then(|| {
            format!(
                "process {pid} may run on the CPUs `{found}` instead of `{level}`; name CPUs \
                 that this host has"
            )
        })
    })
}

/// Which process of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Process {
    /// The one that was started.
    First,
    /// One that it started. One that serves a connection may have been put on the CPU of its
    /// client.
    Other,
}

impl Process {
    /// Whether it may run on the CPUs `found` where those of a level were asked for.
    fn is_on(self, found: &str, level: &str) -> bool {
        let both = cpus(found).zip(cpus(level));
        both.is_some_and(|(found, asked)| match self {
            Self::First => found == asked,
            Self::Other => found.is_subset(&asked),
        })
    }
}

/// Refuses CPUs that this host lacks. `online` is the kernel's list; what is unknown refuses
/// nothing, because the process is looked at when it is up.
fn check_host(level: &str, asked: &BTreeSet<u32>, online: Option<&str>) -> Result<(), String> {
    let online = online.unwrap_or_default().trim();
    match cpus(online) {
        Some(known) if !asked.is_subset(&known) => Err(format!(
            "this host has the CPUs `{online}`, and `{level}` names others: write some of these, \
             or `{ALL}`"
        )),
        _ => Ok(()),
    }
}

/// The numbers of a list such as `0-2,4`.
fn cpus(list: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for part in list.split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high) = (low.trim().parse::<u32>().ok()?, high.trim().parse::<u32>().ok()?);
        // The kernel knows no more.
        if low > high || high > 8192 {
            return None;
        }
        cpus.extend(low..=high);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_serves_a_connection_may_be_on_one_cpu_of_the_level() {
        let check = |found: &str, level: &str, expected: [bool; 2]| {
            let is_on = [Process::First, Process::Other].map(|one| one.is_on(found, level));
            assert_eq!(is_on, expected, "{found} for {level}");
        };
        check("0-1", "0,1", [true, true]);
        check("1", "0-1", [false, true]);
        check("0-3", "0-1", [false, false]);
        check("2", "0-1", [false, false]);
        check("", "0-1", [false, false]);
    }

    #[test]
    fn cpus_that_the_host_lacks_are_refused() {
        let check = |level: &str, online: Option<&str>, expected: &str| {
            let said = check_host(level, &cpus(level).unwrap(), online).err().unwrap_or_default();
            assert_eq!(said, expected, "{level} of {online:?}");
        };
        check("0", Some("0-1\n"), "");
        check("0-1", Some("0-1\n"), "");
        check("0,8", Some("0-3,8\n"), "");
        check(
            "0-99",
            Some("0-1\n"),
            "this host has the CPUs `0-1`, and `0-99` names others: write some of these, or `all`",
        );
        check(
            "0,2",
            Some("0-1,3\n"),
            "this host has the CPUs `0-1,3`, and `0,2` names others: write some of these, or `all`",
        );
        check("0-99", None, "");
        check("0-99", Some(""), "");
    }
}
