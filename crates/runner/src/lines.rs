//! A process that is spoken to on its standard input and answers on its standard output, one JSON
//! object per line.

use crate::{Error, Stop};
use serde::Serialize;
use std::{
    io::{BufRead, BufReader, Error as IoError, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    time::{Duration, Instant},
};

/// How often a wait for a line looks at the interrupt flag.
const POLL: Duration = Duration::from_millis(50);

/// How long a process may take to end after its input was closed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Bytes of the longest line; what writes more is no process of dbdyno. A week of work has some
/// hundred megabytes: its seconds, of each operation.
const LINE_MAX: u64 = 1 << 30;

type Lines = std::io::Result<String>;

/// Why no line came.
#[derive(Debug)]
pub(crate) enum NoLine {
    /// The run is to stop, or a message has no JSON form.
    Error(Error),
    /// The process has ended, or does not read any more: how.
    Ended(String),
    /// Nothing came in time.
    Silent,
}

/// A process. Dropping it closes its standard input, upon which it ends, and reaps it.
pub(crate) struct LineProcess {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    /// None once its input is closed.
    lines: Option<Receiver<Lines>>,
    stop: Stop,
}

impl LineProcess {
    /// Starts a command, whose standard error is set already.
    pub(crate) fn spawn(command: &mut Command, stop: &Stop) -> std::io::Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| IoError::other("it has no output"))?;
        // It reads no further than what is waited for.
        let (sender, lines) = sync_channel(1);
        // Nobody waits for the thread: what the process started may hold its output open.
        std::thread::spawn(move || read(output, &sender));
        Ok(Self { child, input, lines: Some(lines), stop: stop.clone() })
    }

    /// Whether the process has not ended.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    pub(crate) fn send(&mut self, message: &impl Serialize) -> Result<(), NoLine> {
        let mut line = serde_json::to_vec(message).map_err(|error| {
            NoLine::Error(Error::Driver(format!("a command has no JSON form: {error}")))
        })?;
        line.push(b'\n');
        let closed = || NoLine::Ended("its input is closed".to_owned());
        let input = self.input.as_mut().ok_or_else(closed)?;
        let sent = input.write_all(&line).and_then(|()| input.flush());
        // A terminal interrupts the process as well: then its end is not unexpected.
        sent.map_err(|error| self.stopped().unwrap_or_else(|| NoLine::Ended(error.to_string())))
    }

    /// The next line, waited for at most so long.
    pub(crate) fn receive(&mut self, limit: Option<Duration>) -> Result<String, NoLine> {
        let start = Instant::now();
        loop {
            if let Some(stopped) = self.stopped() {
                return Err(stopped);
            }
            let received = self.lines.as_ref().map(|lines| lines.recv_timeout(POLL));
            match received.unwrap_or(Err(RecvTimeoutError::Disconnected)) {
                Ok(Ok(line)) => return Ok(line),
                Ok(Err(error)) => return Err(NoLine::Ended(error.to_string())),
                Err(RecvTimeoutError::Timeout) => {
                    if limit.is_some_and(|limit| start.elapsed() >= limit) {
                        return Err(NoLine::Silent);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.stopped().unwrap_or_else(|| NoLine::Ended(self.end())));
                }
            }
        }
    }

    /// Closes its input, and kills it if it does not end; how it ended.
    pub(crate) fn end(&mut self) -> String {
        // Whatever still writes learns that nobody reads.
        (self.input, self.lines) = (None, None);
        let start = Instant::now();
        while self.is_alive() {
            if start.elapsed() > PATIENCE {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
    }

    fn stopped(&self) -> Option<NoLine> {
        self.stop.check().err().map(NoLine::Error)
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        self.end();
    }
}

/// Sends lines until there is no more, or nobody who wants them.
fn read(output: ChildStdout, lines: &SyncSender<Lines>) {
    let mut output = BufReader::new(output);
    loop {
        let mut bytes = Vec::new();
        let line = output.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes).and_then(|_| {
            if bytes.len() as u64 == LINE_MAX {
                return Err(IoError::other("it sent a line without an end"));
            }
            String::from_utf8(std::mem::take(&mut bytes)).map_err(IoError::other)
        });
        let is_over = line.is_err();
        if line.as_ref().is_ok_and(String::is_empty) || lines.send(line).is_err() || is_over {
            return;
        }
    }
}
