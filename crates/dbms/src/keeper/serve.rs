//! The keeper's own process: obeying orders, and ending everything when the orders end.

use super::{
    apart::{self, Apart},
    message::{Answer, Order, Spawn},
    spawn::{self, Site},
};
use crate::{
    Error, Result,
    cgroup::{self, REMOVE_LIMIT},
    freezer::Freezer,
    memory_limit, process,
    remains::Remains,
    task,
};
use fs_err as fs;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus},
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

/// After this time a keeper gives up on processes that do not die (they hang in the kernel).
const END_LIMIT: Duration = Duration::from_secs(10);
/// How often servers that are starting are looked at.
const LOOK_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
/// Time in which a server that is to be killed has to hold still.
const HOLD_LIMIT: Duration = Duration::from_millis(300);

/// The keeper's whole life: reads orders from standard input, answers on standard output, and
/// returns when the input ends and everything that was started is gone. Must be called from the
/// main thread of a process that does nothing else.
pub fn keep() -> Result<()> {
    let noise = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        // A handler and not SIG_IGN, which servers would inherit.
        signal_hook::flag::register(signal, Arc::clone(&noise))?;
    }
    let (deaths, death_writer) = UnixStream::pair()?;
    deaths.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, death_writer)?;
    // It fails for the leader of a group, which then has a terminal's signals handled above.
    let _ = rustix::process::setsid();
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .map_err(io::Error::from)?;
    std::env::set_current_dir("/")?;
    let mut house = House::default();
    let outcome = house.serve(deaths);
    house.end();
    outcome
}

#[derive(Default)]
struct House {
    /// How each spawned process ended; `None` while it lives.
    children: BTreeMap<u32, Option<WaitStatus>>,
    groups: BTreeMap<u32, PathBuf>,
    /// The groups that limit memory.
    limits: BTreeMap<u32, PathBuf>,
    adopted: BTreeMap<u32, OwnedFd>,
    remains: Remains,
    /// Servers that answer: what they share by now is written down.
    started: BTreeSet<u32>,
    /// Group of the run.
    group: Option<PathBuf>,
    /// How servers get namespaces of their own.
    apart: Option<Apart>,
    sockets: Option<PathBuf>,
    spawned: u32,
}

impl House {
    fn serve(&mut self, mut deaths: UnixStream) -> Result<()> {
        let stdin = io::stdin();
        let mut waiting = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let mut fds = [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&deaths, PollFlags::IN)];
            let starting = self.starting();
            let limit = (!starting.is_empty()).then_some(&LOOK_INTERVAL);
            match poll(&mut fds, limit) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let has_orders = !fds[0].revents().is_empty();
            if !fds[1].revents().is_empty() {
                let _ = deaths.read(&mut chunk);
                self.reap();
            }
            for pid in starting {
                self.remains.note(pid, &self.members(pid));
            }
            if !has_orders {
                continue;
            }
            let count = match rustix::io::read(&stdin, &mut chunk) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(io::Error::from(error).into()),
            };
            waiting.extend_from_slice(&chunk[..count]);
            while let Some(end) = waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = waiting.drain(..=end).collect();
                let answer = match serde_json::from_slice(&line) {
                    Ok(order) => self.obey(&order).unwrap_or_else(|error| failed(&error)),
                    Err(error) => failed(&error),
                };
                say(&answer)?;
            }
        }
    }

    fn obey(&mut self, order: &Order) -> Result<Answer> {
        match order {
            Order::Begin { folder, sockets } => {
                self.sockets = Some(sockets.clone());
                self.group = make_group();
                self.apart = Apart::permitted();
                self.remains = Remains::begin(folder, self.group.clone())?;
                Ok(Answer::Ready { group: self.group.clone() })
            }
            Order::Spawn(spawn) => {
                let group = self.new_group()?;
                let memory = self.limit(spawn, group.as_deref())?;
                let apart = self.apart.as_ref().filter(|_| !apart::hides_files_of(spawn));
                let (own, limiting) = (group.as_deref(), memory.as_deref());
                let site = Site { group: own, memory: limiting.filter(|_| memory != group), apart };
                let pid = spawn::spawn(spawn, site).inspect_err(|_| {
                    let groups = group.iter().chain(&memory);
                    groups.for_each(|group| cgroup::remove(group, REMOVE_LIMIT));
                })?;
                self.children.insert(pid, None);
                self.limits.extend(memory.iter().map(|memory| (pid, memory.clone())));
                if let Some(group) = &group {
                    self.groups.insert(pid, group.clone());
                }
                self.remains.note(pid, &[pid]);
                Ok(Answer::Spawned { pid, group, memory })
            }
            Order::Adopt { pid } => {
                // One that is gone already needs no keeper.
                if let Some(descriptor) = open(*pid) {
                    self.adopted.insert(*pid, descriptor);
                }
                Ok(Answer::Done)
            }
            Order::Note { pid } => {
                self.remains.note(*pid, &self.members(*pid));
                self.started.insert(*pid);
                Ok(Answer::Done)
            }
            Order::Kill { pid } => {
                self.kill(*pid);
                Ok(Answer::Done)
            }
            Order::Ending { pid } => self.ending(*pid),
            Order::Forget { pid } => {
                self.forget(*pid);
                Ok(Answer::Done)
            }
        }
    }

    fn new_group(&mut self) -> Result<Option<PathBuf>> {
        let Some(run) = &self.group else { return Ok(None) };
        self.spawned += 1;
        let group = run.join(self.spawned.to_string());
        fs::create_dir(&group)?;
        Ok(Some(group))
    }

    /// The group that limits the memory of what is to start, if that is wanted.
    fn limit(&mut self, spawn: &Spawn, group: Option<&Path>) -> Result<Option<PathBuf>> {
        let Some(bytes) = spawn.memory else { return Ok(None) };
        if group.is_none() {
            self.spawned += 1;
        }
        let made = memory_limit::make(group, bytes, self.spawned).inspect_err(|_| {
            group.iter().for_each(|group| cgroup::remove(group, REMOVE_LIMIT));
        });
        made.map(Some)
    }

    fn ending(&mut self, pid: u32) -> Result<Answer> {
        if !self.children.contains_key(&pid) {
            return Err(Error::Keeper { reason: format!("process {pid} is not a child of it") });
        }
        if self.children.get(&pid).is_some_and(Option::is_none) {
            let child = number(pid);
            let waited = rustix::process::waitpid(child, WaitOptions::empty());
            let status = waited.map_err(io::Error::from)?.map(|(_, status)| status);
            self.children.insert(pid, status);
        }
        let status = self.children.get(&pid).copied().flatten();
        Ok(Answer::Ended {
            code: status.and_then(|status| status.exit_status()),
            signal: status.and_then(|status| status.terminating_signal()),
        })
    }

    /// Living processes that may create shared memory at any moment: servers that do not answer
    /// yet, and those that make data folders.
    fn starting(&self) -> Vec<u32> {
        let living = self.children.iter().filter(|(_, ending)| ending.is_none());
        living.map(|(pid, _)| *pid).filter(|pid| !self.started.contains(pid)).collect()
    }

    /// Processes of a server that live. Without a group, those of a dead first process have the
    /// keeper as their parent, and belong to no other server.
    fn members(&self, pid: u32) -> Vec<u32> {
        if let Some(group) = self.groups.get(&pid) {
            return cgroup::processes(group);
        }
        let is_alive = |pid: &u32| self.children.get(pid).is_some_and(Option::is_none);
        if is_alive(&pid) {
            return task::family(pid);
        }
        let others = self.children.keys().copied().filter(|other| *other != pid && is_alive(other));
        let others: BTreeSet<u32> = others.flat_map(task::family).collect();
        let me = std::process::id();
        task::family(me).into_iter().filter(|one| *one != me && !others.contains(one)).collect()
    }

    /// Kills a server. It is stopped before it is looked at, so that nothing is shared between the
    /// look and the end.
    fn kill(&mut self, pid: u32) {
        let group = self.groups.get(&pid).cloned();
        let is_alive = self.children.get(&pid).is_some_and(Option::is_none);
        // Without a group, another process may have the number of one that has ended.
        let signals = is_alive.then(|| Freezer::of_process(pid));
        if let Some(freezer) = group.clone().map(Freezer::Group).or(signals) {
            // What does not stop in time is killed all the same.
            let _ = freezer.freeze_within(HOLD_LIMIT);
        }
        let start = Instant::now();
        loop {
            let left = self.members(pid);
            self.remains.note(pid, &left);
            group.iter().for_each(|group| cgroup::kill_all(group));
            left.iter().for_each(|pid| process::send(*pid, Signal::KILL));
            self.reap();
            if left.is_empty() || start.elapsed() > END_LIMIT {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Kills what may be left of a server, and removes its group and shared memory.
    fn forget(&mut self, pid: u32) {
        self.reap();
        if !self.members(pid).is_empty() {
            self.kill(pid);
        }
        for group in [self.groups.remove(&pid), self.limits.remove(&pid)].into_iter().flatten() {
            cgroup::remove(&group, REMOVE_LIMIT);
        }
        if self.children.get(&pid).is_some_and(Option::is_some) {
            self.remains.remove(pid);
            self.children.remove(&pid);
            self.started.remove(&pid);
        }
    }

    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = rustix::process::waitpid(None, WaitOptions::NOHANG) {
            let pid = u32::try_from(pid.as_raw_nonzero().get()).unwrap_or(0);
            if let Some(ending) = self.children.get_mut(&pid) {
                *ending = Some(status);
                // It may have been killed; what its processes share is not seen later.
                self.remains.note(pid, &self.members(pid));
            }
        }
    }

    fn end(&mut self) {
        for descriptor in self.adopted.values() {
            let _ = rustix::process::pidfd_send_signal(descriptor, Signal::KILL);
        }
        let servers: Vec<u32> = self.children.keys().copied().collect();
        servers.iter().for_each(|pid| self.kill(*pid));
        let start = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            let left = self.living();
            if left.is_empty() || start.elapsed() > END_LIMIT {
                break;
            }
            left.iter().for_each(|pid| process::send(*pid, Signal::KILL));
            self.reap();
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        self.reap();
        if let Some(sockets) = &self.sockets {
            // A folder that cannot be removed is no reason to stay.
            let _ = fs::remove_dir_all(sockets);
        }
        self.group.iter().for_each(|group| cgroup::remove(group, REMOVE_LIMIT));
        for folder in memory_limit::folders() {
            let run = folder.join(cgroup::name_of_run(std::process::id()));
            cgroup::remove(&run, REMOVE_LIMIT);
        }
        self.remains.end();
    }

    /// Everything that was started and lives, in whatever group or session.
    fn living(&self) -> BTreeSet<u32> {
        let me = std::process::id();
        let mut left: BTreeSet<u32> =
            task::family(me).into_iter().filter(|pid| *pid != me).collect();
        left.extend(self.groups.values().flat_map(|group| cgroup::processes(group)));
        left
    }
}

/// The group of this run, in the first place where that is possible, after removing those of dead
/// keepers.
fn make_group() -> Option<PathBuf> {
    // A group with this process's own number is of an earlier one.
    let is_dead = |keeper| task::start(keeper).is_none() || keeper == std::process::id();
    for folder in cgroup::folders().into_iter().chain(memory_limit::folders()) {
        cgroup::sweep(&folder, is_dead);
    }
    for folder in cgroup::folders() {
        let group = folder.join(cgroup::name_of_run(std::process::id()));
        let trial = group.join("0");
        let works = fs::create_dir(&group).is_ok()
            && fs::create_dir(&trial).is_ok()
            && trial.join("cgroup.freeze").exists()
            && spawn::can_join(&trial);
        let _ = fs::remove_dir(&trial);
        if works {
            return Some(group);
        }
        let _ = fs::remove_dir(&group);
    }
    None
}

fn open(pid: u32) -> Option<OwnedFd> {
    rustix::process::pidfd_open(number(pid)?, PidfdFlags::empty()).ok()
}

fn number(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

fn failed(error: &dyn std::fmt::Display) -> Answer {
    Answer::Failed { reason: error.to_string() }
}

fn say(answer: &Answer) -> Result<()> {
    let mut line = serde_json::to_string(answer).map_err(io::Error::from)?;
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    Ok(stdout.flush()?)
}
