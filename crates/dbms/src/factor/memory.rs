//! `memory`: how much memory a server may have, with its share of the page cache.

use super::{Factor, Up, processes};
use crate::{Places, memory_limit, value};
use model::subject::Subject;

/// The level of a server that may have all memory.
const UNLIMITED: &str = "unlimited";
/// The kernel limits whole pages.
const PAGE_BYTES: u64 = 4096;

/// The factor.
pub(super) const FACTOR: Factor = Factor {
    name: "memory",
    help: "`512M` or `4G`, the page cache of its files included, or `unlimited`",
    give,
    label: str::to_owned,
    missed,
};

fn give(level: &str, subject: &mut Subject, _: &Places) -> Result<(), String> {
    let server = &subject.build.server;
    if level == UNLIMITED {
        subject.build.memory = None;
        return Ok(());
    }
    if crate::is_embedded(server) {
        return Err(format!("{server} works inside the driver, whose memory is not limited"));
    }
    let bytes = value::bytes(level).filter(|bytes| *bytes >= 1 << 20);
    subject.build.memory = Some(bytes.ok_or_else(|| {
        format!("`{level}` is no limit of memory: write `512M` or `4G`, or `{UNLIMITED}`")
    })?);
    Ok(())
}

fn missed(up: &Up<'_>) -> Option<String> {
    let asked = up.subject.build.memory? / PAGE_BYTES;
    // One that has ended since has no limit.
    let is_alive = |pid: &u32| super::of_process(*pid, "cgroup").is_ok();
    let limits = processes(up).into_iter().filter(is_alive);
    let other = limits
        .map(|pid| (pid, memory_limit::of_process(pid)))
        .find(|(_, found)| found.is_none_or(|found| found / PAGE_BYTES != asked))?;
    let found = other.1.map_or("no limit".to_owned(), |bytes| format!("{bytes} bytes"));
    Some(format!(
        "process {} has {found} instead of {} bytes; check what else limits the memory of \
         control groups on this host",
        other.0,
        asked * PAGE_BYTES
    ))
}
