//! The agent of an attached server: `dbdyno agent` on the server's host, started by the program
//! that the experiment names, such as `ssh`.

use crate::{
    Error, Stop,
    clock::wall_us,
    lines::{LineProcess, NoLine},
};
use model::{
    agent::{Command, Greeting, Listener, Reply, ServerProcess, VERSION},
    escape,
    observed::{Observation, Observed, TaskCpu},
    reading::SeriesRow,
};
use std::{
    collections::BTreeMap,
    io::{ErrorKind, Read},
    process::{ChildStderr, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long an agent may be silent.
const SILENCE: Duration = Duration::from_secs(60);

/// Number of round trips; their median is shown.
pub(crate) const ROUND_TRIPS: usize = 20;

/// How long the last words of a program that has ended may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Bytes of what the program says on its standard error that are kept, and quoted.
const WORDS: usize = 500;

/// Variables that programs such as `ssh` need beside those that every process of a run gets.
const VARIABLES: &[&str] = &["DOCKER_HOST", "KRB5CCNAME", "KUBECONFIG", "SSH_AUTH_SOCK", "USER"];

/// The agents of a run, by subject.
#[derive(Default)]
pub(crate) struct Agents(Mutex<BTreeMap<usize, Agent>>);

/// An agent, which all who speak with it share.
#[derive(Clone)]
pub(crate) struct Agent(Arc<Mutex<Shared>>);

struct Shared {
    start: Start,
    silence: Duration,
    /// What it may not read, as it was told last.
    told: Vec<String>,
    /// None before it starts and after it ended.
    open: Option<Open>,
}

struct Open {
    process: LineProcess,
    said: Said,
    /// Which kernel it runs under.
    boot: String,
}

/// Whose agent it is, and how it starts.
pub(crate) struct Start {
    /// Label of the subject.
    pub(crate) label: String,
    /// The program with its arguments.
    pub(crate) words: Vec<String>,
    /// Where the server listens.
    pub(crate) listener: Listener,
    /// Has a process killed when this one dies.
    pub(crate) adopt: Box<dyn Fn(u32) -> Result<(), Error> + Send>,
    pub(crate) stop: Stop,
}

impl Agents {
    /// The agent of a subject. It starts when it is asked for the server.
    pub(crate) fn of(&self, subject: usize, start: Start) -> Agent {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(subject).or_insert_with(|| Agent::new(start, SILENCE)).clone()
    }

    /// Ends all agents.
    pub(crate) fn end(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Agent {
    fn new(start: Start, silence: Duration) -> Self {
        Self(Arc::new(Mutex::new(Shared { start, silence, told: Vec::new(), open: None })))
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the server; starts the agent where it does not run.
    pub(crate) fn find(&self) -> Result<ServerProcess, Error> {
        let mut shared = self.shared();
        if !shared.open.as_mut().is_some_and(|open| open.process.is_alive()) {
            shared.start()?;
        }
        let listener = shared.start.listener.clone();
        match shared.ask(&Command::Find(listener))? {
            Reply::Found(found) => Ok(found),
            other => Err(shared.unexpected("find", &other)),
        }
    }

    /// What it may not read, as far as that is news.
    pub(crate) fn untold(&self, lacks: Vec<String>) -> Vec<String> {
        let mut shared = self.shared();
        let news = lacks.iter().filter(|one| !shared.told.contains(one)).cloned().collect();
        shared.told = lacks;
        news
    }

    /// Median time of a command that does nothing, microseconds.
    pub(crate) fn round_trip_us(&self) -> Result<f64, Error> {
        let mut times = Vec::with_capacity(ROUND_TRIPS);
        for _ in 0..ROUND_TRIPS {
            let start = Instant::now();
            self.done(&Command::Ping)?;
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        Ok(times[ROUND_TRIPS / 2])
    }

    /// Whether it runs on this host.
    pub(crate) fn is_here(&self) -> bool {
        let own = fs_err::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let shared = self.shared();
        let boot = shared.open.as_ref().map_or("", |open| open.boot.as_str());
        !boot.is_empty() && boot == own.trim()
    }

    pub(crate) fn open(&self, observation: Observation, foreground: &[u32]) -> Result<(), Error> {
        self.done(&Command::Open { observation, foreground: foreground.to_vec() })
    }

    pub(crate) fn begin(&self, observation: Observation) -> Result<(), Error> {
        self.done(&Command::Begin(observation))
    }

    pub(crate) fn so_far(&self, observation: Observation) -> Result<Observed, Error> {
        self.observed(&Command::SoFar(observation))
    }

    /// What an observation found, by the clock of this host.
    pub(crate) fn end(&self, observation: Observation) -> Result<Observed, Error> {
        self.observed(&Command::End(observation))
    }

    /// Closes all observations.
    pub(crate) fn close(&self) -> Result<(), Error> {
        self.done(&Command::Close)
    }

    fn observed(&self, command: &Command) -> Result<Observed, Error> {
        let mut shared = self.shared();
        match shared.ask(command)? {
            Reply::Observed { mut found, wall_us: its } => {
                shift(&mut found.series, wall_us().cast_signed() - its.cast_signed());
                Ok(*found)
            }
            other => Err(shared.unexpected("observe", &other)),
        }
    }

    fn done(&self, command: &Command) -> Result<(), Error> {
        let mut shared = self.shared();
        match shared.ask(command)? {
            Reply::Done => Ok(()),
            other => Err(shared.unexpected("a command", &other)),
        }
    }

    /// The tasks that a command asks for.
    pub(crate) fn tasks(&self, command: &Command) -> Result<Vec<TaskCpu>, Error> {
        let mut shared = self.shared();
        match shared.ask(command)? {
            Reply::Tasks(tasks) => Ok(tasks),
            other => Err(shared.unexpected("tasks", &other)),
        }
    }
}

impl Shared {
    fn start(&mut self) -> Result<(), Error> {
        self.open = None;
        let program = self.start.words.first().map_or("", String::as_str).to_owned();
        let mut command = std::process::Command::new(&program);
        dbms::inherit_little(&mut command);
        let kept = VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.args(&self.start.words[1..]).envs(kept).stderr(Stdio::piped());
        let mut process = LineProcess::spawn(&mut command, &self.start.stop).map_err(|error| {
            self.failed(&match error.kind() {
                ErrorKind::NotFound => format!(
                    "there is no program `{program}`: install it on this host, or name another \
                     one in `agent`"
                ),
                _ => format!("`{program}` cannot be started: {error}"),
            })
        })?;
        let said = Said::of(process.child.stderr.take());
        (self.start.adopt)(process.child.id())?;
        self.open = Some(Open { process, said, boot: String::new() });
        let line = self.receive()?;
        let Ok(greeting) = serde_json::from_str::<Greeting>(&line) else {
            self.open = None;
            return Err(self.failed(&format!(
                "`{program}` starts no `dbdyno agent`, because its first line is `{}`: the last \
                 words of `agent` are `dbdyno` and `agent`, and nothing else may write there",
                quoted(&line)
            )));
        };
        if greeting.dbdyno != VERSION {
            self.open = None;
            return Err(self.failed(&format!(
                "it is dbdyno {} and this is dbdyno {VERSION}: install the same version \
                 on both hosts",
                quoted(&greeting.dbdyno)
            )));
        }
        if let Some(open) = &mut self.open {
            open.boot = greeting.boot;
        }
        Ok(())
    }

    fn ask(&mut self, command: &Command) -> Result<Reply, Error> {
        let Some(open) = &mut self.open else { return Err(self.failed("it has ended")) };
        let sent = open.process.send(command);
        sent.map_err(|why| self.ended(why))?;
        let line = self.receive()?;
        match serde_json::from_str(&line) {
            Ok(Reply::Failed { message }) => Err(self.failed(&escape::terminal(&message))),
            Ok(reply) => Ok(reply),
            Err(error) => {
                self.open = None;
                Err(self.failed(&format!("it sent `{}`, an unknown reply: {error}", quoted(&line))))
            }
        }
    }

    fn receive(&mut self) -> Result<String, Error> {
        let silence = self.silence;
        let Some(open) = &mut self.open else { return Err(self.failed("it has ended")) };
        let line = open.process.receive(Some(silence));
        line.map_err(|why| self.ended(why))
    }

    /// The error of an agent that does not answer, which ends it.
    fn ended(&mut self, why: NoLine) -> Error {
        let open = self.open.take();
        let reason = match why {
            NoLine::Error(error) => return error,
            NoLine::Silent => format!("it was silent for {} s", self.silence.as_secs()),
            NoLine::Ended(how) => match open.map(Open::end) {
                Some((_, words)) if !words.is_empty() => {
                    format!("it ended: `{}`", quoted(&words))
                }
                Some((status, _)) => format!("it ended ({status})"),
                None => format!("it ended ({how})"),
            },
        };
        self.failed(&reason)
    }

    fn failed(&self, reason: &str) -> Error {
        Error::Driver(format!("the agent of `{}`: {reason}", self.start.label))
    }

    fn unexpected(&self, command: &str, reply: &Reply) -> Error {
        self.failed(&format!("it answered `{command}` with `{}`", quoted(&format!("{reply:?}"))))
    }
}

impl Open {
    /// Ends it; how it ended, and what it said last on its standard error.
    fn end(mut self) -> (String, String) {
        let status = self.process.end();
        let start = Instant::now();
        while !self.said.is_whole() && start.elapsed() < LAST_WORDS {
            std::thread::sleep(Duration::from_millis(5));
        }
        (status, self.said.words())
    }
}

/// What a process says on its standard error: its last words.
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    /// A thread reads to the end, for which nobody waits for long: what the process started may
    /// hold it open.
    fn of(stderr: Option<ChildStderr>) -> Self {
        let said = Self(Arc::default());
        let Some(mut stderr) = stderr else { return said };
        let kept = Arc::clone(&said.0);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..count]);
                let more = kept.len().saturating_sub(WORDS);
                kept.drain(..more);
            }
        });
        said
    }

    /// Whether there is no more to come.
    fn is_whole(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn words(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

/// Moves rows to another clock.
fn shift(rows: &mut [SeriesRow], by_us: i64) {
    rows.iter_mut().for_each(|row| row.time_us = row.time_us.saturating_add_signed(by_us));
}

/// Words from outside as a part of a sentence: on one line, and not too many.
fn quoted(words: &str) -> String {
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let start: String = words.chars().take(WORDS).collect();
    escape::terminal(&start)
}

#[cfg(test)]
mod tests;
