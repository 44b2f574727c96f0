//! The driver process as the runner sees it: commands out, replies in, both one JSON object per
//! line.

use crate::{Error, Stop, run::Run};
use model::{
    drawn::Drawn,
    drive::{Command, Reply, Stretch, StretchEnd, StretchReport},
    subject::Setting,
};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::JoinHandle,
    time::Duration,
};

/// How often a wait for a reply looks at the interrupt flag.
const POLL: Duration = Duration::from_millis(50);

/// How a server and its driver are started.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wrapper {
    /// Words before the server's command.
    pub(crate) prefix: Vec<String>,
    /// Settings of the server, beside its own.
    pub(crate) settings: Vec<Setting>,
    /// Words before the driver's command.
    pub(crate) driver: Vec<String>,
    /// Variables of the driver's environment.
    pub(crate) environment: Vec<(String, String)>,
    /// Where the instrument keeps its files, whose server this is.
    pub(crate) folder: Option<PathBuf>,
}

/// Completes the wrapper of a server of this subject, with a label of its own.
pub(crate) type OwnServer = fn(&Run<'_>, usize, &str, &mut Wrapper) -> Result<(), Error>;

/// A driver process. Dropping it closes its standard input, upon which it ends, and reaps it.
pub struct Driver {
    child: Child,
    input: Option<ChildStdin>,
    replies: Receiver<std::io::Result<String>>,
    reader: Option<JoinHandle<()>>,
    stop: Stop,
    /// What all stretches did together since it was emptied.
    pub(crate) seen: Seen,
}

/// What stretches did together, the ones that are discarded included.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    /// Executions that succeeded, and those of them that were rolled back on purpose, by operation.
    pub(crate) ops: BTreeMap<String, (u64, u64)>,
    /// What coded transactions counted.
    pub(crate) drawn: Vec<Drawn>,
}

impl Seen {
    fn add(&mut self, report: &StretchReport) {
        for op in &report.ops {
            let (count, rolled_back) = self.ops.entry(op.name.clone()).or_default();
            *count += op.count;
            *rolled_back += op.rolled_back;
        }
        Drawn::merge(&mut self.drawn, &report.drawn);
    }

    /// Committed executions of an operation.
    pub(crate) fn committed(&self, op: &str) -> u64 {
        self.ops.get(op).map_or(0, |(count, rolled_back)| count.saturating_sub(*rolled_back))
    }
}

impl Driver {
    /// Starts `exe drive` with its talk to us as its standard input and output.
    pub fn spawn(exe: &Path, stop: &Stop) -> Result<Self, Error> {
        Self::spawn_as(exe, &Wrapper::default(), stop)
    }

    /// The same in a wrapper, for an embedded engine, whose process the driver is.
    pub(crate) fn spawn_as(exe: &Path, wrapper: &Wrapper, stop: &Stop) -> Result<Self, Error> {
        let words =
            wrapper.driver.iter().map(OsStr::new).chain([exe.as_os_str(), "drive".as_ref()]);
        let words: Vec<&OsStr> = words.collect();
        let mut command = std::process::Command::new(words[0]);
        dbms::inherit_little(&mut command);
        let mut child = command
            .args(&words[1..])
            .envs(wrapper.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|source| {
                Error::Driver(format!("cannot start the driver process: {source}"))
            })?;
        let input = child.stdin.take();
        let output = child
            .stdout
            .take()
            .ok_or_else(|| Error::Driver("the driver process has no output".to_owned()))?;
        let (sender, replies) = channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            child,
            input,
            replies,
            reader: Some(reader),
            stop: stop.clone(),
            seen: Seen::default(),
        })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process has not ended.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends `command` and waits for its reply. A reply that the command failed is
    /// `Err(Error::Sql)`.
    pub fn ask(&mut self, command: &Command) -> Result<Reply, Error> {
        self.send(command)?;
        match self.receive()? {
            Reply::Failed { message, lost } => Err(Error::Sql { message, lost }),
            reply => Ok(reply),
        }
    }

    /// The rows of one statement on the control connection.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        match self.ask(&Command::Query { sql: sql.to_owned() })? {
            Reply::Rows { rows, .. } => Ok(rows),
            other => Err(unexpected("query", &other)),
        }
    }

    /// One stretch of the compiled workload.
    pub(crate) fn stretch(&mut self, end: StretchEnd, seed: u64) -> Result<StretchReport, Error> {
        let stretch = Stretch { end, seed, interval_ms: 1000 };
        match self.ask(&Command::Run(stretch))? {
            Reply::Ran(report) => {
                self.seen.add(&report);
                Ok(*report)
            }
            other => Err(unexpected("run", &other)),
        }
    }

    fn send(&mut self, command: &Command) -> Result<(), Error> {
        let mut line = serde_json::to_vec(command)
            .map_err(|error| Error::Driver(format!("a command has no JSON form: {error}")))?;
        line.push(b'\n');
        let input = self.input.as_mut().ok_or_else(|| ended("its input is closed"))?;
        let sent = input.write_all(&line).and_then(|()| input.flush());
        // A terminal interrupts the driver as well: then its end is not unexpected.
        sent.map_err(|error| self.stop.check().err().unwrap_or_else(|| ended(&error.to_string())))
    }

    fn receive(&mut self) -> Result<Reply, Error> {
        loop {
            self.stop.check()?;
            match self.replies.recv_timeout(POLL) {
                Ok(Ok(line)) => {
                    return serde_json::from_str(&line).map_err(|error| {
                        Error::Driver(format!("the driver sent an unknown reply: {error}"))
                    });
                }
                Ok(Err(error)) => return Err(ended(&error.to_string())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.stop.check()?;
                    let status =
                        self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                    return Err(ended(&status));
                }
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.input = None;
        let patience = std::time::Instant::now() + Duration::from_secs(2);
        while matches!(self.child.try_wait(), Ok(None)) {
            if std::time::Instant::now() > patience {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn ended(how: &str) -> Error {
    Error::Driver(format!("the driver process ended unexpectedly ({how})"))
}

/// A reply that does not belong to its command: a programming error, told without a panic.
pub(crate) fn unexpected(command: &str, reply: &Reply) -> Error {
    let kind = format!("{reply:?}");
    let kind: String = kind.chars().take(80).collect();
    Error::Driver(format!("the driver answered `{command}` with `{kind}`"))
}
