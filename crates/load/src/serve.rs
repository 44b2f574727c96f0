//! The driver process: commands in, answers out, one JSON object per line.
//!
//! The driver must never outlive its runner, or it would load a server that nobody measures: it asks the
//! kernel to be killed with its parent, and ends within moments when its input ends, whatever it is doing.

#![allow(unsafe_code, reason = "prctl and _exit have no equivalent in std")]

use crate::Error;
use crate::engine::Engine;
use crate::fill;
use crate::session::{self, Session};
use model::drive::{Command, Reply, Target};
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// Exit status of a driver whose runner is gone.
const EXIT_ORPHANED: i32 = 3;

/// Answers the commands of `input` on `output` until [`Command::Close`]. If `input` ends before, the
/// whole process exits at once with status 3.
///
/// # Errors
/// `output` cannot be written. Commands that fail are answered with [`Reply::Failed`].
pub fn serve(input: impl BufRead + Send + 'static, output: impl Write) -> Result<(), Error> {
    die_with_the_parent();
    serve_until(input, output, || {
        // SAFETY: _exit takes no memory and does not return; no destructor matters any more, as all
        // that this process holds are sockets.
        unsafe { libc::_exit(EXIT_ORPHANED) }
    })
}

/// [`serve`], with what to do at the end of the input.
fn serve_until(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    at_end: impl FnOnce() + Send + 'static,
) -> Result<(), Error> {
    let commands = read_commands(input, at_end)?;
    let mut driver = Driver::default();
    for command in commands {
        let reply = match command {
            Ok(Command::Close) => {
                driver = Driver::default();
                Ok(Reply::Done)
            }
            Ok(command) => driver.execute(command),
            Err(message) => Ok(Reply::Failed { message, lost: false }),
        };
        let reply = reply.unwrap_or_else(|error| Reply::Failed {
            message: error.to_string(),
            lost: error.lost(),
        });
        let mut line = serde_json::to_vec(&reply).map_err(|error| Error::Talk(error.into()))?;
        line.push(b'\n');
        output.write_all(&line).and_then(|()| output.flush()).map_err(Error::Talk)?;
    }
    Ok(())
}

/// Commands as they come in, read by a thread of its own: only so is the end of the input noticed while
/// a command is being executed. The channel ends after [`Command::Close`].
fn read_commands(
    input: impl BufRead + Send + 'static,
    at_end: impl FnOnce() + Send + 'static,
) -> Result<Receiver<Result<Command, String>>, Error> {
    let (sender, receiver) = channel();
    let watch = move || {
        for line in input.lines() {
            let Ok(line) = line else { break };
            let command = serde_json::from_str(&line)
                .map_err(|error| format!("`{line}` is not a command: {error}"));
            let last = command == Ok(Command::Close);
            // Without a receiver, the talk is over as well.
            if sender.send(command).is_err() || last {
                return;
            }
        }
        at_end();
    };
    thread::Builder::new().name("input".to_owned()).spawn(watch).map_err(Error::Talk)?;
    Ok(receiver)
}

/// What the driver has open.
#[derive(Default)]
struct Driver {
    target: Option<Target>,
    control: Option<Box<dyn Session>>,
    engine: Option<Engine>,
}

impl Driver {
    fn execute(&mut self, command: Command) -> Result<Reply, Error> {
        match command {
            Command::Connect { target, clients } => self.connect(target, clients),
            Command::Load(job) => {
                let target = self.target.as_ref().ok_or(Error::NotConnected)?;
                fill::fill(target, &job).map(Reply::Loaded)
            }
            Command::Compile(assignment) => {
                self.engine()?.compile(&assignment).map(|()| Reply::Done)
            }
            Command::Run(stretch) => {
                self.engine()?.run(&stretch).map(|report| Reply::Ran(Box::new(report)))
            }
            Command::Burst { connection, statements } => {
                self.engine()?.burst(connection, statements).map(|()| Reply::Done)
            }
            Command::Query { sql } => {
                let control = self.control.as_mut().ok_or(Error::NotConnected)?;
                let rows = control.query(&sql).map_err(Error::sql(format!("`{sql}` failed")))?;
                Ok(Reply::Rows { columns: rows.columns, rows: rows.rows })
            }
            Command::Close => Ok(Reply::Done),
        }
    }

    fn connect(&mut self, target: Target, clients: u32) -> Result<Reply, Error> {
        *self = Self::default();
        let control =
            session::open(&target).map_err(Error::sql("the control session cannot be opened"))?;
        let server_version = control.server_version().to_owned();
        let engine = Engine::connect(&target, clients)?;
        let connections = engine.connections().to_vec();
        *self = Self { target: Some(target), control: Some(control), engine: Some(engine) };
        Ok(Reply::Connected { connections, server_version })
    }

    fn engine(&mut self) -> Result<&mut Engine, Error> {
        self.engine.as_mut().ok_or(Error::NotConnected)
    }
}

/// Asks the kernel to kill this process when the thread that started it ends.
fn die_with_the_parent() {
    // SAFETY: this option takes one number. It can only fail for a signal that does not exist.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
