//! CPU time of processes that were born and ended between two looks, such as a server's parallel
//! workers: nobody saw their tasks, but their parent keeps their time.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

/// What one family of processes used unseen.
#[derive(Debug)]
pub(crate) struct Unseen {
    proc_root: PathBuf,
    living: BTreeSet<u32>,
    /// CPU time of ended children that the living processes keep, ns; nothing before the first
    /// look.
    kept_ns: Option<u64>,
    total_ns: u64,
}

impl Unseen {
    pub(crate) fn new(proc_root: &Path) -> Self {
        let proc_root = proc_root.to_path_buf();
        Self { proc_root, living: BTreeSet::new(), kept_ns: None, total_ns: 0 }
    }

    /// Looks at the living processes and returns what was used unseen since the first look, ns.
    /// `seen_ns` tells what was seen of a process that has ended since the last look.
    pub(crate) fn look(&mut self, living: BTreeSet<u32>, seen_ns: impl Fn(u32) -> u64) -> u64 {
        let kept_ns = living.iter().filter_map(|pid| kept_ns(&self.proc_root, *pid)).sum();
        if let Some(before) = self.kept_ns {
            let ended: u64 = self.living.difference(&living).map(|pid| seen_ns(*pid)).sum();
            let grown = u64::saturating_sub(kept_ns, before);
            self.total_ns += grown.saturating_sub(ended);
        }
        self.kept_ns = Some(kept_ns);
        self.living = living;
        self.total_ns
    }
}

/// CPU time of the children that a process waited for, ns, in steps of a tick: the 16th and the
/// 17th field of its `stat`.
fn kept_ns(proc_root: &Path, pid: u32) -> Option<u64> {
    let stat = fs_err::read_to_string(proc_root.join(pid.to_string()).join("stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let user: u64 = fields.nth(13)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) * (1_000_000_000 / procfs::ticks_per_second().max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn what_ended_unseen_is_what_parents_keep_less_what_was_seen() {
        let fake = FakeProc::new();
        let tick = 1_000_000_000 / procfs::ticks_per_second();
        let keeps = |ticks: u64| {
            let stat = format!("10 (a b) c) S 1 1 1 0 -1 0 1 7 1 8 1 1 {ticks} 1 20 0\n");
            fake.write("10/stat", &stat);
        };
        let mut unseen = Unseen::new(fake.root());
        let mut look =
            |pids: &[u32], seen: u64| unseen.look(pids.iter().copied().collect(), |_| seen);
        keeps(70);
        assert_eq!(look(&[10, 11], 0), 0, "what was before does not count");
        keeps(75);
        assert_eq!(look(&[10, 11], 0), 5 * tick, "a worker came and went");
        keeps(95);
        assert_eq!(look(&[10], 18 * tick), 7 * tick, "process 11 ended, most of it was seen");
        assert_eq!(look(&[10], 0), 7 * tick);
        assert_eq!(look(&[], 0), 7 * tick, "the server is gone");
    }
}
