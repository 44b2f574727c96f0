//! What the runner and an agent say to each other: one JSON object per line, each command answered
//! once.
//!
//! An agent is `dbdyno agent` on the host of a server that is there already. It finds the server's
//! process and reads its counters there. It gets no password, and ends when its input is closed.

use crate::observed::{Observation, Observed, TaskCpu};
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, path::PathBuf};

/// Version of dbdyno; runner and agent have to be of the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The first line that an agent writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Greeting {
    /// Version of dbdyno. It alone is in the greeting of every version.
    pub dbdyno: String,
    /// What tells a running kernel from all others; empty where it is not known.
    #[serde(default)]
    pub boot: String,
}

/// A command to the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Finds the process of the server; all observations end.
    Find(Listener),
    /// Does nothing, for the time of a round trip.
    Ping,
    /// The CPU time of every task of the server.
    Tasks,
    /// The CPU time of the same tasks now.
    TasksAgain(Vec<TaskCpu>),
    /// Opens an observation, in the place of one of the same kind.
    Open {
        /// What is observed.
        observation: Observation,
        /// Tasks that serve the measured connections; empty where they are not known.
        foreground: Vec<u32>,
    },
    /// Begins an observation that is open.
    Begin(Observation),
    /// What it has found since it began.
    SoFar(Observation),
    /// Ends it, and tells what it found.
    End(Observation),
    /// Closes all observations.
    Close,
}

/// What the agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// To [`Command::Find`].
    Found(ServerProcess),
    /// To [`Command::Tasks`] and [`Command::TasksAgain`].
    Tasks(Vec<TaskCpu>),
    /// To [`Command::Ping`], [`Command::Open`], [`Command::Begin`] and [`Command::Close`].
    Done,
    /// To [`Command::SoFar`] and [`Command::End`].
    Observed {
        /// What was found.
        found: Box<Observed>,
        /// The agent's wall clock, microseconds since 1970.
        wall_us: u64,
    },
    /// The command failed; the agent goes on.
    Failed {
        /// One clear sentence.
        message: String,
    },
}

/// Where a server listens, as its clients know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Port or socket.
    pub at: ListenerPlace,
    /// Names that the server's program may have.
    pub programs: Vec<String>,
}

/// A port or a socket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenerPlace {
    /// A TCP port.
    Port {
        /// Its number.
        port: u16,
        /// The addresses that clients use; the host of the server may know others.
        addresses: Vec<IpAddr>,
    },
    /// A UNIX socket.
    Socket(PathBuf),
}

impl std::fmt::Display for ListenerPlace {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Port { port, .. } => write!(out, "port {port}"),
            Self::Socket(path) => write!(out, "`{}`", path.display()),
        }
    }
}

/// The process of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerProcess {
    /// Its number; absent where the agent's user may not see it.
    pub pid: Option<u32>,
    /// Name of its program.
    pub program: String,
    /// What the agent's user may not read, with the remedy: one sentence each.
    pub lacks: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_of_another_version_tells_its_version() {
        let later = r#"{"dbdyno":"9.9.9","kernel":{"name":"x"},"boot":"b","more":[1]}"#;
        let greeting: Greeting = serde_json::from_str(later).unwrap();
        assert_eq!(greeting.dbdyno, "9.9.9");
        assert!(serde_json::from_str::<Greeting>(r#"{"driver":1}"#).is_err());
    }

    #[test]
    fn every_message_is_one_line_and_comes_back() {
        let place = ListenerPlace::Port { port: 5432, addresses: vec![[127, 0, 0, 1].into()] };
        let task = TaskCpu { pid: 1, tid: 2, comm: "a\nb".to_owned(), cpu_ns: 3, turns: 1 };
        for command in [
            Command::Find(Listener { at: place, programs: vec!["postgres".to_owned()] }),
            Command::Ping,
            Command::TasksAgain(vec![task.clone()]),
            Command::Open { observation: Observation::Window, foreground: vec![7] },
            Command::End(Observation::Series),
            Command::Close,
        ] {
            let line = serde_json::to_string(&command).unwrap();
            assert!(!line.contains('\n'), "{line}");
            assert_eq!(serde_json::from_str::<Command>(&line).unwrap(), command);
        }
        let found = Box::new(Observed { marks: vec!["m".to_owned()], ..Observed::default() });
        for reply in [Reply::Observed { found, wall_us: 5 }, Reply::Tasks(vec![task])] {
            let line = serde_json::to_string(&reply).unwrap();
            assert_eq!(serde_json::from_str::<Reply>(&line).unwrap(), reply);
        }
    }
}
