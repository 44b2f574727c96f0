//! An experiment over two hosts of a Slurm cluster, which are both this machine: each task is a run
//! of its own, a host that dies in the middle costs no complete block, and what is collected is
//! compared as one.

use crate::lab::{Lab, text};
use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Slurm waits two minutes before it starts a task again.
const LIMIT: Duration = Duration::from_secs(600);

const EXPERIMENT: &str = "question = \"Which journal?\"\nsuite = \"quick\"\nrows = 2000\n\
    blocks = 4\nrounds = 1\nslice_seconds = 0.5\nwarmup_seconds = 0.05\n\
    baseline = { config = \"rollback\" }\n\
    [factors]\nbuild = [\"sqlite\"]\nconfig = [\"rollback\", \"wal\"]\n";

/// A cluster of two nodes that ends with the test.
struct Cluster {
    folder: PathBuf,
    daemons: Vec<Child>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
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
        // Of this process, so that tests of other checkouts have others.
        let port = 20_000 + std::process::id() % 10_000;
        let at = folder.display();
        let conf = format!(
            "ClusterName=lab\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nStateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool.%n\n\
             SlurmctldPidFile={at}/ctld.pid\nSlurmdPidFile={at}/%n.pid\nSlurmctldPort={port}\n\
             SlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n.log\n\
             ProctrackType=proctrack/pgid\nTaskPlugin=task/none\nSelectType=select/linear\n\
             ReturnToService=2\nMpiDefault=none\nSlurmdTimeout=10\n\
             NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=500\n\
             NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 RealMemory=500\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            port + 1,
            port + 2,
        );
        std::fs::write(folder.join("slurm.conf"), conf).unwrap();
        let mut cluster = Self { folder, daemons: Vec::new() };
        munge(&mut cluster);
        let conf = cluster.conf();
        cluster.daemon(&["slurmctld", "-D", "-f", &conf]);
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

    /// Starts a daemon that ends with this value.
    fn daemon(&mut self, words: &[&str]) {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("SLURM_CONF", self.conf());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let started = command.spawn().unwrap_or_else(|error| panic!("{words:?}: {error}"));
        self.daemons.push(started);
    }

    fn node(&mut self, name: &str) {
        let conf = self.conf();
        self.daemon(&["slurmd", "-D", "-N", name, "-f", &conf]);
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
    cluster.daemon(&[&user[..], &["munged", "--foreground"]].concat());
    cluster.wait("munge answers", |_| {
        let output = Command::new("munge").arg("-n").output().unwrap();
        output.status.success().then_some(())
    });
}

/// A command of dbdyno that sees the cluster.
fn dbdyno(lab: &Lab, cluster: &Cluster, words: &[&str]) -> String {
    let output = lab.command(words).env("SLURM_CONF", cluster.conf()).output().unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}");
    said
}

#[test]
fn blocks_of_several_hosts_are_compared_as_one_run_and_a_lost_host_costs_none() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let cluster = Cluster::start(&lab);
    let submit = ["submit", "mine.toml", "--folder", "fan", "--counts", "none"];
    let script = dbdyno(&lab, &cluster, &[&submit[..], &["--dry-run"]].concat());
    assert!(script.contains("#SBATCH --array=0-3") && script.contains("4 tasks of 1 block"));
    assert!(!lab.path("fan").exists());
    let said = dbdyno(&lab, &cluster, &submit);
    let job = said.split("submitted as job ").nth(1).unwrap().split(';').next().unwrap().to_owned();

    // The first task that runs loses its host in the middle.
    let lost = cluster.wait("a task measures", |cluster| {
        let status = dbdyno(&lab, cluster, &["status", "fan"]);
        let line = status.lines().find(|line| line.contains("running"))?;
        let task = line.split_whitespace().next()?.to_owned();
        let log = lab.path("fan").join("logs").join(format!("{task}.log"));
        let began = std::fs::read_to_string(log).unwrap_or_default().contains("] thds:");
        began.then_some(task)
    });
    cluster.said(&["scontrol", "requeue", &format!("{job}_{lost}")]);

    cluster.wait("all tasks end", |cluster| {
        let status = dbdyno(&lab, cluster, &["status", "fan"]);
        (status.matches("finished").count() == 4).then_some(())
    });
    let said = dbdyno(&lab, &cluster, &["collect", "fan"]);
    assert!(said.contains("4 of 4 blocks are complete; new here: 4 runs and 8 records"), "{said}");
    let said = dbdyno(&lab, &cluster, &["collect", "fan"]);
    assert!(said.contains("new here: 0 runs and 0 records"), "{said}");

    let compared = lab.succeed(&["compare", "--all", "--format", "json"]);
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    let comparisons = compared.as_array().map_or(1, Vec::len);
    assert_eq!(comparisons, 1, "{compared}");
    let warnings = compared.to_string();
    assert!(warnings.contains("the blocks of 4 runs of one plan are pooled"), "{warnings}");
    assert!(warnings.contains("\"blocks\":4"), "{warnings}");

    let said = dbdyno(&lab, &cluster, &["cancel", "fan"]);
    assert!(said.contains(&format!("job {job} is canceled")), "{said}");
}

#[test]
fn mistakes_with_a_batch_system_are_one_sentence_each() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let check = |words: &[&str], expected: &str| {
        let output = lab.command(words).env("PATH", "/nowhere").output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(expected), "{words:?}: {said}");
    };
    check(
        &["submit", "mine.toml", "--folder", "fan"],
        "`sbatch` cannot be started: is this a host of a Slurm cluster?",
    );
    check(&["status", "fan"], "there is no fan-out in `fan`; `dbdyno submit");
    check(&["submit", "mine.toml", "--folder", "."], "is there already: name a new folder");
    check(&["status", "nothing"], "there is no fan-out in `nothing`");
    check(&["collect", "mine.toml"], "there is no fan-out in `mine.toml`");
    check(&["submit", "none.toml", "--folder", "fan2"], "none.toml");
}
