//! An experiment over the hosts of a lab: its blocks as tasks of a batch system, each of which is a
//! run of its own with whole blocks, so that no block spans hosts and all variants of a block are
//! on one.
//!
//! A batch system is one file beside this one and its line in [`CLUSTERS`]. It starts `dbdyno task`
//! once per task on a host of its own; records travel by the shared folder of the fan-out.

mod log;
mod slurm;

pub(crate) use log::Log;

use crate::outputs;
use anyhow::Context;
use model::plan::Plan;
use serde::{Deserialize, Serialize};
use std::{
    fs::TryLockError,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use store::{Results, RunInfo};

/// A batch system.
pub(crate) struct Cluster {
    /// The word on the command line.
    pub(crate) name: &'static str,
    /// The script of a job with all tasks, which executes `task` with the number of its task.
    pub(crate) script: fn(&Fanout, folder: &Path) -> String,
    /// Hands a script in; the identifier of its job.
    pub(crate) submit: fn(script: &Path, part: &Part) -> anyhow::Result<String>,
    /// What the tasks of jobs that have not ended do, and on which hosts.
    pub(crate) tasks: fn(jobs: &[&str]) -> anyhow::Result<Vec<Task>>,
    /// Ends jobs with all tasks.
    pub(crate) cancel: fn(jobs: &[&str]) -> anyhow::Result<()>,
    /// Environment variable in which a task finds the name of its host.
    pub(crate) host_variable: &'static str,
    /// What a line that it wrote into the log of a task says of a failure.
    pub(crate) failure: fn(line: &str) -> Option<String>,
}

/// What of a script is handed in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Part {
    /// Only these tasks; all if there are none.
    pub(crate) tasks: Vec<u32>,
    /// Options beside those of the script.
    pub(crate) options: Vec<String>,
}

/// A task that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Task {
    /// Its number, from 0 on.
    pub(crate) number: u32,
    /// What the batch system says that it does.
    pub(crate) state: String,
    /// Its host, or why it waits.
    pub(crate) place: String,
}

pub(crate) const CLUSTERS: &[Cluster] = &[slurm::CLUSTER];

const FANOUT: &str = "fanout.json";
const SCRIPT: &str = "job.sh";
const TASKS: &str = "tasks";
const LOGS: &str = "logs";

/// What was handed to a batch system. It lies in the folder of the fan-out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fanout {
    /// Name of the batch system.
    pub(crate) cluster: String,
    /// The job there, once it is handed in.
    pub(crate) job: Option<String>,
    /// The jobs after it, with tasks that are done again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) later: Vec<String>,
    /// Name of the experiment.
    pub(crate) experiment: String,
    /// Number of tasks.
    pub(crate) tasks: u32,
    /// Blocks of each.
    pub(crate) blocks: u32,
    /// Seed of the first task; that of each next one is larger by 1.
    pub(crate) seed: u64,
    /// This program.
    pub(crate) program: PathBuf,
    /// Words of `dbdyno run` that all tasks share.
    pub(crate) words: Vec<String>,
    /// Further options of the batch system.
    pub(crate) options: Vec<String>,
}

impl Fanout {
    /// The fan-out of a folder.
    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join(FANOUT);
        anyhow::ensure!(
            Self::is_in(folder),
            "there is no fan-out in `{0}`; `dbdyno submit EXPERIMENT --folder {0}` makes one",
            folder.display()
        );
        let text = fs_err::read_to_string(&file)
            .with_context(|| format!("`{}` is no folder of `dbdyno submit`", folder.display()))?;
        let found: Self =
            serde_json::from_str(&text).with_context(|| format!("`{}`", file.display()))?;
        found.cluster()?;
        Ok(found)
    }

    /// The same for whoever adds a job to it, which nobody else does until the file is closed: of
    /// two at once, each would miss the other's job.
    pub(crate) fn read_alone(folder: &Path) -> anyhow::Result<(Self, fs_err::File)> {
        Self::read(folder)?;
        // Of what lies there, this alone is never replaced.
        let script = fs_err::OpenOptions::new().append(true).open(folder.join(SCRIPT))?;
        match script.file().try_lock() {
            Ok(()) => Ok((Self::read(folder)?, script)),
            Err(TryLockError::WouldBlock) => anyhow::bail!(
                "another `dbdyno retry` hands in tasks of `{}`: wait for its end",
                folder.display()
            ),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    fn write(&self, folder: &Path) -> anyhow::Result<()> {
        outputs::write(&folder.join(FANOUT), serde_json::to_vec_pretty(self)?)
    }

    /// Whether a folder is one of `dbdyno submit`.
    pub(crate) fn is_in(folder: &Path) -> bool {
        folder.join(FANOUT).exists()
    }

    /// Blocks of all tasks.
    pub(crate) fn all_blocks(&self) -> usize {
        self.tasks as usize * self.blocks as usize
    }

    /// The batch system.
    pub(crate) fn cluster(&self) -> anyhow::Result<&'static Cluster> {
        let known = CLUSTERS.iter().find(|cluster| cluster.name == self.cluster);
        known.with_context(|| format!("no batch system `{}` is known", self.cluster))
    }

    /// The jobs; there is one as soon as the fan-out is handed in.
    pub(crate) fn jobs(&self) -> anyhow::Result<Vec<&str>> {
        let first = self.job.as_deref();
        let first = first.context("it was not handed in: remove its folder and submit again")?;
        Ok([first].into_iter().chain(self.later.iter().map(String::as_str)).collect())
    }

    /// The tasks that have not ended.
    pub(crate) fn queue(&self) -> anyhow::Result<Vec<Task>> {
        (self.cluster()?.tasks)(&self.jobs()?)
    }

    /// The script of the job.
    pub(crate) fn script(&self, folder: &Path) -> anyhow::Result<String> {
        Ok((self.cluster()?.script)(self, folder))
    }

    /// Writes the folder, which must not be there, and hands the job in; without a job the folder
    /// is removed.
    pub(crate) fn submit(mut self, folder: &Path) -> anyhow::Result<Self> {
        outputs::create_folder(folder)?;
        // What `--set` gives may be nobody else's business, as in a results folder.
        fs_err::set_permissions(folder, std::fs::Permissions::from_mode(0o700))?;
        for part in [TASKS, LOGS] {
            outputs::create_folder(&folder.join(part))?;
        }
        self.write(folder)?;
        let script = folder.join(SCRIPT);
        outputs::write(&script, self.script(folder)?)?;
        let job = match (self.cluster()?.submit)(&script, &Part::default()) {
            Ok(job) => job,
            Err(error) => {
                fs_err::remove_dir_all(folder)?;
                return Err(error);
            }
        };
        self.job = Some(job.clone());
        self.note(folder, &job)?;
        Ok(self)
    }

    /// Hands tasks in once more, as a job of its own, which is returned.
    pub(crate) fn submit_again(&mut self, folder: &Path, part: &Part) -> anyhow::Result<String> {
        // Slurm reads the script at once, and its paths are absolute.
        let job = (self.cluster()?.submit)(&folder.join(SCRIPT), part)?;
        self.later.push(job.clone());
        self.note(folder, &job)?;
        Ok(job)
    }

    /// Writes the folder with a new job. Where that fails it is canceled: nobody would see it.
    fn note(&self, folder: &Path, job: &str) -> anyhow::Result<()> {
        let noted = self.write(folder);
        if noted.is_err() {
            (self.cluster()?.cancel)(&[job])
                .with_context(|| format!("job {job} is submitted, but cannot be noted"))?;
        }
        noted
    }

    /// The words of the run of a task. What an earlier attempt of it completed is kept; none where
    /// it has ended.
    pub(crate) fn words_of(&self, folder: &Path, task: u32) -> anyhow::Result<Option<Vec<String>>> {
        anyhow::ensure!(task < self.tasks, "there are {} tasks, and none is {task}", self.tasks);
        let results = results_of(folder, task);
        let earlier = Attempt::of(folder, task)?;
        if earlier.as_ref().is_some_and(|earlier| earlier.run.finished) {
            return Ok(None);
        }
        let seed = self.seed.wrapping_add(task.into());
        let mut words = vec!["run".to_owned()];
        words.extend(self.words.iter().cloned());
        for set in [format!("blocks={}", self.blocks), format!("seed={seed}")] {
            words.extend(["--set".to_owned(), set]);
        }
        words.extend(["--results".to_owned(), results.display().to_string()]);
        words.extend(["--progress", "plain"].map(str::to_owned));
        words.extend(earlier.map(|_| "--resume".to_owned()));
        Ok(Some(words))
    }
}

/// Moves the results of a task away, so that it is done anew; where they are now. Nothing where
/// there are none.
pub(crate) fn set_aside(folder: &Path, task: u32) -> anyhow::Result<Option<PathBuf>> {
    let results = results_of(folder, task);
    if !results.exists() {
        return Ok(None);
    }
    let mut names = (1..).map(|time| results.with_file_name(format!("{task}.earlier-{time}")));
    let free = names.find(|name| !name.exists()).context("a number is free")?;
    fs_err::rename(&results, &free)?;
    Ok(Some(free))
}

/// The results folder of a task.
fn results_of(folder: &Path, task: u32) -> PathBuf {
    folder.join(TASKS).join(task.to_string())
}

/// The run of a task that began.
pub(crate) struct Attempt {
    /// Its results folder.
    pub(crate) results: Results,
    run: RunInfo,
}

impl Attempt {
    /// Of a task; none before its run began.
    pub(crate) fn of(folder: &Path, task: u32) -> anyhow::Result<Option<Self>> {
        let path = results_of(folder, task);
        if !path.is_dir() {
            return Ok(None);
        }
        let results = match Results::open(path) {
            Ok(results) => results,
            Err(store::Error::NoResults { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let run = results.runs()?.pop();
        Ok(run.map(|run| Self { results, run }))
    }

    /// How far it is.
    pub(crate) fn progress(&self) -> anyhow::Result<Progress> {
        let plan: Plan = self.results.plan_of(&self.run.id)?;
        let trials = self.results.trials(&self.run.id)?;
        let blocks = crate::resumption::complete_blocks(&trials, &plan);
        let environment = trials.last().map_or(&self.run.environment, |trial| &trial.environment);
        let host = environment.host.clone();
        Ok(Progress { blocks, is_finished: self.run.finished, host })
    }
}

/// How far the run of a task is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Progress {
    /// Complete blocks.
    pub(crate) blocks: usize,
    /// Whether it has ended.
    pub(crate) is_finished: bool,
    /// Host of its last attempt; empty before it began.
    pub(crate) host: String,
}

impl Progress {
    /// Of a task.
    pub(crate) fn of(folder: &Path, task: u32) -> anyhow::Result<Self> {
        Attempt::of(folder, task)?.map_or(Ok(Self::default()), |attempt| attempt.progress())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fanout() -> Fanout {
        Fanout {
            cluster: "slurm".to_owned(),
            experiment: "mine".to_owned(),
            tasks: 3,
            blocks: 2,
            seed: 40,
            program: "/usr/bin/dbdyno".into(),
            words: vec!["mine.toml".to_owned(), "--wait".to_owned()],
            ..Fanout::default()
        }
    }

    #[test]
    fn each_task_is_a_run_with_its_own_seed_and_results() {
        let folder = tempfile::tempdir().unwrap();
        let words = fanout().words_of(folder.path(), 2).unwrap().unwrap().join(" ");
        let results = folder.path().join("tasks/2");
        let expected = format!(
            "run mine.toml --wait --set blocks=2 --set seed=42 --results {} --progress plain",
            results.display()
        );
        assert_eq!(words, expected);
        let error = fanout().words_of(folder.path(), 3).unwrap_err().to_string();
        assert_eq!(error, "there are 3 tasks, and none is 3");
    }

    #[test]
    fn what_is_done_anew_keeps_its_earlier_results_aside() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(set_aside(folder.path(), 2).unwrap(), None);
        for time in ["1", "2"] {
            fs_err::create_dir_all(folder.path().join("tasks/2")).unwrap();
            let aside = folder.path().join(format!("tasks/2.earlier-{time}"));
            assert_eq!(set_aside(folder.path(), 2).unwrap(), Some(aside));
        }
    }

    #[test]
    fn jobs_are_added_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        fanout().write(folder.path()).unwrap();
        fs_err::write(folder.path().join(SCRIPT), "#!/bin/sh\n").unwrap();
        let (found, _turn) = Fanout::read_alone(folder.path()).unwrap();
        assert_eq!(found, fanout());
        let second = Fanout::read_alone(folder.path()).unwrap_err().to_string();
        assert!(second.starts_with("another `dbdyno retry` hands in tasks of `"), "{second}");
    }

    #[test]
    fn a_folder_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        fanout().write(folder.path()).unwrap();
        assert_eq!(Fanout::read(folder.path()).unwrap(), fanout());
        let unknown = Fanout { cluster: "pbs".to_owned(), ..fanout() };
        unknown.write(folder.path()).unwrap();
        let error = Fanout::read(folder.path()).unwrap_err().to_string();
        assert_eq!(error, "no batch system `pbs` is known");
        let error = Fanout::read(&folder.path().join("none")).unwrap_err().to_string();
        assert!(error.starts_with("there is no fan-out in `"), "{error}");
    }
}
