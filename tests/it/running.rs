//! A run as a process of its own: watched from outside, struck, and searched for when it has ended.

use crate::lab::{Lab, only_child, processes_naming, segments_of, text};
use model::drive::{self, Endpoint, Target};
use runner::{Driver, Stop};
use std::{
    collections::BTreeSet,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Waits until `condition` gives something; the limit only ends a test that hangs.
pub(crate) fn eventually<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + Duration::from_secs(900);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < limit, "never happened: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a server by `dbdyno up`, and waits until it is there; with the line that says how to
/// enter. What it says further is in the file `err` of the lab.
pub(crate) fn up(lab: &Lab, build: &str) -> (Child, String) {
    let (out, err) = (lab.path("out"), lab.path("err"));
    let open = |path: &Path| std::fs::File::create(path).unwrap();
    let mut command = lab.command(&["up", build]);
    command.stdin(Stdio::null()).stdout(open(&out)).stderr(open(&err));
    let mut child = command.spawn().unwrap();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    eventually("the server is up", || {
        assert!(child.try_wait().unwrap().is_none(), "{}", read(&err));
        read(&err).contains("Ctrl-C").then_some(())
    });
    (child, read(&out))
}

/// Sends a signal to a process, or with a `-` before its number to a group.
pub(crate) fn send(signal: &str, whom: &str) {
    let status = Command::new("kill").args([signal, "--", whom]).status().unwrap();
    assert!(status.success(), "kill {signal} {whom}");
}

/// A run that goes on.
pub(crate) struct Running<'a> {
    lab: &'a Lab,
    child: Child,
    id: String,
    /// All processes of it that were seen.
    seen: BTreeSet<u32>,
    /// Folders that must not outlive it.
    folders: BTreeSet<PathBuf>,
}

impl<'a> Running<'a> {
    /// Starts a command that is, or becomes, `dbdyno run`, as the leader of a process group, like a
    /// shell does.
    pub(crate) fn start(lab: &'a Lab, mut command: Command) -> Self {
        let err = std::fs::File::create(lab.path("stderr")).unwrap();
        command.process_group(0).stdout(Stdio::null()).stderr(err);
        let mut child = command.spawn().unwrap();
        let runs = lab.path("dbdyno-results/runs");
        let folder = eventually("a run began", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "{}", said(lab));
            only_child(&runs)
        });
        let id = folder.file_name().unwrap().to_string_lossy().into_owned();
        Self { lab, child, id, seen: BTreeSet::new(), folders: BTreeSet::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said on stderr so far.
    pub(crate) fn said(&self) -> String {
        said(self.lab)
    }

    /// Waits until `condition` gives something, and remembers the processes meanwhile.
    pub(crate) fn wait<T>(
        &mut self,
        what: &str,
        mut condition: impl FnMut(&mut Self) -> Option<T>,
    ) -> T {
        eventually(what, || {
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none(), "it ended before {what}: {}", self.said());
            self.seen.extend(probe::process_tree(&[self.child.id()]));
            condition(self)
        })
    }

    /// Waits until it has said something.
    pub(crate) fn wait_for(&mut self, words: &str) {
        self.wait(words, |running| running.said().contains(words).then_some(()));
    }

    /// The first process of the only server that is up.
    pub(crate) fn server(&mut self) -> Server {
        self.wait("a server is up", |running| running.servers().into_iter().next())
    }

    /// The first processes of the servers that are up.
    fn servers(&mut self) -> Vec<Server> {
        let mut pids = processes_naming(&self.id);
        pids.retain(|pid| self.seen.contains(pid));
        let mut servers: Vec<Server> = pids.iter().filter_map(|pid| Server::of(*pid)).collect();
        // A process that is about to become another one still has the command line of its parent.
        servers.sort_by(|one, other| one.socket.cmp(&other.socket));
        servers.dedup_by(|one, other| one.socket == other.socket);
        for server in &servers {
            if let Ok(data) = std::fs::read_link(format!("/proc/{}/cwd", server.pid)) {
                self.remember(&data);
            }
            self.folders.extend(server.socket.ancestors().nth(2).map(Path::to_owned));
        }
        servers
    }

    /// The run's folder, in which a server's data are, must not outlive the run.
    fn remember(&mut self, data: &Path) {
        let own = |folder: &&Path| folder.ends_with(&self.id);
        self.folders.extend(data.ancestors().find(own).map(Path::to_owned));
    }

    /// This many servers, embedded engines included, once all of them are up.
    pub(crate) fn all_servers(&mut self, count: usize) -> Vec<Server> {
        self.wait("all servers are up", |running| {
            let mut servers = running.servers();
            for driver in running.drivers() {
                let file = database_file(driver);
                file.iter().for_each(|file| running.remember(file));
                servers.extend(file.map(|file| Server {
                    pid: driver,
                    socket: file,
                    protocol: SQLITE,
                }));
            }
            (servers.len() == count).then_some(servers)
        })
    }

    /// The process that starts its servers.
    pub(crate) fn keeper(&mut self) -> u32 {
        self.wait("a keeper is there", |running| running.children_that("keep").pop())
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.seen.extend(probe::process_tree(&[self.child.id()]));
        self.child.try_wait().unwrap().is_some()
    }

    /// Ids of its driver processes.
    pub(crate) fn drivers(&mut self) -> Vec<u32> {
        self.children_that("drive")
    }

    /// Its processes that are dbdyno with this subcommand.
    fn children_that(&self, subcommand: &str) -> Vec<u32> {
        let mut pids = probe::process_tree(&[self.child.id()]);
        pids.retain(|pid| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            text(&line).split('\0').nth(1) == Some(subcommand)
        });
        pids
    }

    /// The folder of its own in the results.
    pub(crate) fn folder(&self) -> PathBuf {
        self.lab.path("dbdyno-results/runs").join(&self.id)
    }

    /// Waits for its end and that nothing of it is left: no process, no System V segment, no
    /// folder. Gives its exit code and everything that it said.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let status = loop {
            self.seen.extend(probe::process_tree(&[self.child.id()]));
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            // Each look reads a file for every task, beside tests that need the CPUs.
            std::thread::sleep(Duration::from_millis(100));
        };
        let pids: Vec<u32> = self.seen.iter().copied().collect();
        let lives = |pid: &&u32| std::fs::exists(format!("/proc/{pid}")).unwrap();
        eventually("every process ended", || pids.iter().find(lives).is_none().then_some(()));
        eventually("no segment is left", || segments_of(&pids).is_empty().then_some(()));
        eventually("later ones ended too", || processes_naming(&self.id).is_empty().then_some(()));
        assert!(!self.folders.is_empty(), "no folder of this run was seen");
        for folder in &self.folders {
            assert!(!folder.exists(), "{} is left", folder.display());
        }
        (status.code(), self.said())
    }
}

fn said(lab: &Lab) -> String {
    std::fs::read_to_string(lab.path("stderr")).unwrap_or_default()
}

/// A server that is up, and how to enter it.
pub(crate) struct Server {
    pub(crate) pid: u32,
    /// Its socket; of an embedded engine the database file.
    pub(crate) socket: PathBuf,
    protocol: &'static str,
}

impl Server {
    /// The server that a process is, as its configuration tells.
    fn of(pid: u32) -> Option<Self> {
        let line = text(&std::fs::read(format!("/proc/{pid}/cmdline")).ok()?);
        let named = |key: &str| line.split('\0').find_map(|word| word.strip_prefix(key));
        let (config, protocol) = match named("--defaults-file=") {
            Some(config) => (config, MYSQL),
            None => (named("config_file=")?, POSTGRES),
        };
        // By way of the process, whose view of the file systems may be another one.
        let config = std::fs::read_to_string(format!("/proc/{pid}/root{config}")).ok()?;
        let value = |key: &str| {
            let mut lines = config.lines().filter_map(|line| line.split_once(" = "));
            lines.find(|(name, _)| *name == key).map(|(_, value)| value.trim_matches('\'').into())
        };
        let socket: PathBuf = if protocol == POSTGRES {
            value("unix_socket_directories").map(|folder: PathBuf| folder.join(".s.PGSQL.5432"))?
        } else {
            value("socket")?
        };
        socket.exists().then_some(Self { pid, socket, protocol })
    }

    /// A connection of the test's own.
    pub(crate) fn enter(&self) -> Guest {
        let (endpoint, user, database) = match self.protocol {
            POSTGRES => (Endpoint::Socket(self.socket.clone()), "postgres", "postgres"),
            MYSQL => (Endpoint::Socket(self.socket.clone()), "root", "dbdyno"),
            _ => (Endpoint::File(self.socket.clone()), "", ""),
        };
        let target = Target {
            user: user.to_owned(),
            database: database.to_owned(),
            ..Target::of(self.protocol, endpoint)
        };
        let exe = Path::new(env!("CARGO_BIN_EXE_dbdyno"));
        let mut driver = Driver::spawn(exe, &Stop::default()).unwrap();
        driver.ask(&drive::Command::Connect { target, clients: 0 }).unwrap();
        Guest { driver, protocol: self.protocol }
    }
}

const POSTGRES: &str = "postgres";
const MYSQL: &str = "mysql";
const SQLITE: &str = "sqlite";

/// The database file that a driver of an embedded engine has open.
fn database_file(driver: u32) -> Option<PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{driver}/fd")).ok()?.flatten();
    let mut files = open.filter_map(|file| std::fs::read_link(file.path()).ok());
    files.find(|file| file.extension().is_some_and(|ending| ending == "sqlite"))
}

/// A connection of the test's own.
pub(crate) struct Guest {
    driver: Driver,
    protocol: &'static str,
}

impl Guest {
    /// The rows of a query.
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        self.driver.query(sql).unwrap()
    }

    /// The first column of a query.
    pub(crate) fn column(&mut self, sql: &str) -> Vec<u64> {
        let rows = self.rows(sql);
        let values = rows.into_iter().map(|row| row.into_iter().next().flatten());
        values.map(|value| value.map_or(0, |text| text.parse().unwrap())).collect()
    }

    /// Numbers of the run's connections, oldest first: the control connection, then those that are
    /// measured, role after role.
    pub(crate) fn connections(&mut self) -> Vec<u64> {
        self.column(match self.protocol {
            POSTGRES => {
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' \
                 AND pid <> pg_backend_pid() ORDER BY backend_start"
            }
            _ => {
                "SELECT id FROM information_schema.processlist WHERE db = 'dbdyno' \
                 AND id <> CONNECTION_ID() ORDER BY id"
            }
        })
    }

    /// Has the server end one of them.
    pub(crate) fn end_connection(&mut self, number: u64) {
        let sql = match self.protocol {
            POSTGRES => format!("SELECT pg_terminate_backend({number})"),
            _ => format!("KILL {number}"),
        };
        self.driver.query(&sql).unwrap();
    }
}
