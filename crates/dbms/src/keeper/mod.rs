//! The keeper: a process of the same program that is the parent of all servers of a run. Its
//! standard input is a pipe from dbdyno; when that closes, for whatever reason, it ends everything
//! that it started.

mod apart;
mod message;
mod serve;
mod spawn;

pub use serve::keep;

pub(crate) use message::Spawn;

use crate::{
    Error, Result, RunPlace, cgroup,
    client::inherit_little,
    memory_limit,
    process::{Ending, ended_within, open},
    remains::Remains,
};
use message::{Answer, Order};
use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

/// The word that makes dbdyno a keeper.
const SUBCOMMAND: &str = "keep";

/// A keeper that runs, seen from dbdyno. Clones speak to the same process; when the last is
/// dropped, it ends.
#[derive(Debug, Clone)]
pub struct Keeper {
    process: Arc<Mutex<Process>>,
    group: Option<PathBuf>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    watch: Option<JoinHandle<()>>,
    gone: Arc<Gone>,
}

impl Drop for Process {
    fn drop(&mut self) {
        self.gone.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.orders = None;
        // The watch first: a process that is not waited for yet keeps its number.
        self.watch.take().map(JoinHandle::join);
        let _ = self.child.wait();
    }
}

/// What happens when the keeper is gone.
#[derive(Default)]
struct Gone(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl std::fmt::Debug for Gone {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Gone")
    }
}

/// A process that the keeper started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spawned {
    pub(crate) pid: u32,
    pub(crate) group: Option<PathBuf>,
    /// The group that limits its memory.
    pub(crate) memory: Option<PathBuf>,
}

impl Keeper {
    /// Starts `exe keep` for a run.
    pub fn start(exe: &Path, place: &RunPlace) -> Result<Self> {
        let mut command = Command::new(exe);
        command.arg(SUBCOMMAND);
        Self::start_by(command, place)
    }

    /// Starts a keeper by a command whose process calls [`keep`].
    pub fn start_by(mut command: Command, place: &RunPlace) -> Result<Self> {
        inherit_little(&mut command);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Nothing is written to it. The lock is held as long as the keeper lives, so nobody
            // else uses the folders that it removes at its end.
            .stderr(Stdio::from(place.lock.file().try_clone()?))
            .spawn()
            .map_err(|error| Error::KeeperGone { reason: error.to_string() })?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Error::KeeperGone { reason: "it has no pipes".to_owned() });
        };
        let gone = Arc::default();
        let watch = watch(&child, place, Arc::clone(&gone))?;
        let answers = BufReader::new(answers);
        let process = Process { child, orders: Some(orders), answers, watch: Some(watch), gone };
        let mut keeper = Self { process: Arc::new(Mutex::new(process)), group: None };
        let (folder, sockets) = (place.data().to_owned(), place.sockets().to_owned());
        match keeper.ask(&Order::Begin { folder, sockets })? {
            Answer::Ready { group } => keeper.group = group,
            other => return Err(nonsense(&other)),
        }
        Ok(keeper)
    }

    /// How servers are frozen on this host: `cgroup2` or `sigstop`.
    pub fn freezer_name(&self) -> &'static str {
        if self.group.is_some() { "cgroup2" } else { "sigstop" }
    }

    /// Process of the keeper.
    pub fn pid(&self) -> u32 {
        self.process.lock().unwrap_or_else(PoisonError::into_inner).child.id()
    }

    /// Does `act` once, in another thread, when the keeper has ended without being asked to.
    pub fn when_gone(&self, act: impl FnOnce() + Send + 'static) {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        *process.gone.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(act));
    }

    /// Registers a process of dbdyno's own (a driver), which will be killed when dbdyno dies.
    pub fn adopt(&self, pid: u32) -> Result<()> {
        self.obey(&Order::Adopt { pid })
    }

    /// Ends the keeper and everything that it started. The same happens when the last clone is
    /// dropped.
    pub fn end(self) -> Result<()> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.gone.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        process.orders = None;
        process.watch.take().map(JoinHandle::join);
        let status = process.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(Error::KeeperGone { reason: status.to_string() })
    }

    pub(crate) fn spawn(&self, spawn: Spawn) -> Result<Spawned> {
        match self.ask(&Order::Spawn(Box::new(spawn)))? {
            Answer::Spawned { pid, group, memory } => Ok(Spawned { pid, group, memory }),
            other => Err(nonsense(&other)),
        }
    }

    /// How a process ended; it must have.
    pub(crate) fn ending(&self, pid: u32) -> Result<Ending> {
        match self.ask(&Order::Ending { pid })? {
            Answer::Ended { code, signal } => Ok(Ending { code, signal }),
            other => Err(nonsense(&other)),
        }
    }

    /// Has the shared memory of a server written down, because it is hard to find after a crash.
    pub(crate) fn note(&self, pid: u32) -> Result<()> {
        self.obey(&Order::Note { pid })
    }

    /// Kills a server and waits for its death.
    pub(crate) fn kill(&self, pid: u32) -> Result<()> {
        self.obey(&Order::Kill { pid })
    }

    /// Removes what a process left behind that has ended.
    pub(crate) fn forget(&self, pid: u32) -> Result<()> {
        self.obey(&Order::Forget { pid })
    }

    fn obey(&self, order: &Order) -> Result<()> {
        match self.ask(order)? {
            Answer::Done => Ok(()),
            other => Err(nonsense(&other)),
        }
    }

    fn ask(&self, order: &Order) -> Result<Answer> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = |error: &dyn std::fmt::Display| Error::KeeperGone { reason: error.to_string() };
        let mut line = serde_json::to_string(order).map_err(|error| gone(&error))?;
        line.push('\n');
        let orders = process.orders.as_mut().ok_or_else(|| gone(&"it was ended"))?;
        orders.write_all(line.as_bytes()).map_err(|error| gone(&error))?;
        let mut answer = String::new();
        if process.answers.read_line(&mut answer).map_err(|error| gone(&error))? == 0 {
            return Err(gone(&"it closed its pipe"));
        }
        match serde_json::from_str(&answer).map_err(|error| gone(&error))? {
            Answer::Failed { reason } => Err(Error::Keeper { reason }),
            other => Ok(other),
        }
    }
}

/// Waits for the end of the keeper in a thread, and removes what it left if it was killed.
fn watch(child: &Child, place: &RunPlace, gone: Arc<Gone>) -> Result<JoinHandle<()>> {
    let pid = child.id();
    let process = open(pid)?;
    let (folder, sockets) = (place.data().to_owned(), place.sockets().to_owned());
    Ok(std::thread::spawn(move || {
        while !ended_within(&process, Duration::from_secs(3600)) {}
        // One that ended in peace has left nothing; one that died at once left no account.
        Remains::sweep(&folder);
        for groups in cgroup::folders().into_iter().chain(memory_limit::folders()) {
            cgroup::sweep(&groups, |keeper| keeper == pid);
        }
        let _ = fs_err::remove_dir_all(sockets);
        let act = gone.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        act.into_iter().for_each(|act| act());
    }))
}

fn nonsense(answer: &Answer) -> Error {
    Error::KeeperGone { reason: format!("it answered {answer:?}") }
}
