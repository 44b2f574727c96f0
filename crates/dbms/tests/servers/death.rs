//! What is left when processes die without a word.

use crate::bench::{Bench, bench};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(30);

/// Everything in the system that a run of servers can leave behind.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    shared_files: BTreeSet<PathBuf>,
    segments: usize,
    semaphores: usize,
    groups: BTreeSet<PathBuf>,
}

fn traces() -> Traces {
    let list = |folder: &str, prefix: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix))
            .collect::<BTreeSet<_>>()
    };
    let lines = |path: &str| std::fs::read_to_string(path).unwrap_or_default().lines().count();
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let tree = mounts.lines().find(|line| line.contains(" cgroup2 "));
    let root = tree.and_then(|line| line.split(' ').nth(1)).unwrap_or("/nonexistent");
    Traces {
        shared_files: list("/dev/shm", "PostgreSQL"),
        segments: lines("/proc/sysvipc/shm"),
        semaphores: lines("/proc/sysvipc/sem"),
        groups: list(root, "dbdyno-"),
    }
}

/// A process that starts servers and waits to be killed. Says who they are.
pub(crate) fn be_parent(freezer: &str) {
    let bench = bench("death");
    let mut driver = Command::new("sleep").arg("1000").spawn().unwrap();
    bench.keeper.adopt(driver.id()).unwrap();
    let mut pids = vec![driver.id(), bench.keeper.pid()];
    let mut servers = Vec::new();
    for name in ["postgres@18", "postgres@9.6", "mysql@5.6"] {
        let subject = bench.subject(name, &[]);
        bench.initialise(&subject);
        let mut server = bench.start(&subject).unwrap();
        pids.extend(server.processes());
        // Frozen servers must die too.
        if name != "postgres@9.6" {
            server.freeze().unwrap();
        }
        servers.push(server);
    }
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    println!("PIDS {}", pids.join(" "));
    println!("SOCKETS {}", bench.place.sockets().display());
    println!("DATA {}", bench.place.data().display());
    println!("FREEZER {} {freezer}", bench.keeper.freezer_name());
    println!("END");
    driver.wait().unwrap();
}

struct Parent {
    child: Child,
    pids: Vec<u32>,
    sockets: PathBuf,
    data: PathBuf,
    freezer: String,
}

fn start_parent(mut command: Command) -> Parent {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sockets, data) = (PathBuf::new(), PathBuf::new());
    let mut parent = Parent { child, pids: Vec::new(), sockets, data, freezer: String::new() };
    for line in out.lines() {
        let line = line.unwrap();
        match line.split_once(' ') {
            Some(("PIDS", rest)) => {
                parent.pids = rest.split(' ').map(|pid| pid.parse().unwrap()).collect();
            }
            Some(("SOCKETS", rest)) => parent.sockets = PathBuf::from(rest),
            Some(("DATA", rest)) => parent.data = PathBuf::from(rest),
            Some(("FREEZER", rest)) => parent.freezer = rest.to_owned(),
            _ if line == "END" => break,
            _ => {}
        }
    }
    parent
}

fn check_all_gone(parent: &Parent, before: &Traces) {
    let start = Instant::now();
    let alive = |pid: &&u32| Path::new(&format!("/proc/{pid}/exe")).exists();
    while start.elapsed() < LIMIT
        && (parent.pids.iter().any(|pid| alive(&pid)) || parent.sockets.exists())
    {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("  all gone after {:?}", start.elapsed());
    let left: Vec<&u32> = parent.pids.iter().filter(alive).collect();
    assert!(left.is_empty(), "processes {left:?} are left");
    assert_eq!(&traces(), before);
    assert!(!parent.sockets.exists(), "the sockets are left");
    let _ = std::fs::remove_dir_all(&parent.data);
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

fn kill_parent(command: Command) -> String {
    let before = traces();
    let mut parent = start_parent(command);
    assert!(parent.pids.len() > 12, "{:?}", parent.pids);
    assert_ne!(traces(), before, "the servers left no traces to be removed");
    kill(parent.child.id());
    check_all_gone(&parent, &before);
    parent.child.wait().unwrap();
    parent.freezer
}

pub(crate) fn parent() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["parent", "any"]);
    println!("  freezer: {}", kill_parent(command));
}

/// In a mount namespace of its own, where the tree of control groups is hidden.
pub(crate) fn parent_without_groups() {
    let exe = std::env::current_exe().unwrap();
    let script = "for m in $(grep ' cgroup2 ' /proc/self/mounts | cut -d ' ' -f 2); do umount -l $m; done; \
                  exec \"$0\" parent sigstop";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(exe);
    if !rustix::process::geteuid().is_root() {
        println!("  skipped: only root may hide control groups");
        return;
    }
    assert_eq!(kill_parent(command), "sigstop sigstop");
}

/// Who kills the keeper itself kills the servers, and the next keeper sweeps.
pub(crate) fn keeper() {
    let before = traces();
    let bench: Bench = bench("orphans");
    let subject = bench.subject("mysql@5.6", &[]);
    bench.initialise(&subject);
    let mut server = bench.start(&subject).unwrap();
    server.freeze().unwrap();
    kill(bench.keeper.pid());
    let start = Instant::now();
    while server.is_alive() && start.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!server.is_alive());
    let message = bench.keeper.adopt(1).unwrap_err().to_string();
    assert!(message.contains("the keeper process is gone"), "{message}");
    drop(server);
    // The dead keeper is reaped when its last handle goes.
    let _ = std::fs::remove_dir_all(bench.place.sockets());
    drop(bench);
    drop(crate::bench::bench("after"));
    assert_eq!(traces(), before);
}
