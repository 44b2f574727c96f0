//! CPU time of what was born and ended between two looks, such as a server's parallel workers:
//! nobody saw its tasks. Their parent keeps the time of processes, and their process that of
//! threads.

use crate::task;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// What one family of processes used unseen.
#[derive(Debug, Default)]
pub(crate) struct Unseen {
    proc_root: PathBuf,
    living: BTreeSet<u32>,
    /// CPU time of ended children that the living processes keep, ns; nothing before the first
    /// look.
    kept_ns: Option<u64>,
    total_ns: u64,
    /// What threads of each process used unseen.
    threads: BTreeMap<u32, Threads>,
}

/// The processes of a family at a look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes {
    /// Those that live.
    pub(crate) living: BTreeSet<u32>,
    /// Those of them all of whose threads are looked at.
    pub(crate) whole: BTreeSet<u32>,
}

/// CPU time of threads that nobody saw, ns.
#[derive(Debug, Default)]
struct Threads {
    /// Before the first look.
    before_ns: u64,
    since_ns: u64,
}

/// Ticks of a process that may seem to be of unseen threads: two are cut off, and threads go on
/// while they are read one by one.
const ROUNDING: u64 = 5;

impl Unseen {
    pub(crate) fn new(proc_root: &Path) -> Self {
        Self { proc_root: proc_root.to_path_buf(), ..Self::default() }
    }

    /// Looks at the processes and returns what was used unseen since the first look, ns. `seen_ns`
    /// tells what was seen of a process, which may have ended since the last look.
    pub(crate) fn look(&mut self, processes: Processes, seen_ns: impl Fn(u32) -> u64) -> u64 {
        let Processes { living, whole } = processes;
        let known = |pid: &u32| Some((*pid, Used::of(&self.proc_root, *pid)?));
        let used: BTreeMap<u32, Used> = living.iter().filter_map(known).collect();
        let kept_ns: u64 = used.values().map(|used| used.by_children_ns).sum();
        if let Some(before) = self.kept_ns {
            let threads_ns = |pid: &u32| self.threads.get(pid).map_or(0, |one| one.since_ns);
            let ended = self.living.difference(&living);
            let ended: u64 = ended.map(|pid| seen_ns(*pid) + threads_ns(pid)).sum();
            let grown = kept_ns.saturating_sub(before);
            self.total_ns += grown.saturating_sub(ended);
        }
        let is_first = self.kept_ns.is_none();
        // Of one that becomes whole later, what was before the first look does not count either.
        for (pid, used) in used.iter().filter(|(pid, _)| is_first || whole.contains(*pid)) {
            let unseen_ns = used.by_itself_ns.saturating_sub(seen_ns(*pid));
            // Of a process that is new, all is since the first look.
            let before_ns = if is_first { unseen_ns } else { 0 };
            let known = self.threads.entry(*pid);
            let known = known.or_insert(Threads { before_ns, ..Threads::default() });
            let grown = unseen_ns.saturating_sub(known.before_ns);
            if grown >= ROUNDING * tick_ns() {
                known.since_ns = known.since_ns.max(grown);
            }
        }
        self.kept_ns = Some(kept_ns);
        self.living = living;
        self.total_ns + self.threads.values().map(|one| one.since_ns).sum::<u64>()
    }
}

/// CPU time of a process, ns, in steps of a tick.
struct Used {
    /// By its threads, those that have ended included: the 14th and the 15th field of its `stat`.
    by_itself_ns: u64,
    /// By the children that it waited for: the next two.
    by_children_ns: u64,
}

impl Used {
    fn of(proc_root: &Path, pid: u32) -> Option<Self> {
        let stat = task::text(&proc_root.join(pid.to_string()).join("stat"))?;
        let fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().skip(11);
        let mut ticks = fields.map(|field| field.parse::<u64>().ok());
        let mut next_ns = || Some((ticks.next()?? + ticks.next()??) * tick_ns());
        Some(Self { by_itself_ns: next_ns()?, by_children_ns: next_ns()? })
    }
}

fn tick_ns() -> u64 {
    1_000_000_000 / procfs::ticks_per_second().max(1)
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
        let mut look = |pids: &[u32], seen: u64| {
            let living = pids.iter().copied().collect();
            unseen.look(Processes { living, ..Processes::default() }, |_| seen)
        };
        keeps(70);
        assert_eq!(look(&[10, 11], 0), 0, "what was before does not count");
        keeps(75);
        assert_eq!(look(&[10, 11], 0), 5 * tick, "a worker came and went");
        keeps(95);
        assert_eq!(look(&[10], 18 * tick), 7 * tick, "process 11 ended, most of it was seen");
        assert_eq!(look(&[10], 0), 7 * tick);
        assert_eq!(look(&[], 0), 7 * tick, "the server is gone");
    }

    #[test]
    fn a_process_that_gets_a_background_later_has_no_more_before_the_first_look() {
        let fake = FakeProc::new();
        let mut unseen = Unseen::new(fake.root());
        let mut look = |used: u64, seen: u64, whole: &[u32]| {
            let stat = format!("10 (x) S 1 1 1 0 -1 0 1 7 1 8 {used} 0 0 0 20 0\n");
            fake.write("10/stat", &stat);
            let (living, whole) = (BTreeSet::from([10]), whole.iter().copied().collect());
            unseen.look(Processes { living, whole }, |_| seen * tick_ns()) / tick_ns()
        };
        assert_eq!(look(100, 40, &[]), 0);
        assert_eq!(look(150, 90, &[10]), 0);
        assert_eq!(look(180, 100, &[10]), 20);
    }

    #[test]
    fn threads_that_ended_unseen_are_what_a_process_used_less_what_was_seen() {
        let fake = FakeProc::new();
        let uses = |pid: u32, own: u64, children: u64| {
            let stat = format!("{pid} (x) S 1 1 1 0 -1 0 1 7 1 8 {own} 0 {children} 0 20 0\n");
            fake.write(&format!("{pid}/stat"), &stat);
        };
        let mut unseen = Unseen::new(fake.root());
        let mut look = |pids: &[u32], seen: [u64; 2]| {
            let living: BTreeSet<u32> = pids.iter().copied().collect();
            let seen_ns = |pid: u32| seen[pid as usize - 10] * tick_ns();
            let whole = living.clone();
            unseen.look(Processes { living, whole }, seen_ns) / tick_ns()
        };
        uses(10, 100, 0);
        assert_eq!(look(&[10], [40, 0]), 0, "what was before does not count");
        uses(10, 150, 0);
        assert_eq!(look(&[10], [88, 0]), 0, "so little is rounding");
        uses(10, 400, 0);
        assert_eq!(look(&[10], [140, 0]), 200, "threads came and went");
        uses(11, 350, 0);
        assert_eq!(look(&[10, 11], [140, 50]), 500, "and those of a new process");
        uses(10, 400, 370);
        assert_eq!(look(&[10], [140, 50]), 520, "which has used more until it ended");
    }
}
