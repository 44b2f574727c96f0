//! The driver process: commands in, answers out, one JSON object per line.
//!
//! The driver must never outlive its runner, or it would load a server that nobody measures: it
//! asks the kernel to be killed with its parent, and ends within moments when its input ends,
//! whatever it is doing.

#![allow(unsafe_code, reason = "prctl and _exit have no equivalent in std")]

use crate::Error;
use crate::engine::{self, Engine};
use crate::fill;
use crate::protocol;
use crate::scripts::{NoScripts, Scripts};
use crate::together;
use crate::wire::Session;
use crate::worker::Counters;
use model::drive::{Command, Reply, Target};
use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

/// Exit status of a driver whose runner is gone.
const EXIT_ORPHANED: i32 = 3;

/// Answers the commands of `input` on `output` until [`Command::Close`]. If `input` ends before,
/// the whole process exits at once with status 3. The kernel also kills the process when the thread
/// that started it ends, so a runner starts its drivers from a thread that outlives them.
///
/// # Errors
/// `output` cannot be written. Commands that fail are answered with [`Reply::Failed`].
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write,
    scripts: Box<dyn Scripts>,
) -> Result<(), Error> {
    die_with_the_parent();
    serve_until(input, output, scripts, || {
        // SAFETY: _exit takes no memory and does not return; no destructor matters any more, as all
        // that this process holds are sockets.
        unsafe { libc::_exit(EXIT_ORPHANED) }
    })
}

/// [`serve`], with what to do at the end of the input.
fn serve_until(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    scripts: Box<dyn Scripts>,
    at_end: impl FnOnce() + Send + 'static,
) -> Result<(), Error> {
    let commands = read_commands(input, at_end)?;
    let mut driver = Driver { scripts, ..Driver::default() };
    for command in commands {
        let reply = match command {
            Ok(Command::Close) => {
                driver = Driver { scripts: driver.scripts, ..Driver::default() };
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

/// Commands as they come in, read by a thread of its own: only so is the end of the input noticed
/// while a command is being executed. The channel ends after [`Command::Close`].
fn read_commands(
    input: impl BufRead + Send + 'static,
    at_end: impl FnOnce() + Send + 'static,
) -> Result<Receiver<Result<Command, String>>, Error> {
    let (sender, receiver) = channel();
    let watch = move || {
        for line in input.lines() {
            let Ok(line) = line else { break };
            // The line is not quoted: a command may hold a password.
            let command = serde_json::from_str(&line)
                .map_err(|error| format!("a line is not a command: {error}"));
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
struct Driver {
    scripts: Box<dyn Scripts>,
    target: Option<Target>,
    control: Option<Box<dyn Session>>,
    engine: Option<Engine>,
    /// How far counters have come on the last target, also where it could not be reached since.
    counters: (Option<Target>, Counters),
}

impl Default for Driver {
    fn default() -> Self {
        let scripts = Box::new(NoScripts);
        let counters = (None, Counters::default());
        Self { scripts, target: None, control: None, engine: None, counters }
    }
}

impl Driver {
    fn execute(&mut self, command: Command) -> Result<Reply, Error> {
        match command {
            Command::Connect { target, clients } => self.connect(target, clients),
            Command::Load(job) => {
                let target = self.target.as_ref().ok_or(Error::NotConnected)?;
                match &job.schema.lua {
                    None => fill::fill(target, &job).map(Reply::Loaded),
                    Some(lua) => {
                        let what = format!("`prepare` of the script `{}` failed", lua.path);
                        let loaded = self.scripts.load(target, lua, &job);
                        loaded.map(Reply::Loaded).map_err(Error::server(what))
                    }
                }
            }
            Command::Index(job) => {
                let target = self.target.as_ref().ok_or(Error::NotConnected)?;
                fill::index(target, &job).map(Reply::Indexed)
            }
            Command::Together { lists } => {
                let target = self.target.as_ref().ok_or(Error::NotConnected)?;
                together::execute(target, &lists).map(Reply::Together)
            }
            Command::Compile(assignment) => {
                let (engine, target) =
                    self.engine.as_mut().zip(self.target.as_ref()).ok_or(Error::NotConnected)?;
                engine.compile_script(&assignment, target, self.scripts.as_ref())?;
                Ok(Reply::Done)
            }
            Command::Run(stretch) => {
                self.engine()?.run(&stretch).map(|report| Reply::Ran(Box::new(report)))
            }
            Command::Burst { connection, statements } => {
                self.engine()?.burst(connection, statements).map(|()| Reply::Done)
            }
            Command::Publish => self.engine()?.publish().map(|()| Reply::Done),
            Command::Trace(trace) => {
                let target = self.target.as_ref().ok_or(Error::NotConnected)?;
                if trace.assignment.script.lua.is_some() {
                    engine::try_script(target, &trace, self.scripts.as_ref())?;
                    return Ok(Reply::Traced(Vec::new()));
                }
                engine::trace(target, &trace).map(Reply::Traced)
            }
            Command::Query { sql } => {
                let control = self.control.as_mut().ok_or(Error::NotConnected)?;
                let rows = control.query(&sql).map_err(Error::server(format!("`{sql}` failed")))?;
                Ok(Reply::Rows { columns: rows.columns, rows: rows.rows })
            }
            Command::Time { sql, times } => {
                let control = self.control.as_mut().ok_or(Error::NotConnected)?;
                let mut one = |_| {
                    let start = Instant::now();
                    control.query(&sql).map_err(Error::server(format!("`{sql}` failed")))?;
                    Ok(start.elapsed().as_nanos() as f64 / 1000.0)
                };
                (0..times).map(&mut one).collect::<Result<_, _>>().map(Reply::Timed)
            }
            Command::Close => Ok(Reply::Done),
        }
    }

    fn connect(&mut self, target: Target, clients: u32) -> Result<Reply, Error> {
        let mut counters = std::mem::take(&mut self.counters);
        if counters.0.as_ref() != Some(&target) {
            counters = (Some(target.clone()), Counters::default());
        }
        let scripts = std::mem::replace(&mut self.scripts, Box::new(NoScripts));
        *self = Self { scripts, counters, ..Self::default() };
        let control = protocol::open(&target)
            .map_err(Error::server("the control session cannot be opened"))?;
        let server_version = control.server_version().to_owned();
        let encryption = control.encryption();
        let engine = Engine::connect_again(&target, clients, &self.counters.1)?;
        let connections = engine.connections().to_vec();
        (self.target, self.control, self.engine) = (Some(target), Some(control), Some(engine));
        Ok(Reply::Connected { connections, server_version, encryption })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;
    use std::io::{BufReader, Cursor};
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc;

    fn null(clients: u32) -> Command {
        Command::Connect { target: Target::null(), clients }
    }

    fn lines(commands: &[Command]) -> String {
        commands.iter().map(|command| serde_json::to_string(command).unwrap() + "\n").collect()
    }

    fn talk(input: String) -> Vec<Reply> {
        let mut output = Vec::new();
        serve_until(Cursor::new(input), &mut output, Box::new(NoScripts), || ()).unwrap();
        let text = String::from_utf8(output).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_command_is_answered_once_and_in_order() {
        let replies = talk(lines(&[
            null(3),
            Command::Compile(Box::new(point_query())),
            Command::Run(closed(100)),
            Command::Burst { connection: 2, statements: 5 },
            Command::Close,
        ]));
        let [Reply::Connected { connections, .. }, Reply::Done, Reply::Ran(report), rest @ ..] =
            replies.as_slice()
        else {
            panic!("{replies:?}")
        };
        assert_eq!(connections.len(), 3);
        assert_eq!(report.succeeded, 300);
        assert_eq!(rest, [Reply::Done, Reply::Done]);
    }

    #[test]
    fn lists_are_executed_apart_and_each_ends_with_its_first_refusal() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = model::drive::Endpoint::File(folder.path().join("db"));
        let target = Target::of("sqlite", endpoint);
        let list =
            |words: &[&str]| -> Vec<String> { words.iter().map(|sql| (*sql).to_owned()).collect() };
        let good = list(&["CREATE TABLE a (x)", "INSERT INTO a VALUES (1)"]);
        let bad = list(&["SELECT 1", "no such statement", "CREATE TABLE b (x)"]);
        let tables = "SELECT name FROM sqlite_master".to_owned();
        let replies = talk(lines(&[
            Command::Together { lists: vec![list(&["SELECT 1"])] },
            Command::Connect { target, clients: 0 },
            Command::Together { lists: vec![good, bad, Vec::new()] },
            Command::Query { sql: tables },
        ]));
        assert!(matches!(&replies[0], Reply::Failed { lost: false, .. }), "{replies:?}");
        let Reply::Together(refused) = &replies[2] else { panic!("{replies:?}") };
        let [None, Some(reason), None] = refused.as_slice() else { panic!("{refused:?}") };
        assert!(reason.contains("`no such statement` failed"), "{reason}");
        let Reply::Rows { rows, .. } = &replies[3] else { panic!("{replies:?}") };
        assert_eq!(rows, &[[Some("a".to_owned())]]);
    }

    #[test]
    fn counters_go_on_where_others_connect() {
        let folder = tempfile::tempdir().unwrap();
        let endpoint = model::drive::Endpoint::File(folder.path().join("db"));
        let target = Target::of("sqlite", endpoint);
        let connect = |clients| Command::Connect { target: target.clone(), clients };
        let query = |sql: &str| Command::Query { sql: sql.to_owned() };
        let first = model::script::Value::Sequence { first: 1 };
        let mut insert = statement("INSERT INTO t VALUES (?)", vec![arg(first)]);
        insert.class = model::workload::Class::Write;
        insert.expect = model::script::Expect::default();
        let compile = Command::Compile(Box::new(assignment(vec![op("insert", vec![insert])], 1)));
        let replies = talk(lines(&[
            connect(1),
            query("CREATE TABLE t (id INTEGER PRIMARY KEY)"),
            compile.clone(),
            Command::Run(closed(7)),
            connect(2),
            compile.clone(),
            Command::Run(closed(5)),
            connect(1),
            compile,
            Command::Run(closed(6)),
            query("SELECT COUNT(*) FROM t"),
        ]));
        for reply in &replies {
            if let Reply::Ran(report) = reply {
                assert_eq!((report.failed, &report.errors[..]), (0, &[][..]));
            }
        }
        let Some(Reply::Rows { rows, .. }) = replies.last() else { panic!("{replies:?}") };
        assert_eq!(rows[0][0].as_deref(), Some("23"));
    }

    #[test]
    fn a_command_that_fails_is_answered_and_the_driver_goes_on() {
        let mut broken = point_query();
        broken.script.roles[0].ops[0].weight = 0;
        let input = lines(&[
            Command::Run(closed(1)),
            null(1),
            Command::Compile(Box::new(broken)),
            Command::Compile(Box::new(point_query())),
        ]);
        let replies = talk(format!("{input}{{\"x\":{{\"password\":\"hunter2\"}}}}\n"));
        let failed = |reply: &Reply, part: &str| match reply {
            Reply::Failed { message, lost: false } => {
                assert!(message.contains(part) && !message.contains("hunter2"), "{message}");
            }
            reply => panic!("{reply:?}"),
        };
        failed(&replies[0], "no server is connected");
        failed(&replies[2], "its weight is 0");
        assert_eq!(replies[3], Reply::Done);
        failed(&replies[4], "a line is not a command");
    }

    #[test]
    fn the_end_of_the_input_is_noticed_in_the_middle_of_a_stretch() {
        let (mut runner, driver) = UnixStream::pair().unwrap();
        let (ended, end) = mpsc::channel();
        let long = Command::Run(model::drive::Stretch {
            end: model::drive::StretchEnd::Seconds(2.0),
            ..closed(0)
        });
        let serving = thread::spawn(move || {
            let at_end = move || ended.send(()).unwrap();
            serve_until(BufReader::new(driver), io_sink(), Box::new(NoScripts), at_end)
        });
        let compile = Command::Compile(Box::new(point_query()));
        runner.write_all(lines(&[null(1), compile, long]).as_bytes()).unwrap();
        drop(runner);
        end.recv().unwrap();
        assert!(!serving.is_finished());
        serving.join().unwrap().unwrap();
    }

    fn io_sink() -> impl Write {
        std::io::sink()
    }

    #[test]
    fn nothing_after_close_is_read() {
        let replies = talk(lines(&[Command::Close, Command::Close]));
        assert_eq!(replies, [Reply::Done]);
    }
}
