//! What `/proc` knows of each task: CPU time, waiting for a CPU, switches and page faults.

use super::{Probe, Purpose, Reader};
use crate::{
    Counter, Error, Target, Values, counter,
    part::{Member, Part, Parts, Sums, members},
    task::{parse, task_folder, text},
    unseen::{Processes, Unseen},
};
use procfs::process::Schedstat;
use std::{collections::BTreeMap, path::Path};

const COUNTERS: &[Counter] = &[
    counter::total("cpu_ns", "ns", "time on a CPU, threads and processes that ended included"),
    counter::total("runqueue_wait_ns", "ns", "run queue time: ready, but waiting for a CPU"),
    counter::total("voluntary_switches", "switches", "voluntary context switches"),
    counter::total("involuntary_switches", "switches", "involuntary context switches"),
    counter::total("context_switches", "switches", "context switches"),
    counter::total("page_faults", "faults", "page faults, minor and major"),
];

/// Counters of a task that only its `schedstat` gives: the cheap part, enough for a series.
const CHEAP: usize = 2;

/// Counters of tasks from `/proc`.
pub(super) const PROBE: Probe = Probe { name: "proc_task", counters: COUNTERS, open };

fn open(target: &Target, purpose: Purpose) -> Result<Option<Box<dyn Reader>>, Error> {
    let parts = Parts::of(target);
    let members = members(target);
    if members.is_empty() {
        return Ok(None);
    }
    // A kernel without this accounting has no such file, or one of zeros.
    let has_run = |one: &Member| {
        let folder = task_folder(&target.proc_root, one.pid, one.tid);
        counts(&folder, purpose).is_some_and(|[cpu_ns, ..]| cpu_ns > 0)
    };
    if !members.iter().any(has_run) {
        return Err(Error::Absent("task counters absent: `/proc` has none on this host".into()));
    }
    let unseen = [Part::Background, Part::Client]
        .map(|part| Family { part, unseen: Unseen::new(&target.proc_root) });
    let known = BTreeMap::new();
    Ok(Some(Box::new(Open { target: target.clone(), purpose, parts, known, unseen })))
}

/// In the order of [`COUNTERS`].
type Counts = [u64; COUNTERS.len()];

/// A task that was seen, perhaps under a number that an earlier task had.
#[derive(Default)]
struct Known {
    /// Counts of the tasks that had this number before.
    earlier: Counts,
    /// Last counts that were seen: a task that ended keeps them.
    last: Counts,
}

impl Known {
    fn see(&mut self, now: Counts) {
        if now[0] < self.last[0] {
            self.earlier = self.total();
        }
        self.last = now;
    }

    fn total(&self) -> Counts {
        std::array::from_fn(|i| self.earlier[i] + self.last[i])
    }
}

/// The processes of the server, or those of the load engine.
struct Family {
    /// Part that gets what its processes used unseen.
    part: Part,
    unseen: Unseen,
}

struct Open {
    target: Target,
    purpose: Purpose,
    parts: Parts,
    known: BTreeMap<Member, Known>,
    unseen: [Family; 2],
}

impl Reader for Open {
    fn read(&mut self, values: &mut Values) -> Result<(), Error> {
        let members = members(&self.target);
        for member in &members {
            let folder = task_folder(&self.target.proc_root, member.pid, member.tid);
            // A task may end at any time: then it keeps what was seen.
            if let Some(counts) = counts(&folder, self.purpose) {
                self.known.entry(*member).or_default().see(counts);
            }
        }
        let mut sums = [Sums::default(); COUNTERS.len()];
        for (member, known) in &self.known {
            for (index, (sum, count)) in sums.iter_mut().zip(known.total()).enumerate() {
                sum.add(member.part, count as f64);
                if member.part == Part::Foreground && self.purpose == Purpose::Window {
                    values.push_task(member.tid, COUNTERS[index].name, count as f64);
                }
            }
        }
        if self.purpose == Purpose::Window {
            self.add_unseen(&members, &mut sums[0]);
        }
        let given = if self.purpose == Purpose::Series { CHEAP } else { COUNTERS.len() };
        for (counter, sum) in COUNTERS.iter().zip(&sums).take(given) {
            sum.emit(counter.name, self.parts, values);
        }
        Ok(())
    }
}

impl Open {
    fn add_unseen(&mut self, members: &[Member], cpu_ns: &mut Sums) {
        let mut seen: BTreeMap<u32, u64> = BTreeMap::new();
        for (member, known) in &self.known {
            *seen.entry(member.pid).or_default() += known.total()[0];
        }
        let seen_ns = |pid: u32| seen.get(&pid).copied().unwrap_or(0);
        for Family { part, unseen } in &mut self.unseen {
            let client = *part == Part::Client;
            let own = members.iter().filter(|member| (member.part == Part::Client) == client);
            // Of others only the tasks in the foreground are looked at.
            let whole = members.iter().filter(|member| member.part == *part);
            let processes = Processes {
                living: own.map(|member| member.pid).collect(),
                whole: whole.map(|member| member.pid).collect(),
            };
            cpu_ns.add(*part, unseen.look(processes, seen_ns) as f64);
        }
    }
}

fn counts(folder: &Path, purpose: Purpose) -> Option<Counts> {
    let times: Schedstat = parse(&folder.join("schedstat")).ok()?;
    let (cpu, wait) = (times.sum_exec_runtime, times.run_delay);
    if purpose == Purpose::Series {
        return Some([cpu, wait, 0, 0, 0, 0]);
    }
    let (voluntary, involuntary) = switches(&text(&folder.join("status"))?)?;
    let faults = page_faults(&text(&folder.join("stat"))?)?;
    Some([cpu, wait, voluntary, involuntary, voluntary + involuntary, faults])
}

/// Voluntary and involuntary switches of a `status` file, its last two lines. A full parser would
/// cost more than the kernel needs to write the file, for every task.
fn switches(status: &str) -> Option<(u64, u64)> {
    let find = |name| {
        let line = status.lines().rev().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    Some((find("voluntary_ctxt_switches:")?, find("nonvoluntary_ctxt_switches:")?))
}

/// Minor and major page faults of a `stat` file: the 10th and the 12th field. The name, the 2nd
/// field, may contain anything, so that counting starts behind its last parenthesis.
fn page_faults(stat: &str) -> Option<u64> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let minor: u64 = fields.nth(7)?.parse().ok()?;
    let major: u64 = fields.nth(1)?.parse().ok()?;
    Some(minor + major)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeProc;
    use model::reading::Scope;

    fn read(reader: &mut Box<dyn Reader>) -> Values {
        let mut values = Values::default();
        reader.read(&mut values).unwrap();
        values
    }

    #[test]
    fn counts_are_summed_per_part_and_tasks_that_end_keep_theirs() {
        let fake = FakeProc::new();
        fake.task(10, 10, "1000 50 3").moves(10, 10, [5, 2, 30, 1]);
        fake.task(10, 11, "2000 60 3").moves(10, 11, [7, 3, 40, 2]);
        let mut target = fake.target();
        target.server_pids = vec![10];
        target.foreground = vec![11];
        let mut reader = open(&target, Purpose::Window).unwrap().unwrap();
        let values = read(&mut reader);
        for (scope, counter, expected) in [
            (Scope::Server, "cpu_ns", 3000.0),
            (Scope::Foreground, "cpu_ns", 2000.0),
            (Scope::Background, "runqueue_wait_ns", 50.0),
            (Scope::Server, "voluntary_switches", 12.0),
            (Scope::Foreground, "involuntary_switches", 3.0),
            (Scope::Background, "context_switches", 7.0),
            (Scope::Server, "page_faults", 73.0),
        ] {
            assert_eq!(values.get(scope, counter), Some(expected), "{scope:?} {counter}");
        }
        let tasks = values.tasks();
        assert_eq!(tasks.get(&(11, "cpu_ns")), Some(&2000.0));
        assert!(tasks.keys().all(|(task, _)| *task == 11), "{tasks:?}");
        fake.remove("10/task/10").task(10, 12, "400 0 1").moves(10, 12, [0; 4]);
        assert_eq!(read(&mut reader).get(Scope::Server, "cpu_ns"), Some(3400.0));
    }

    #[test]
    fn a_task_counts_whatever_its_name_is() {
        let fake = FakeProc::new();
        fake.task(10, 10, "1000 50 3").moves(10, 10, [5, 2, 30, 1]);
        // The kernel cuts names off within a character.
        for (file, name) in [("stat", "(a"), ("status", "Name:\tx")] {
            let path = fake.root().join("10/task/10").join(file);
            let text = fs_err::read_to_string(&path).unwrap();
            let (before, after) = text.split_once(name).unwrap();
            let parts = [before.as_bytes(), name.as_bytes(), b"\xc3", after.as_bytes()];
            fs_err::write(path, parts.concat()).unwrap();
        }
        let mut target = fake.target();
        target.server_pids = vec![10];
        let values = read(&mut open(&target, Purpose::Window).unwrap().unwrap());
        assert_eq!(values.get(Scope::Server, "cpu_ns"), Some(1000.0));
        assert_eq!(values.get(Scope::Server, "page_faults"), Some(31.0));
    }

    #[test]
    fn a_task_number_that_is_used_again_starts_from_zero() {
        let fake = FakeProc::new();
        fake.task(10, 10, "1000 0 1");
        let mut target = fake.target();
        target.server_pids = vec![10];
        let mut reader = open(&target, Purpose::Series).unwrap().unwrap();
        assert_eq!(read(&mut reader).get(Scope::Server, "cpu_ns"), Some(1000.0));
        fake.task(10, 10, "30 0 1");
        let values = read(&mut reader);
        assert_eq!(values.get(Scope::Server, "cpu_ns"), Some(1030.0));
        assert_eq!(values.get(Scope::Server, "page_faults"), None);
    }

    #[test]
    fn a_host_that_does_not_count_says_so_instead_of_zero() {
        let check = |schedstat: &str, absent: bool| {
            let fake = FakeProc::new();
            fake.task(10, 10, schedstat).moves(10, 10, [0; 4]).task(10, 11, "0 0 0");
            let mut target = fake.target();
            target.server_pids = vec![10];
            let opened = open(&target, Purpose::Window);
            assert_eq!(matches!(opened, Err(Error::Absent(_))), absent, "{schedstat}");
        };
        check("1000 0 3", false);
        check("0 0 0", true);
        check("", true);
    }

    #[test]
    fn files_that_are_not_understood_give_nothing() {
        assert_eq!(switches("Name:\tx\n"), None);
        assert_eq!(switches("voluntary_ctxt_switches:\tx\nnonvoluntary_ctxt_switches:\t1\n"), None);
        assert_eq!(page_faults(""), None);
        assert_eq!(page_faults("1 (a) S 1"), None);
    }
}
