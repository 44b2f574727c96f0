//! The agent: finds the process of a server on this host and reads its counters, as its input says.

use crate::{
    Error, Observer, Target, listener, observer,
    task::{task_cpu_again_at, task_cpu_at},
};
use model::{
    agent::{Command, Greeting, Reply, VERSION},
    observed::{Observation, Observed},
};
use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    path::Path,
    time::{Duration, SystemTime},
};

/// Length of the identifier of a running kernel; no other line of that file is one.
const BOOT: usize = 36;

/// Greets, then answers commands, one JSON object per line, until `input` ends.
///
/// # Errors
/// `output` is closed, or a line of `input` is no command.
pub fn serve(input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut agent = Agent { target: Target::new(Path::new("")), open: BTreeMap::new() };
    let boot = fs_err::read_to_string(agent.target.proc_root.join("sys/kernel/random/boot_id"));
    let boot = boot.map(|text| text.trim().to_owned()).unwrap_or_default();
    let boot = if boot.len() == BOOT { boot } else { String::new() };
    write(&mut output, &Greeting { dbdyno: VERSION.to_owned(), boot })?;
    for line in input.lines() {
        let command = serde_json::from_str(&line?).map_err(|error| {
            let reason = format!("this is no command of `dbdyno run` to an agent: {error}");
            io::Error::new(io::ErrorKind::InvalidData, reason)
        })?;
        let reply = agent.obey(command);
        write(&mut output, &reply.unwrap_or_else(|e| Reply::Failed { message: e.to_string() }))?;
    }
    Ok(())
}

fn write(output: &mut impl Write, message: &impl serde::Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

struct Agent {
    target: Target,
    open: BTreeMap<Observation, Box<dyn Observer>>,
}

impl Agent {
    fn obey(&mut self, command: Command) -> Result<Reply, Error> {
        let root = &self.target.proc_root;
        match command {
            Command::Find(listener) => {
                self.open.clear();
                let user = rustix::process::geteuid().as_raw();
                let found = listener::find(root, &listener, user)?;
                let folder = found.pid.and_then(|pid| listener::data_folder(root, pid));
                self.target.data_folder = folder.unwrap_or_default();
                self.target.data_folder_of = found.pid;
                self.target.server_pids = found.pid.into_iter().collect();
                self.target.foreground.clear();
                return Ok(Reply::Found(found));
            }
            Command::Ping => {}
            Command::Tasks => {
                return Ok(Reply::Tasks(task_cpu_at(root, &self.target.server_pids)));
            }
            Command::TasksAgain(tasks) => {
                return Ok(Reply::Tasks(task_cpu_again_at(root, &tasks)));
            }
            Command::Open { observation, foreground } => {
                // Two sets of hardware counters on one task spoil each other.
                self.open.remove(&observation);
                self.target.foreground = foreground;
                self.open.insert(observation, observer(observation, &self.target)?);
            }
            Command::Begin(observation) => self.opened(observation)?.begin()?,
            Command::Close => self.open.clear(),
            Command::SoFar(observation) => {
                return Ok(observed(self.opened(observation)?.so_far()?));
            }
            Command::End(observation) => {
                return Ok(observed(self.opened(observation)?.end()?));
            }
        }
        Ok(Reply::Done)
    }

    fn opened(&mut self, observation: Observation) -> Result<&mut Box<dyn Observer>, Error> {
        self.open.get_mut(&observation).ok_or(Error::NotOpen)
    }
}

fn observed(found: Observed) -> Reply {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let wall = since.unwrap_or(Duration::ZERO).as_micros();
    Reply::Observed { found: Box::new(found), wall_us: u64::try_from(wall).unwrap_or(u64::MAX) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::agent::{Listener, ListenerPlace};
    use std::net::TcpListener;

    /// What an agent writes upon these commands.
    fn answers(commands: &[Command]) -> (Greeting, Vec<Reply>) {
        let lines = commands.iter().map(|one| serde_json::to_string(one).unwrap() + "\n");
        let mut output = Vec::new();
        serve(lines.collect::<String>().as_bytes(), &mut output).unwrap();
        let text = String::from_utf8(output).unwrap();
        let mut lines = text.lines();
        let greeting = serde_json::from_str(lines.next().unwrap()).unwrap();
        (greeting, lines.map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    #[test]
    fn an_agent_finds_a_process_and_observes_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = std::env::current_exe().unwrap();
        let programs = vec![own.file_name().unwrap().to_str().unwrap().to_owned()];
        let find = |port: u16| {
            let at = ListenerPlace::Port { port, addresses: Vec::new() };
            Command::Find(Listener { at, programs: programs.clone() })
        };
        let window = Observation::Window;
        let (greeting, replies) = answers(&[
            find(port),
            Command::Tasks,
            Command::Begin(window),
            Command::Open { observation: window, foreground: Vec::new() },
            Command::Begin(window),
            Command::End(window),
            Command::Close,
            Command::Begin(window),
            Command::Ping,
            find(1),
        ]);
        assert_eq!(greeting.dbdyno, VERSION);
        let [found, tasks, early, opened, begun, ended, closed, late, pong, nobody] = &replies[..]
        else {
            panic!("{replies:?}");
        };
        let Reply::Found(process) = found else { panic!("{found:?}") };
        assert_eq!(process.pid, Some(std::process::id()));
        assert!(matches!(tasks, Reply::Tasks(tasks) if !tasks.is_empty()), "{tasks:?}");
        assert!(matches!(early, Reply::Failed { .. }), "{early:?}");
        assert!(matches!(late, Reply::Failed { .. }), "{late:?}");
        assert_eq!([opened, begun, closed, pong], [&Reply::Done; 4]);
        let Reply::Observed { found, .. } = ended else { panic!("{ended:?}") };
        let is_cpu = |one: &model::reading::Reading| one.counter == "host_cpu_ns";
        assert!(found.readings.iter().any(is_cpu), "{found:?}");
        let Reply::Failed { message } = nobody else { panic!("{nobody:?}") };
        assert!(message.contains("port 1"), "{message}");
    }

    #[test]
    fn what_is_no_command_ends_the_agent() {
        let mut output = Vec::new();
        let error = serve(&b"ls\n\"ping\"\n"[..], &mut output).unwrap_err();
        assert!(error.to_string().contains("no command of `dbdyno run`"), "{error}");
        assert_eq!(output.iter().filter(|byte| **byte == b'\n').count(), 1, "the greeting alone");
    }
}
