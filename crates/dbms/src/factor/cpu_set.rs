//! `cpu_set`: the CPUs on which a server may run.

use super::{Factor, Up, of_process, processes};
use crate::Places;
use model::subject::Subject;
use std::collections::BTreeSet;

/// The factor.
pub(super) struct CpuSet;

/// The level that leaves all CPUs to a server.
const ALL: &str = "all";

impl Factor for CpuSet {
    fn name(&self) -> &'static str {
        "cpu_set"
    }

    fn help(&self) -> &'static str {
        "CPUs as taskset lists them (`0`, `0-3`, `0,2`), or `all`"
    }

    fn give(&self, level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
        if level != ALL {
            let known = cpus(level).filter(|cpus| !cpus.is_empty());
            known.ok_or_else(|| {
                format!("`{level}` is no set of CPUs: write `0`, `0-3` or `0,2`, or `{ALL}`")
            })?;
            let words = ["taskset", "-c", level].map(str::to_owned);
            subject.build.prefix.splice(0..0, words);
        }
        Ok(())
    }

    fn missed(&self, up: &Up<'_>) -> Option<String> {
        let level = up.subject.levels.get(self.name()).filter(|level| *level != ALL)?;
        let asked = cpus(level);
        processes(up).into_iter().find_map(|pid| {
            let status = of_process(pid, "status").unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            // One that has ended since runs nowhere.
            let found = line?.trim();
            (cpus(found) != asked).then(|| {
                format!(
                    "process {pid} may run on the CPUs `{found}` instead of `{level}`; name CPUs \
                     that this host has"
                )
            })
        })
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
