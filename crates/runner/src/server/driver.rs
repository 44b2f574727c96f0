//! The driver process as the runner sees it: commands out, replies in, both one JSON object per
//! line.

use crate::{
    Error, Stop,
    lines::{LineProcess, NoLine},
    run::Run,
};
use model::{
    drawn::Drawn,
    drive::{Command, Reply, Stretch, StretchEnd, StretchReport},
    subject::Setting,
};
use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Stdio,
};

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
    process: LineProcess,
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
        let gives_way = wrapper.folder.as_ref().map(|_| OsStr::new("--gives-way"));
        let words: Vec<&OsStr> = words.chain(gives_way).collect();
        let mut command = std::process::Command::new(words[0]);
        dbms::inherit_little(&mut command);
        command.args(&words[1..]).stderr(Stdio::inherit());
        command.envs(wrapper.environment.iter().map(|(name, value)| (name, value)));
        let process = LineProcess::spawn(&mut command, stop).map_err(|source| {
            Error::Driver(format!("cannot start the driver process: {source}"))
        })?;
        Ok(Self { process, seen: Seen::default() })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.process.child.id()
    }

    /// Whether the process has not ended.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.is_alive()
    }

    /// Sends `command` and waits for its reply. A reply that the command failed is
    /// `Err(Error::Sql)`.
    pub fn ask(&mut self, command: &Command) -> Result<Reply, Error> {
        self.process.send(command).map_err(no_reply)?;
        let line = self.process.receive(None).map_err(no_reply)?;
        let reply = serde_json::from_str(&line)
            .map_err(|error| Error::Driver(format!("the driver sent an unknown reply: {error}")))?;
        match reply {
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
}

fn no_reply(why: NoLine) -> Error {
    let how = match why {
        NoLine::Error(error) => return error,
        NoLine::Ended(how) => how,
        NoLine::Silent => "it is silent".to_owned(),
    };
    Error::Driver(format!("the driver process ended unexpectedly ({how})"))
}

/// A reply that does not belong to its command: a programming error, told without a panic.
pub(crate) fn unexpected(command: &str, reply: &Reply) -> Error {
    let kind = format!("{reply:?}");
    let kind: String = kind.chars().take(80).collect();
    Error::Driver(format!("the driver answered `{command}` with `{kind}`"))
}
