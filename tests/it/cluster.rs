//! An experiment over two hosts of a Slurm cluster, which are both this machine: each task is a run
//! of its own, a host that dies in the middle costs no complete block, what failed or was canceled
//! is done again, and what is collected is compared as one.
//!
//! `DBDYNO_TASK_BLOCKS=4 cargo test --test it cluster:: -- --nocapture` measures more blocks in
//! each of the four tasks.

use crate::lab::{Lab, ends, is_told_of_lost, text};
use std::{
    collections::BTreeSet,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Ends a test that hangs.
const LIMIT: Duration = Duration::from_secs(600);
/// How long Slurm waits before it starts a task again [s]: as long as its credentials hold, two
/// minutes by default.
const AGAIN_S: u32 = 30;

const EXPERIMENT: &str = "question = \"Which journal?\"\nsuite = \"quick\"\nrows = 2000\n\
    rounds = 1\nslice_seconds = 0.5\nwarmup_seconds = 0.05\n\
    baseline = { config = \"rollback\" }\n\
    [factors]\nbuild = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\", \"mmap\"]\n";

/// Executes its arguments where data folders have no room for the smallest database.
const FULL_DISK: &str =
    "mount -t tmpfs -o mode=0711,size=64k tmpfs /var/lib/dbdyno/run && exec \"$@\"";

/// Tasks, one of which loses its host.
const TASKS: usize = 4;

/// Blocks of a task.
fn blocks() -> usize {
    std::env::var("DBDYNO_TASK_BLOCKS").map_or(1, |blocks| blocks.parse().expect("a number"))
}

/// A cluster of two nodes that ends with the test.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
    /// Those of the nodes, by their names.
    nodes: Vec<(&'static str, Child)>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let nodes = self.nodes.iter_mut().map(|(_, daemon)| daemon);
        for daemon in nodes.chain(self.daemons.iter_mut().rev()) {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

impl Cluster {
    fn start(lab: &Lab) -> Self {
        let folder = lab.path("slurm");
        std::fs::create_dir(&folder).unwrap();
        let host = text(&Command::new("hostname").arg("-s").output().unwrap().stdout);
        let host = host.trim();
        let port = free_ports();
        let at = folder.display();
        let conf = format!(
            "ClusterName=lab\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=cred_expire={AGAIN_S}\n\
             StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool.%n\n\
             SlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/%n.pid\nSlurmctldPort={port}\n\
             SlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/linear\n\
             ReturnToService=2\nMpiDefault=none\nSlurmdTimeout=10\n\
             SchedulerParameters=sched_interval=5,bf_interval=5\n\
             NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=500\n\
             NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=500\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            port + 1,
            port + 2,
        );
        std::fs::write(folder.join("slurm.conf"), conf).unwrap();
        let mut cluster = Self { folder, daemons: Vec::new(), nodes: Vec::new() };
        munge(&mut cluster);
        let conf = cluster.conf();
        let controller = cluster.started(&["slurmctld", "-D", "-f", &conf]);
        cluster.daemons.push(controller);
        cluster.node("n1");
        cluster.node("n2");
        cluster.wait("both nodes are idle", |cluster| {
            let nodes = cluster.said(&["sinfo", "--noheader", "--format=%D %T"]);
            nodes.contains("2 idle").then_some(())
        });
        cluster
    }

    fn conf(&self) -> String {
        self.folder.join("slurm.conf").display().to_string()
    }

    /// Starts a daemon.
    fn started(&self, words: &[&str]) -> Child {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("SLURM_CONF", self.conf());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    fn node(&mut self, name: &'static str) {
        self.node_by(&[], name);
    }

    /// A node whose daemon is started by another program.
    fn node_by(&mut self, program: &[&str], name: &'static str) {
        let daemon = ["slurmd", "-D", "-N", name, "-f", &self.conf()];
        let daemon = self.started(&[program, &daemon[..]].concat());
        self.nodes.push((name, daemon));
    }

    /// Starts all nodes anew, which execute nothing now.
    fn again_by(&mut self, program: &[&str]) {
        for (name, mut daemon) in std::mem::take(&mut self.nodes) {
            daemon.kill().unwrap();
            daemon.wait().unwrap();
            self.node_by(program, name);
        }
    }

    /// Kills all that a node executes, as a loss of power does.
    fn lose(&mut self, name: &'static str) {
        let place = self.nodes.iter().position(|(known, _)| *known == name).unwrap();
        let (_, mut daemon) = self.nodes.remove(place);
        let lost = executed_on(name);
        assert!(lost.len() > 3, "the daemon of a step, dbdyno, its keeper and a driver: {lost:?}");
        let lost = lost.into_iter().chain([daemon.id()]).map(|pid| pid.to_string());
        let lost: Vec<String> = lost.collect();
        assert!(Command::new("kill").arg("-9").args(&lost).status().unwrap().success());
        daemon.wait().unwrap();
    }

    fn said(&self, words: &[&str]) -> String {
        let mut command = Command::new(words[0]);
        let output = command.args(&words[1..]).env("SLURM_CONF", self.conf()).output().unwrap();
        text(&output.stdout) + &text(&output.stderr)
    }

    fn wait<T>(&self, what: &str, mut is: impl FnMut(&Self) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            if let Some(found) = is(self) {
                return found;
            }
            let log = || std::fs::read_to_string(self.folder.join("ctld.log")).unwrap_or_default();
            assert!(start.elapsed() < LIMIT, "{what} is waited for in vain\n{}", log());
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// The first of three ports in a row that nobody uses, below those that hosts give out by
/// themselves. The search begins at one of this process, so that tests of other checkouts have
/// others.
fn free_ports() -> u16 {
    let is_free = |port: u16| TcpListener::bind(("0.0.0.0", port)).is_ok();
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let mut all = (first..30_000).chain(20_000..first);
    all.find(|port| (*port..port + 3).all(is_free)).unwrap()
}

/// Slurm's daemons trust each other by munge, which has one socket per host.
fn munge(cluster: &mut Cluster) {
    if Command::new("munge").arg("-n").output().is_ok_and(|output| output.status.success()) {
        return;
    }
    let made = Command::new("install")
        .args(["-d", "-o", "munge", "-g", "munge", "-m", "755", "/run/munge"])
        .status();
    assert!(made.unwrap().success());
    let user = ["setpriv", "--reuid=munge", "--regid=munge", "--clear-groups"];
    let daemon = cluster.started(&[&user[..], &["munged", "--foreground"]].concat());
    cluster.daemons.push(daemon);
    cluster.wait("munge answers", |_| {
        let output = Command::new("munge").arg("-n").output().unwrap();
        output.status.success().then_some(())
    });
}

/// The processes of the jobs on a node, and the daemons of their steps.
fn executed_on(node: &str) -> Vec<u32> {
    let name = format!("SLURMD_NODENAME={node}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let read = |file: &str| text(&std::fs::read(entry.path().join(file)).unwrap_or_default());
        if read("environ").split('\0').any(|one| one == name) {
            let stat = read("stat");
            let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1));
            let parent = parent.and_then(|pid| pid.parse().ok()).unwrap_or(pid);
            let comm = std::fs::read_to_string(format!("/proc/{parent}/comm"));
            found.extend(comm.is_ok_and(|name| name.starts_with("slurmstepd")).then_some(parent));
            found.push(pid);
        }
    }
    probe::process_tree(&found)
}

/// What a comparison has rows of.
fn rows(compared: &serde_json::Value) -> BTreeSet<String> {
    let rows = compared["comparisons"].as_array().unwrap().iter();
    let keys = ["phase", "variant", "base", "metric", "clients"];
    rows.map(|row| keys.map(|key| row[key].to_string()).join(" ")).collect()
}

/// A command of dbdyno that sees the cluster.
fn dbdyno(lab: &Lab, cluster: &Cluster, words: &[&str]) -> String {
    let output = lab.command(words).env("SLURM_CONF", cluster.conf()).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    said
}

/// A folder that shells and Slurm would take for something else.
const FOLDER: &str = "it's 100%a \"fan\"";

#[test]
fn blocks_of_several_hosts_are_compared_as_one_run_and_a_lost_host_costs_none() {
    let lab = Lab::new();
    let (all, records) = (TASKS * blocks(), 3 * TASKS * blocks());
    lab.write("mine.toml", EXPERIMENT);
    let mut cluster = Cluster::start(&lab);
    let blocks = [format!("blocks={all}"), blocks().to_string()];
    let submit = ["submit", "mine.toml", "--folder", FOLDER, "--counts", "none"];
    let submit = [&submit[..], &["--set", &blocks[0], "--blocks-per-task", &blocks[1]]].concat();
    let script = dbdyno(&lab, &cluster, &[&submit[..], &["--dry-run"]].concat());
    assert!(script.contains("#SBATCH --array=0-3") && script.contains("4 tasks of "), "{script}");
    assert!(!lab.path(FOLDER).exists());
    let said = dbdyno(&lab, &cluster, &submit);
    let job = said.split("submitted as job ").nth(1).unwrap().split(';').next().unwrap().to_owned();

    // Two tasks that wait for hosts are lost, one by a cancellation, one by a file in its way.
    let obstacle = lab.path(FOLDER).join("tasks/3");
    std::fs::write(&obstacle, "").unwrap();
    cluster.said(&["scancel", &format!("{job}_2")]);

    // The first task that runs loses its host in its last block.
    let (node, log) = cluster.wait("a task runs", |cluster| {
        let status = dbdyno(&lab, cluster, &["status", FOLDER]);
        let words = status.lines().find(|line| line.contains("running"))?.split_whitespace();
        let words: Vec<&str> = words.collect();
        let node = ["n1", "n2"].into_iter().find(|node| words.contains(node))?;
        Some((node, lab.path(FOLDER).join("logs").join(format!("{}.log", words[0]))))
    });
    // From here on by its log alone: a busy host asks Slurm for longer than slices take.
    cluster.wait("it measures", |_| {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        let (_, last) = log.split_once(&format!("block {}: ", blocks[1]))?;
        last.contains("] thds:").then_some(())
    });
    cluster.lose(node);
    cluster.wait("the loss is seen", |cluster| {
        let nodes = cluster.said(&["sinfo", "--noheader", "--format=%D %T"]);
        nodes.contains("down").then_some(())
    });
    cluster.node(node);
    what_ended_early_is_done_again(&lab, &cluster, &obstacle);

    cluster.wait("all tasks end", |cluster| {
        let status = dbdyno(&lab, cluster, &["status", FOLDER]);
        (status.matches("finished").count() == TASKS).then_some(())
    });
    let said = dbdyno(&lab, &cluster, &["collect", FOLDER]);
    let expected =
        format!("{all} of {all} blocks complete; new here: 4 runs and {records} records");
    assert!(said.contains(&expected), "{said}");
    let said = dbdyno(&lab, &cluster, &["collect", FOLDER]);
    assert!(said.contains("new here: 0 runs and 0 records"), "{said}");

    let pooled = lab.succeed(&["compare", "--all", "--format", "json"]);
    let pooled: serde_json::Value = serde_json::from_str(&pooled).unwrap();
    assert!(pooled.is_object(), "one comparison: {pooled}");
    let warnings = pooled.to_string();
    assert!(warnings.contains("the blocks of 4 runs of one plan are pooled"), "{warnings}");
    let has_all = warnings.contains(&format!("\"blocks\":{all}"));
    assert!(has_all || is_told_of_lost(&warnings), "{warnings}");
    // The same without a cluster.
    lab.succeed(&["run", "mine.toml", "--counts", "none", "--set", "blocks=2", "--results", "own"]);
    let own = lab.succeed(&["compare", "--format", "json", "--results", "own"]);
    let own: serde_json::Value = serde_json::from_str(&own).unwrap();
    assert!(!rows(&own).is_empty() && rows(&pooled) == rows(&own), "{pooled} {own}");
    println!("{all} blocks, {records} records, {} rows", rows(&own).len());

    let said = dbdyno(&lab, &cluster, &["cancel", FOLDER]);
    assert!(said.contains(&format!("no task of jobs {job}, ")), "{said}");
    a_damaged_task_is_named_and_done_anew(&lab, &mut cluster);
}

fn a_damaged_task_is_named_and_done_anew(lab: &Lab, cluster: &mut Cluster) {
    let runs = lab.path(FOLDER).join("tasks/1/runs");
    let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    std::fs::write(run.path().join("plan.json"), "{").unwrap();
    let said = dbdyno(lab, cluster, &["status", FOLDER]);
    assert!(said.contains("unreadable") && said.matches("finished").count() == 3, "{said}");
    assert!(said.contains(" --task 1` does anew what failed or is unreadable"), "{said}");
    let err = lab.refuses(&["collect", FOLDER, "--results", "others"]);
    let records = 9 * blocks();
    assert!(err.contains(&format!("new here: 3 runs and {records} records")), "{err}");
    assert!(err.contains("task 1 cannot be read, and the others were collected"), "{err}");
    let full = ["unshare", "--mount", "sh", "-c", FULL_DISK, "sh"];
    if Command::new(full[0]).args(&full[1..]).arg("true").status().unwrap().success() {
        cluster.again_by(&full);
        dbdyno(lab, cluster, &["retry", FOLDER, "--task", "1"]);
        let said = cluster.wait("the task ends early", |cluster| {
            let status = dbdyno(lab, cluster, &["status", FOLDER]);
            status.contains("ended early ").then_some(status)
        });
        assert!(said.contains("no space: the plan needs about"), "{said}");
        cluster.again_by(&[]);
    } else {
        println!("skipped: only root with CAP_SYS_ADMIN can have a full disk of its own");
    }
    dbdyno(lab, cluster, &["retry", FOLDER, "--task", "1"]);
    cluster.wait("it is done anew", |cluster| {
        let status = dbdyno(lab, cluster, &["status", FOLDER]);
        (status.matches("finished").count() == 4).then_some(())
    });
}

/// Of the tasks 2 and 3, which are lost, and whose reasons are said.
fn what_ended_early_is_done_again(lab: &Lab, cluster: &Cluster, obstacle: &Path) {
    let (out, err) = ends(2, lab.command(&["status", FOLDER]).env("PATH", "/nowhere"));
    assert!(out.contains("unknown") && err.matches("error: ").count() == 1, "{out}{err}");
    let output = lab.run(&["submit", "mine.toml", "--folder", FOLDER, "--counts", "none"]);
    let err = text(&output.stderr);
    assert!(err.contains("was submitted already: `dbdyno retry "), "{err}");

    let said = cluster.wait("two tasks end early", |cluster| {
        let status = dbdyno(lab, cluster, &["status", FOLDER]);
        (status.contains("never began") && status.contains("ended early ")).then_some(status)
    });
    assert!(said.contains("\ntask 2: never began: it was canceled"), "{said}");
    assert!(said.contains("\ntask 3: `") && said.contains("tasks/3` is "), "{said}");
    std::fs::remove_file(obstacle).unwrap();
    let said = dbdyno(lab, cluster, &["retry", FOLDER]);
    assert!(said.contains("2 tasks submitted as job "), "{said}");
    let said = dbdyno(lab, cluster, &["retry", FOLDER]);
    assert!(said.contains("no task ended early"), "{said}");
}

#[test]
fn mistakes_with_a_batch_system_are_one_sentence_each() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let check = |words: &[&str], expected: &str| {
        let (_, said) = ends(2, lab.command(words).env("PATH", "/nowhere"));
        assert!(said.contains(expected), "{words:?}: {said}");
    };
    check(
        &["submit", "mine.toml", "--folder", "fan"],
        "`sbatch` cannot be started: is this a host of a Slurm cluster?",
    );
    check(&["submit", "mine.toml", "--folder", "fan\n#x"], "fan\\n#x` has a control character");
    check(&["status", "fan"], "there is no fan-out in `fan`; `dbdyno submit");
    check(&["submit", "mine.toml", "--folder", "."], "is there already: name a new folder");
    check(&["retry", "nothing"], "there is no fan-out in `nothing`");
    check(&["status", "nothing"], "there is no fan-out in `nothing`");
    check(&["collect", "mine.toml"], "there is no fan-out in `mine.toml`");
    check(&["submit", "none.toml", "--folder", "fan2"], "none.toml");
    // A task of one block loads its tables itself, once.
    let loads = ["--set", "blocks=4", "--set", "loads=2", "--dry-run"];
    let submit = ["submit", "mine.toml", "--folder", "fan2"];
    let (_, said) = lab.ends(0, &[&submit[..], &loads].concat());
    assert!(said.contains("4 tasks of 1 block;"), "{said}");
}
