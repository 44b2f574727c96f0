//! The facts about a host that checks look at.

use super::load::Load;
use crate::args::announcements;
use dbms::Neighbor;
use emulator::Emulator;
use model::plan::{Estimate, Plan};
use probe::{Permission, Roots, SyncCounts};
use std::{path::Path, thread, time::Duration};

/// For so long other load is watched.
const WATCH: Duration = Duration::from_secs(2);

/// A host, or what a test says that one is.
#[derive(Debug)]
pub(crate) struct Host {
    /// Where the kernel tells about itself.
    pub(crate) roots: Roots,
    /// Whether this process is root's.
    pub(crate) root: bool,
    /// What perf lets this process count.
    pub(crate) perf: Permission,
    /// Whether syncs of files can be counted where data folders lie.
    pub(crate) sync_counts: SyncCounts,
    /// The emulator that counts instructions, or what is wrong with it.
    pub(crate) emulator: Result<String, String>,
    /// Hypervisor, or empty.
    pub(crate) virtualization: String,
    /// Frequency governors, or empty where none is visible.
    pub(crate) governor: String,
    /// Where data folders lie.
    pub(crate) folder: String,
    /// Its file system's kind.
    pub(crate) filesystem: String,
    /// Free bytes there, if they can be told.
    pub(crate) free_bytes: Option<u64>,
    /// What the experiment needs, if one is named.
    pub(crate) needed: Option<Estimate>,
    /// Whether the experiment demands hardware counters.
    pub(crate) demands_perf: bool,
    /// CPU time over a moment in which dbdyno did nothing.
    pub(crate) load: Load,
    /// Runs of dbdyno, and servers that it started for somebody.
    pub(crate) neighbors: Vec<Neighbor>,
}

impl Host {
    /// This host, with the data folders in `folder`; takes about two seconds.
    pub(crate) fn here(folder: &Path, plan: Option<&Plan>) -> Self {
        let roots = Roots::default();
        let before = Load::now(&roots.proc);
        thread::sleep(WATCH);
        let load = Load::now(&roots.proc).since(&before);
        let environment = probe::environment(folder);
        let free = rustix::fs::statvfs(folder).ok();
        Self {
            root: rustix::process::geteuid().is_root(),
            perf: probe::permission(),
            sync_counts: probe::sync_counts(folder),
            emulator: Emulator::find().map(|found| found.about()).map_err(|why| why.to_string()),
            virtualization: environment.virtualization,
            governor: environment.governor,
            folder: folder.display().to_string(),
            filesystem: environment.filesystem,
            free_bytes: free.map(|free| free.f_bavail.saturating_mul(free.f_frsize)),
            needed: plan.map(|plan| plan.estimate),
            demands_perf: plan
                .is_some_and(|plan| plan.experiment.require.iter().any(|demand| demand == "perf")),
            load,
            neighbors: dbms::neighbors(&announcements()),
            roots,
        }
    }

    /// The text of a small file below `/proc`, without its end of line; none if there is none.
    pub(crate) fn proc(&self, path: &str) -> Option<String> {
        text(&self.roots.proc.join(path))
    }

    /// The same below `/sys`.
    pub(crate) fn sys(&self, path: &str) -> Option<String> {
        text(&self.roots.sys.join(path))
    }

    /// A setting of the kernel that is a number: `kernel.perf_event_paranoid` and the like.
    pub(crate) fn setting(&self, name: &str) -> Option<i64> {
        self.proc(&format!("sys/{}", name.replace('.', "/")))?.parse().ok()
    }

    /// A field of `/proc/meminfo` in bytes.
    pub(crate) fn memory(&self, field: &str) -> Option<u64> {
        let meminfo = self.proc("meminfo")?;
        let line = meminfo.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
        kib.checked_mul(1024)
    }

    /// The soft limit of this process for a line of `/proc/self/limits`; `u64::MAX` if unlimited.
    pub(crate) fn soft_limit(&self, name: &str) -> Option<u64> {
        self.limit(name, 0)
    }

    /// The same of the hard limit.
    pub(crate) fn hard_limit(&self, name: &str) -> Option<u64> {
        self.limit(name, 1)
    }

    fn limit(&self, name: &str, column: usize) -> Option<u64> {
        let limits = self.proc("self/limits")?;
        let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
        match line.split_whitespace().nth(column)? {
            "unlimited" => Some(u64::MAX),
            number => number.parse().ok(),
        }
    }
}

fn text(path: &Path) -> Option<String> {
    fs_err::read_to_string(path).ok().map(|text| text.trim().to_owned())
}
