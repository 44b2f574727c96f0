//! An experiment over two hosts of a Slurm cluster, which are both this machine: each task is a run
//! of its own, a host that dies in the middle costs no complete block, what failed or was canceled
//! is done again, and what is collected is compared as one.

use crate::lab::{Lab, text};
use std::{
    path::{Path, PathBuf},
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

/// A folder that shells and Slurm would take for something else.
const FOLDER: &str = "it's 100%a \"fan\"";

#[test]
fn blocks_of_several_hosts_are_compared_as_one_run_and_a_lost_host_costs_none() {
    let lab = Lab::new();
    lab.write("mine.toml", EXPERIMENT);
    let cluster = Cluster::start(&lab);
    let submit = ["submit", "mine.toml", "--folder", FOLDER, "--counts", "none"];
    let script = dbdyno(&lab, &cluster, &[&submit[..], &["--dry-run"]].concat());
    assert!(script.contains("#SBATCH --array=0-3") && script.contains("4 tasks of 1 block"));
    assert!(!lab.path(FOLDER).exists());
    let said = dbdyno(&lab, &cluster, &submit);
    let job = said.split("submitted as job ").nth(1).unwrap().split(';').next().unwrap().to_owned();

    // Two tasks that wait for hosts are lost, one by a cancellation, one by a file in its way.
    let obstacle = lab.path(FOLDER).join("tasks/3");
    std::fs::write(&obstacle, "").unwrap();
    cluster.said(&["scancel", &format!("{job}_2")]);

    // The first task that runs loses its host in the middle.
    let lost = cluster.wait("a task measures", |cluster| {
        let status = dbdyno(&lab, cluster, &["status", FOLDER]);
        let line = status.lines().find(|line| line.contains("running"))?;
        let task = line.split_whitespace().next()?.to_owned();
        let log = lab.path(FOLDER).join("logs").join(format!("{task}.log"));
        let began = std::fs::read_to_string(log).unwrap_or_default().contains("] thds:");
        began.then_some(task)
    });
    cluster.said(&["scontrol", "requeue", &format!("{job}_{lost}")]);
    what_ended_early_is_done_again(&lab, &cluster, &obstacle);

    cluster.wait("all tasks end", |cluster| {
        let status = dbdyno(&lab, cluster, &["status", FOLDER]);
        (status.matches("finished").count() == 4).then_some(())
    });
    let said = dbdyno(&lab, &cluster, &["collect", FOLDER]);
    assert!(said.contains("4 of 4 blocks complete; new here: 4 runs and 8 records"), "{said}");
    let said = dbdyno(&lab, &cluster, &["collect", FOLDER]);
    assert!(said.contains("new here: 0 runs and 0 records"), "{said}");

    let compared = lab.succeed(&["compare", "--all", "--format", "json"]);
    let compared: serde_json::Value = serde_json::from_str(&compared).unwrap();
    let comparisons = compared.as_array().map_or(1, Vec::len);
    assert_eq!(comparisons, 1, "{compared}");
    let warnings = compared.to_string();
    assert!(warnings.contains("the blocks of 4 runs of one plan are pooled"), "{warnings}");
    assert!(warnings.contains("\"blocks\":4"), "{warnings}");

    let said = dbdyno(&lab, &cluster, &["cancel", FOLDER]);
    assert!(said.contains(&format!("no task of jobs {job}, ")), "{said}");
    a_damaged_task_is_named_and_done_anew(&lab, &cluster);
}

fn a_damaged_task_is_named_and_done_anew(lab: &Lab, cluster: &Cluster) {
    let runs = lab.path(FOLDER).join("tasks/1/runs");
    let run = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    std::fs::write(run.path().join("plan.json"), "{").unwrap();
    let said = dbdyno(lab, cluster, &["status", FOLDER]);
    assert!(said.contains("unreadable") && said.matches("finished").count() == 3, "{said}");
    assert!(said.contains(" --task 1` does anew what failed or is unreadable"), "{said}");
    let output = lab.run(&["collect", FOLDER, "--results", "others"]);
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("new here: 3 runs and 6 records"), "{err}");
    assert!(err.contains("task 1 cannot be read, and the others were collected"), "{err}");
    dbdyno(lab, cluster, &["retry", FOLDER, "--task", "1"]);
    cluster.wait("it is done anew", |cluster| {
        let status = dbdyno(lab, cluster, &["status", FOLDER]);
        (status.matches("finished").count() == 4).then_some(())
    });
}

/// Of the tasks 2 and 3, which are lost, and whose reasons are said.
fn what_ended_early_is_done_again(lab: &Lab, cluster: &Cluster, obstacle: &Path) {
    let output = lab.command(&["status", FOLDER]).env("PATH", "/nowhere").output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(2), "{out}{err}");
    assert!(out.contains("unknown") && err.matches("error: ").count() == 1, "{out}{err}");
    let output = lab.run(&["submit", "mine.toml", "--folder", FOLDER, "--counts", "none"]);
    let err = text(&output.stderr);
    assert!(err.contains("was submitted already: `dbdyno retry "), "{err}");

    let said = cluster.wait("two tasks end early", |cluster| {
        let status = dbdyno(lab, cluster, &["status", FOLDER]);
        (status.contains("never began") && status.contains("ended early ")).then_some(status)
    });
    assert!(said.contains("\ntask 2: never began\n"), "{said}");
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
        let output = lab.command(words).env("PATH", "/nowhere").output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
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
}
