//! What is left when processes die without a word.

use crate::bench::{Bench, bench};
use rustix::process::{Pid, Signal, geteuid, kill_process};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const LIMIT: Duration = Duration::from_secs(30);

/// What servers that live have in the system, and would leave behind.
#[derive(Debug, Default, PartialEq, Eq)]
struct Traces {
    namespaces: BTreeMap<PathBuf, u32>,
    shared_files: BTreeSet<PathBuf>,
    segments: BTreeSet<String>,
    semaphores: BTreeSet<String>,
    groups: BTreeSet<PathBuf>,
}

/// Other runs may come and go meanwhile, so traces are told by the processes; only semaphores name
/// none.
fn traces(pids: &[u32], semaphores_before: &BTreeSet<String>) -> Traces {
    let mut traces = Traces { namespaces: namespaces(pids), ..Traces::default() };
    for pid in pids {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        let shared = maps.lines().filter_map(|line| line.find("/dev/shm/").map(|at| &line[at..]));
        let is_there = |path: &&str| Path::new(&format!("/proc/{pid}/root{path}")).exists();
        traces.shared_files.extend(shared.filter(is_there).map(PathBuf::from));
        traces.groups.extend(groups_of(*pid));
    }
    for (space, member) in &traces.namespaces {
        for line in table(*member, "shm") {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if pids.contains(&fields[4].parse().unwrap()) {
                traces.segments.insert(format!("{} {}", space.display(), fields[1]));
            }
        }
    }
    traces.semaphores = semaphores(pids).difference(semaphores_before).cloned().collect();
    traces
}

/// The namespaces of System V objects of these processes and of this one, each with one process.
fn namespaces(pids: &[u32]) -> BTreeMap<PathBuf, u32> {
    let me = std::process::id();
    let of = |pid: &u32| Some((std::fs::read_link(format!("/proc/{pid}/ns/ipc")).ok()?, *pid));
    pids.iter().chain([&me]).filter_map(of).collect()
}

/// Lines of a table of `/proc/sysvipc` as a process sees it, without the head.
fn table(member: u32, name: &str) -> Vec<String> {
    let file = format!("/proc/sysvipc/{name}");
    let text = if member == std::process::id() {
        std::fs::read_to_string(file).unwrap_or_default()
    } else {
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &member.to_string(), "--ipc", "cat", &file]);
        String::from_utf8(enter.output().unwrap().stdout).unwrap()
    };
    text.lines().skip(1).map(str::to_owned).collect()
}

/// Semaphores in the namespaces of these processes and of this one.
fn semaphores(pids: &[u32]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (space, member) in namespaces(pids) {
        let table = table(member, "sem");
        let ids = table.iter().filter_map(|line| line.split_whitespace().nth(1));
        found.extend(ids.map(|id| format!("{} {id}", space.display())));
    }
    found
}

/// The control group of a run whose keeper is a process.
fn groups_of(keeper: u32) -> impl Iterator<Item = PathBuf> {
    let end = format!("-{keeper}");
    let entries = std::fs::read_dir(cgroup_root()).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(move |path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("dbdyno-") && name.ends_with(&end)
    })
}

fn cgroup_root() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let tree = mounts.lines().find(|line| line.contains(" cgroup2 "));
    PathBuf::from(tree.and_then(|line| line.split(' ').nth(1)).unwrap_or("/nonexistent"))
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

fn check_all_gone(parent: &Parent, during: &Traces) {
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
    check_no_traces(&parent.pids, during);
    assert!(!parent.sockets.exists(), "the sockets are left");
    let _ = std::fs::remove_dir_all(&parent.data);
}

/// Nothing is left of what these processes had in the system.
fn check_no_traces(pids: &[u32], during: &Traces) {
    for path in during.shared_files.iter().chain(&during.groups) {
        assert!(!path.exists(), "`{}` is left", path.display());
    }
    assert!(traces(pids, &BTreeSet::new()).segments.is_empty(), "segments are left");
    // A namespace that no process is in is gone, with all that was in it. A process that dies has
    // no program any more some time before it leaves its namespaces.
    let here = namespaces(&[]);
    let theirs = || during.namespaces.keys().filter(|space| !here.contains_key(*space));
    wait_for("the namespaces are left", || {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let all: Vec<u32> = entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
        let in_use = namespaces(&all);
        theirs().all(|space| !in_use.contains_key(space)).then_some(())
    });
    let semaphores: Vec<String> =
        semaphores(&[]).intersection(&during.semaphores).cloned().collect();
    assert!(semaphores.is_empty(), "semaphores {semaphores:?} are left");
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

fn kill_parent(command: Command) -> String {
    let before = semaphores(&[]);
    let mut parent = start_parent(command);
    assert!(parent.pids.len() > 12, "{:?}", parent.pids);
    let during = traces(&parent.pids, &before);
    println!("  {during:?}");
    assert!(during.shared_files.len() >= 2 && during.segments.len() >= 2, "{during:?}");
    assert!(!during.semaphores.is_empty(), "{during:?}");
    assert_eq!(during.groups.is_empty(), parent.freezer.starts_with("sigstop"));
    let servers_apart = geteuid().is_root() && !parent.freezer.ends_with("sigstop");
    assert_eq!(during.namespaces.len(), if servers_apart { 4 } else { 1 }, "{during:?}");
    kill(parent.child.id());
    check_all_gone(&parent, &during);
    parent.child.wait().unwrap();
    parent.freezer
}

pub(crate) fn parent() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["parent", "any"]);
    println!("  freezer: {}", kill_parent(command));
}

/// A run that is resumed at once gets its folders when the old keeper has left them, not before.
pub(crate) fn resumed() {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["parent", "any"]);
    let mut parent = start_parent(command);
    let id = parent.data.file_name().unwrap().to_str().unwrap().to_owned();
    kill(parent.child.id());
    parent.child.wait().unwrap();
    let places = dbms::Places::of_this_host(dbms::SERVER_USER).unwrap();
    let place = places.new_run(&id).unwrap();
    let alive = parent.pids.iter().find(|pid| Path::new(&format!("/proc/{pid}/exe")).exists());
    assert_eq!(alive, None, "the old keeper or one of its servers lives");
    // The old keeper had time enough to remove what is not its own any more.
    std::thread::sleep(Duration::from_secs(2));
    assert!(place.sockets().exists(), "the sockets of the resumed run vanished");
    assert!(place.data().exists());
    std::fs::remove_dir_all(place.sockets()).unwrap();
    place.remove().unwrap();
}

/// In a mount namespace of its own, where the tree of control groups is hidden, and without the
/// right to make namespaces for servers.
pub(crate) fn parent_without_groups() {
    let exe = std::env::current_exe().unwrap();
    let script = "for m in $(grep ' cgroup2 ' /proc/self/mounts | cut -d ' ' -f 2); \
                  do umount -l $m; done; \
                  exec setpriv --bounding-set=-sys_admin \"$0\" parent sigstop";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script]).arg(exe);
    if !geteuid().is_root() {
        println!("  skipped: only root may hide control groups");
        return;
    }
    assert_eq!(kill_parent(command), "sigstop sigstop");
}

/// Who kills the keeper itself kills the servers, and the next keeper sweeps.
pub(crate) fn keeper() {
    let before = semaphores(&[]);
    let bench: Bench = bench("orphans");
    let subject = bench.subject("mysql@5.6", &[]);
    bench.initialise(&subject);
    let mut server = bench.start(&subject).unwrap();
    server.freeze().unwrap();
    let keeper = bench.keeper.pid();
    let group = server.group().map(Path::to_owned);
    let pids: Vec<u32> = server.processes().into_iter().chain([keeper]).collect();
    let during = traces(&pids, &before);
    assert_eq!(during.groups.is_empty(), group.is_none(), "{during:?}");
    kill(keeper);
    let start = Instant::now();
    while server.is_alive() && start.elapsed() < LIMIT {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!server.is_alive());
    let message = bench.keeper.adopt(1).unwrap_err().to_string();
    assert!(message.contains("the keeper process is gone"), "{message}");
    drop(server);
    let sockets = bench.place.sockets().to_owned();
    drop(bench);
    assert!(!sockets.exists(), "nobody removed the sockets of the dead keeper");
    drop(crate::bench::bench("after"));
    assert!(group.is_none_or(|group| !group.exists()), "the group is left");
    check_no_traces(&pids, &during);
}

/// Whoever kills the keeper while a server starts comes before anybody has seen what that server
/// shares. Here no process has it mapped.
pub(crate) fn keeper_during_a_start() {
    if !geteuid().is_root() {
        println!("  skipped: only root has namespaces for servers");
        return;
    }
    let bench: Bench = bench("start");
    let mut subject = bench.subject("postgres@18", &["shared_buffers=16MB"]);
    bench.initialise(&subject);
    let file = format!("/dev/shm/dbdyno-start-{}", std::process::id());
    let size = (1 << 20) + std::process::id();
    let name = file.rsplit('/').next().unwrap();
    let script = format!(
        "cd /dev/shm && echo > {name}; ipcmk -M {size}; echo > {name}.done; sleep 100; exec \"$@\""
    );
    subject.build.prefix = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
    let keeper = bench.keeper.pid();
    let program = std::thread::scope(|scope| {
        let start = scope.spawn(|| bench.start(&subject).map(drop));
        let program = wait_for("the program does not come", || {
            let done = |pid: &u32| Path::new(&format!("/proc/{pid}/root{file}.done")).exists();
            children(keeper).into_iter().find(done)
        });
        kill(keeper);
        start.join().unwrap().unwrap_err();
        program
    });
    let is_gone = || !Path::new(&format!("/proc/{program}/exe")).exists();
    wait_for("the program is left", || is_gone().then_some(()));
    drop(bench);
    drop(crate::bench::bench("after"));
    for path in [file.clone(), format!("{file}.done")] {
        assert!(!Path::new(&path).exists(), "`{path}` is left");
    }
    let segments = table(std::process::id(), "shm");
    let size = size.to_string();
    let mut left = segments.iter().filter(|line| line.split_whitespace().any(|f| f == size));
    assert_eq!(left.next(), None, "a segment is left");
}

fn children(parent: u32) -> Vec<u32> {
    let file = format!("/proc/{parent}/task/{parent}/children");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// `otherwise` says what is wrong if it does not come.
fn wait_for<T>(otherwise: &str, look: impl Fn() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        match look() {
            Some(found) => return found,
            None => assert!(start.elapsed() < LIMIT, "{otherwise}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
