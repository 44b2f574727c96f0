//! Foreground, background and client: which task belongs to whom, and sums over each.

use crate::{Target, Values, task};
use model::reading::Scope;
use std::collections::BTreeSet;

/// Whose task it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Serves one of our connections.
    Foreground,
    /// Any other task of the server.
    Background,
    /// Belongs to the load engine.
    Client,
}

/// A task and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Member {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) part: Part,
}

/// Which parts a target has: a part that is not known is not reported as zero.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parts {
    server: bool,
    foreground: bool,
    client: bool,
}

impl Parts {
    pub(crate) fn of(target: &Target) -> Self {
        let foreground = !target.foreground.is_empty();
        let server = foreground || !target.server_pids.is_empty();
        Self { server, foreground, client: !target.client_pids.is_empty() }
    }
}

/// A total per part.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sums([f64; 3]);

impl Sums {
    pub(crate) fn add(&mut self, part: Part, value: f64) {
        self.0[part as usize] += value;
    }

    /// Writes the scopes that the target has; the server is foreground and background together.
    pub(crate) fn emit(&self, counter: &'static str, parts: Parts, values: &mut Values) {
        let [foreground, background, client] = self.0;
        if parts.server {
            values.push(Scope::Server, counter, foreground + background);
        }
        if parts.foreground {
            values.push(Scope::Foreground, counter, foreground);
            values.push(Scope::Background, counter, background);
        }
        if parts.client {
            values.push(Scope::Client, counter, client);
        }
    }
}

/// All living tasks of a target, each exactly once.
pub(crate) fn members(target: &Target) -> Vec<Member> {
    let root = &target.proc_root;
    let foreground: BTreeSet<u32> = target.foreground.iter().copied().collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    let groups = [(&target.server_pids, Part::Background), (&target.client_pids, Part::Client)];
    for (pids, otherwise) in groups {
        for pid in task::process_tree_at(root, pids) {
            for tid in task::tasks(root, pid) {
                let part = if foreground.contains(&tid) { Part::Foreground } else { otherwise };
                if seen.insert(tid) {
                    found.push(Member { pid, tid, part });
                }
            }
        }
    }
    for tid in foreground {
        if seen.insert(tid)
            && let Some(pid) = task::process_of(root, tid)
        {
            found.push(Member { pid, tid, part: Part::Foreground });
        }
    }
    found
}

/// The processes of the server: the named ones with their descendants, or those of the foreground
/// tasks.
pub(crate) fn server_processes(target: &Target) -> Vec<u32> {
    if !target.server_pids.is_empty() {
        return task::process_tree_at(&target.proc_root, &target.server_pids);
    }
    let of = |tid: &u32| task::process_of(&target.proc_root, *tid);
    target.foreground.iter().filter_map(of).collect::<BTreeSet<_>>().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;

    #[test]
    fn every_task_belongs_to_one_part() {
        let fake = FakeProc::new();
        fake.task(10, 10, "1 0 1").task(10, 11, "1 0 1").task(10, 12, "1 0 1");
        fake.task(50, 50, "1 0 1").task(50, 51, "1 0 1");
        let mut target = fake.target();
        target.server_pids = vec![10];
        target.foreground = vec![11];
        target.client_pids = vec![50];
        let parts: Vec<_> = members(&target).iter().map(|m| (m.tid, m.part)).collect();
        let expected = [
            (10, Part::Background),
            (11, Part::Foreground),
            (12, Part::Background),
            (50, Part::Client),
            (51, Part::Client),
        ];
        assert_eq!(parts, expected);
    }

    #[test]
    fn an_embedded_engine_is_the_connection_threads_of_the_driver() {
        let fake = FakeProc::new();
        fake.task(50, 50, "1 0 1").task(50, 51, "1 0 1").status(51, 50);
        let mut target = fake.target();
        target.foreground = vec![51];
        target.client_pids = vec![50];
        let parts: Vec<_> = members(&target).iter().map(|m| (m.tid, m.part)).collect();
        assert_eq!(parts, [(50, Part::Client), (51, Part::Foreground)]);
        assert_eq!(server_processes(&target), [50]);
        target.client_pids.clear();
        let alone = members(&target);
        assert_eq!(alone, [Member { pid: 50, tid: 51, part: Part::Foreground }]);
    }

    #[test]
    fn parts_that_are_not_known_are_not_zero() {
        let mut sums = Sums::default();
        sums.add(Part::Foreground, 2.0);
        sums.add(Part::Background, 3.0);
        let mut target = Target::new(std::path::Path::new("/tmp"));
        target.server_pids = vec![1];
        let mut values = Values::default();
        sums.emit("cpu_ns", Parts::of(&target), &mut values);
        assert_eq!(values.iter().count(), 1);
        assert_eq!(values.get(Scope::Server, "cpu_ns"), Some(5.0));
        target.foreground = vec![2];
        let mut values = Values::default();
        sums.emit("cpu_ns", Parts::of(&target), &mut values);
        assert_eq!(values.get(Scope::Background, "cpu_ns"), Some(3.0));
        assert_eq!(values.get(Scope::Client, "cpu_ns"), None);
    }
}
