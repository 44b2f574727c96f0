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
    time::Duration,
};

/// How long a command may take whose length the plan does not say. No server ends a statement that
/// waits for ever.
const ANSWER_LIMIT: Duration = Duration::from_secs(24 * 3600);

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
    /// By operation.
    pub(crate) ops: BTreeMap<String, OpSeen>,
    /// What coded transactions counted.
    pub(crate) drawn: Vec<Drawn>,
}

/// How often an operation was executed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct OpSeen {
    /// Executions that were begun.
    pub(crate) begun: u64,
    /// Those of them that changed the tables for good.
    pub(crate) committed: u64,
}

impl Seen {
    fn add(&mut self, report: &StretchReport) {
        for op in &report.ops {
            let seen = self.ops.entry(op.name.clone()).or_default();
            seen.begun += op.count + op.unfinished;
            seen.committed += op.count.saturating_sub(op.rolled_back);
        }
        Drawn::merge(&mut self.drawn, &report.drawn);
    }

    /// Committed executions of an operation.
    pub(crate) fn committed(&self, op: &str) -> u64 {
        self.ops.get(op).map_or(0, |seen| seen.committed)
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
        self.ask_within(limit(command), command)
    }

    fn ask_within(&mut self, limit: Option<Duration>, command: &Command) -> Result<Reply, Error> {
        self.process.send(command).map_err(no_reply)?;
        let line = match self.process.receive(limit) {
            Err(NoLine::Silent) => {
                // A late answer would pass for that of the next command.
                self.process.end();
                return Err(unanswered(command));
            }
            received => received.map_err(no_reply)?,
        };
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

/// How long the answer to a command is waited for; none where the plan or the data say how long it
/// takes. A stretch of some seconds has them beside the limit: a phase may take a week.
fn limit(command: &Command) -> Option<Duration> {
    let own = match command {
        Command::Load(_) | Command::Index(_) => return None,
        Command::Run(Stretch { end: StretchEnd::Roles, .. }) => return None,
        Command::Run(Stretch { end: StretchEnd::Seconds(seconds), .. }) => {
            Duration::try_from_secs_f64(*seconds).unwrap_or_default()
        }
        _ => Duration::ZERO,
    };
    Some(ANSWER_LIMIT.saturating_add(own))
}

fn unanswered(command: &Command) -> Error {
    let what = match command {
        Command::Query { sql } | Command::Time { sql, .. } => format!("`{sql}`"),
        Command::Run(_) => "a statement of the workload".to_owned(),
        _ => "a statement of dbdyno".to_owned(),
    };
    let hours = limit(command).unwrap_or(ANSWER_LIMIT).as_secs() / 3600;
    Error::Driver(format!(
        "{what} was not answered in {hours} hours: the server may show what it waits for in its \
         list of processes"
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_does_not_answer_is_ended_and_the_statement_named() {
        let mut silent = std::process::Command::new("sh");
        // The shell keeps its output open until its input ends.
        silent.args(["-c", "cat > /dev/null; true"]);
        let process = LineProcess::spawn(&mut silent, &Stop::default()).unwrap();
        let mut driver = Driver { process, seen: Seen::default() };
        let query = Command::Query { sql: "VACUUM".to_owned() };
        let error = driver.ask_within(Some(Duration::ZERO), &query).unwrap_err().to_string();
        assert!(error.starts_with("`VACUUM` was not answered in 24 hours: "), "{error}");
        assert!(!driver.is_alive());
    }

    #[test]
    fn only_what_the_plan_or_the_data_make_long_has_no_limit() {
        let run = |end| Command::Run(Stretch { end, seed: 1, interval_ms: 1000 });
        assert_eq!(limit(&run(StretchEnd::Roles)), None);
        assert_eq!(limit(&run(StretchEnd::Operations(1))), Some(ANSWER_LIMIT));
        let week = Duration::from_secs(7 * 24 * 3600);
        assert_eq!(limit(&run(StretchEnd::Seconds(604_800.0))), Some(ANSWER_LIMIT + week));
        assert_eq!(limit(&Command::Publish), Some(ANSWER_LIMIT));
    }
}
