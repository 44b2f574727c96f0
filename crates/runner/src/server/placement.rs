//! On which processors client and server work.
//!
//! A client in a closed loop and the task that serves it never work at the same time. On two
//! processors each operation wakes up both. On a virtual machine that costs more than many
//! operations, and never twice the same: ratios of slices of 0.3 s of MySQL's point queries had a
//! standard deviation of 17 %, and of 3 % on one processor.

use super::foreground::Foreground;
use model::{drive::Connection, experiment::Placement, mark};
use rustix::{
    process::Pid,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use std::collections::BTreeMap;

/// Where clients and the tasks that serve them are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Each pair on a processor of its own.
    Paired,
    /// Where the kernel, or somebody else, puts them.
    Free,
    /// Not where they should be.
    Refused,
}

impl Placed {
    /// The mark of slices.
    pub(crate) fn mark(self) -> Option<&'static str> {
        match self {
            Self::Paired => Some(mark::PAIRED),
            Self::Free => None,
            Self::Refused => Some(mark::NOT_PLACED),
        }
    }
}

/// How they are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    /// As the experiment says.
    Asked(Placement),
    /// Each client on the processor of the task that serves it, where it works while that task
    /// waits, because it gives way (`dbdyno drive --gives-way`). So the task waits for every
    /// request, and executes the same instructions after each start: a wait that it is spared,
    /// because the next request is there already, is 190 instructions of Postgres 18 and 240 of
    /// MySQL 9. The number tells servers apart that work side by side.
    Behind(usize),
}

/// Puts the two tasks of each connection on a processor of their own, if there are as many
/// processors as connections on which both may work. Else serving tasks work where the process
/// `server` may: a thread that it has used before is not kept on one of them.
pub(super) fn place(
    rule: Rule,
    connections: &[Connection],
    foreground: &Foreground,
    server: u32,
) -> Placed {
    let (tasks, Some(first)) = (&foreground.tasks, connections.first()) else {
        return Placed::Free;
    };
    // All clients are threads of one driver, and new.
    let Some((all, clients)) = allowed(server).zip(allowed(first.driver_task)) else {
        return Placed::Refused;
    };
    // The first processor often serves the interrupts of devices.
    let both = |cpu: &usize| all.is_set(*cpu) && clients.is_set(*cpu);
    let both = (0..CpuSet::MAX_CPU).rev().filter(both);
    let own: Vec<CpuSet> = cores_first(both, siblings).into_iter().map(alone).collect();
    let turn = if let Rule::Behind(number) = rule { number } else { 0 };
    let is_paired = rule != Rule::Asked(Placement::Free) && (1..=own.len()).contains(&tasks.len());
    let pairs = tasks.iter().zip(connections);
    let mut moved = pairs.enumerate().map(|(index, (task, connection))| {
        if !is_paired {
            return set(*task, &all);
        }
        let place = &own[(index + turn) % own.len()];
        set(*task, place).and_then(|()| set(connection.driver_task, place))
    });
    match (moved.all(|placed| placed.is_some()), is_paired) {
        (false, _) => Placed::Refused,
        (true, true) => Placed::Paired,
        (true, false) => Placed::Free,
    }
}

/// The processors, those of cores that were not named yet first: two on one core slow each other,
/// and on many hosts they have numbers next to each other.
fn cores_first(
    processors: impl Iterator<Item = usize>,
    core_of: impl Fn(usize) -> String,
) -> Vec<usize> {
    let mut named: BTreeMap<String, usize> = BTreeMap::new();
    let mut ranked = Vec::new();
    for processor in processors {
        let of_core = named.entry(core_of(processor)).or_default();
        *of_core += 1;
        ranked.push((*of_core, processor));
    }
    ranked.sort_by_key(|(turn, _)| *turn);
    ranked.into_iter().map(|(_, processor)| processor).collect()
}

/// The processors on the core of one, as the kernel lists them; itself where it does not.
fn siblings(processor: usize) -> String {
    let list = format!("/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list");
    fs_err::read_to_string(list).unwrap_or_else(|_| processor.to_string())
}

fn alone(processor: usize) -> CpuSet {
    let mut one = CpuSet::new();
    one.set(processor);
    one
}

fn allowed(task: u32) -> Option<CpuSet> {
    sched_getaffinity(Some(pid(task)?)).ok()
}

fn set(task: u32, place: &CpuSet) -> Option<()> {
    sched_setaffinity(Some(pid(task)?), place).ok()
}

fn pid(task: u32) -> Option<Pid> {
    i32::try_from(task).ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        sync::mpsc::{Sender, channel},
        thread::{JoinHandle, spawn},
    };

    /// A thread that waits until its sender is dropped.
    fn waiting() -> (u32, Sender<()>, JoinHandle<()>) {
        let (told, task) = channel();
        let (end, ended) = channel::<()>();
        let thread = spawn(move || {
            let me = rustix::thread::gettid().as_raw_nonzero().get();
            told.send(me.unsigned_abs()).unwrap();
            let _ = ended.recv();
        });
        (task.recv().unwrap(), end, thread)
    }

    #[test]
    fn pairs_share_a_processor_unless_there_are_too_few_or_they_are_free() {
        let me = std::process::id();
        let all = allowed(me).unwrap();
        let waiting: Vec<_> = (0..=all.count()).map(|_| [waiting(), waiting()]).collect();
        let check = |rule, connections: usize, server: u32, is_paired: bool| {
            let pairs = &waiting[..connections];
            let tasks = pairs.iter().map(|[server, _]| server.0).collect();
            let foreground = Foreground { tasks, how: String::new() };
            let clients: Vec<Connection> = pairs
                .iter()
                .map(|[_, client]| Connection { driver_task: client.0, server_id: 0 })
                .collect();
            let expected = if is_paired { Placed::Paired } else { Placed::Free };
            assert_eq!(place(rule, &clients, &foreground, server), expected);
            for [server, client] in pairs {
                let (server, client) = (allowed(server.0).unwrap(), allowed(client.0).unwrap());
                assert_eq!(server == client && server.count() == 1, is_paired || all.count() == 1);
            }
            // Clients are new when they are placed.
            pairs.iter().for_each(|[_, client]| set(client.0, &all).unwrap());
        };
        let [paired, free] = [Placement::Paired, Placement::Free].map(Rule::Asked);
        check(paired, 1, me, true);
        check(free, 1, me, false);
        check(paired, waiting.len(), me, false);
        // A server that may work on one processor shares it with one client.
        let (restricted, _end, _thread) = self::waiting();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| all.is_set(*cpu)).unwrap();
        set(restricted, &alone(first)).unwrap();
        check(paired, 1, restricted, true);
        assert!(allowed(waiting[0][0].0).unwrap() == alone(first));
        // Servers side by side are on one processor each.
        check(Rule::Behind(0), 1, me, true);
        let one = allowed(waiting[0][0].0).unwrap();
        check(Rule::Behind(1), 1, me, true);
        assert!(allowed(waiting[0][0].0).unwrap() != one || all.count() == 1);
    }

    #[test]
    fn processors_that_share_a_core_come_after_those_of_others() {
        let check = |core_of: fn(usize) -> String, expected: [usize; 6]| {
            assert_eq!(cores_first((0..6).rev(), core_of), expected);
        };
        check(|processor| processor.to_string(), [5, 4, 3, 2, 1, 0]);
        check(|processor| (processor / 2).to_string(), [5, 3, 1, 4, 2, 0]);
        check(|processor| (processor % 3).to_string(), [5, 4, 3, 2, 1, 0]);
    }

    #[test]
    fn what_is_gone_is_told() {
        let foreground = Foreground { tasks: vec![u32::MAX], how: String::new() };
        let clients = [Connection { driver_task: u32::MAX, server_id: 0 }];
        let placed =
            place(Rule::Asked(Placement::Paired), &clients, &foreground, std::process::id());
        assert_eq!(placed, Placed::Refused);
    }
}
