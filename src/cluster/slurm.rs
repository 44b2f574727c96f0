//! Slurm: one job array, a whole host for each task.

use super::{Cluster, Fanout, LOGS, Part, Task};
use crate::shell::quoted;
use anyhow::{Context, anyhow, bail};
use std::{path::Path, process::Command};

pub(super) const CLUSTER: Cluster = Cluster {
    name: "slurm",
    script,
    submit,
    tasks,
    cancel,
    host_variable: "SLURMD_NODENAME",
    failure,
};

/// A task whose host failed is queued again, and goes on with its log.
fn script(fanout: &Fanout, folder: &Path) -> String {
    // Slurm replaces `%` with what follows it.
    let log = format!("{}/%a.log", folder.join(LOGS).display().to_string().replace('%', "%%"));
    let mut options = vec![
        format!("--job-name={}", quoted(&format!("dbdyno-{}", fanout.experiment))),
        format!("--array=0-{}", fanout.tasks.saturating_sub(1)),
        "--nodes=1".to_owned(),
        "--exclusive".to_owned(),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--output={}", quoted(&log)),
    ];
    options.extend(fanout.options.iter().cloned());
    let options: Vec<String> = options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
    let [program, folder] =
        [&fanout.program, &folder.to_owned()].map(|path| quoted(&path.display().to_string()));
    // It is of the session that submits. On another host its folder is there as long as the user is
    // logged in, and would take the sockets of servers with it.
    format!(
        "#!/bin/sh\n{}unset XDG_RUNTIME_DIR\nexec {program} task {folder} \
         \"$SLURM_ARRAY_TASK_ID\"\n",
        options.concat()
    )
}

fn submit(script: &Path, part: &Part) -> anyhow::Result<String> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable").args(options(part)).arg(script);
    let said = said(&mut command).map_err(with_remedy)?;
    // With several clusters `12;name`.
    let job = said.trim().split(';').next().unwrap_or_default();
    anyhow::ensure!(is_job(job), "`sbatch` did not name a job, but said `{}`", said.trim());
    Ok(job.to_owned())
}

/// A refused job with what helps: where nobody set it, a job has at most 1001 tasks.
fn with_remedy(error: anyhow::Error) -> anyhow::Error {
    match error.to_string().contains("Invalid job array specification") {
        true => anyhow!(
            "{error}; this cluster takes fewer tasks in a job (`scontrol show config` shows its \
             `MaxArraySize`): make fewer, longer ones by `--blocks-per-task`"
        ),
        false => error,
    }
}

/// What goes before the options of the script.
fn options(part: &Part) -> Vec<String> {
    let tasks: Vec<String> = part.tasks.iter().map(u32::to_string).collect();
    let array = (!tasks.is_empty()).then(|| format!("--array={}", tasks.join(",")));
    array.into_iter().chain(part.options.iter().cloned()).collect()
}

fn is_job(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A job that has ended is unknown after some minutes: then no task is left.
fn tasks(jobs: &[&str]) -> anyhow::Result<Vec<Task>> {
    match said(&mut queue(jobs)) {
        Ok(said) => Ok(said.lines().filter_map(task).collect()),
        Err(error) if has_ended(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// By these, users choose what `squeue` shows them. A task that it hides would be done again.
const CHOICES: [&str; 7] = [
    "SQUEUE_ACCOUNT",
    "SQUEUE_LICENSES",
    "SQUEUE_NAMES",
    "SQUEUE_PARTITION",
    "SQUEUE_QOS",
    "SQUEUE_STATES",
    "SQUEUE_USERS",
];

/// The command that lists all tasks of jobs.
fn queue(jobs: &[&str]) -> Command {
    let mut command = Command::new("squeue");
    command.args(["--noheader", "--array", "--format=%K|%T|%R", "--jobs", &jobs.join(",")]);
    for name in CHOICES {
        command.env_remove(name);
    }
    command
}

/// `3|RUNNING|n1`, or `4|PENDING|(Resources)`.
fn task(line: &str) -> Option<Task> {
    let mut parts = line.trim().splitn(3, '|');
    Some(Task {
        number: parts.next()?.parse().ok()?,
        state: parts.next()?.to_ascii_lowercase(),
        place: parts.next()?.to_owned(),
    })
}

/// Whether nothing of a job is left, which Slurm still knows for some minutes.
fn has_ended(error: &anyhow::Error) -> bool {
    let said = error.to_string();
    ["Invalid job id", "already completing or completed"].iter().any(|words| said.contains(words))
}

/// One after the other: an earlier job may have ended. None stays because of another one.
fn cancel(jobs: &[&str]) -> anyhow::Result<()> {
    let canceled = |job: &&str| match said(Command::new("scancel").arg(job)) {
        Err(error) if !has_ended(&error) => Err(error),
        _ => Ok(()),
    };
    let ends: Vec<anyhow::Result<()>> = jobs.iter().map(canceled).collect();
    ends.into_iter().collect()
}

/// `slurmstepd-n2: error: *** JOB 31 ON n2 CANCELLED AT 2026-11-27T23:49:28 DUE TO TIME LIMIT ***`,
/// where job, host and time are no part of the reason.
///
/// `/var/spool/slurmd/job00031/slurm_script: 9: exec: /opt/dbdyno: not found` is a program that the
/// host lacks.
fn failure(line: &str) -> Option<String> {
    if let Some((_, said)) = line.split_once("/slurm_script: ") {
        return Some(format!("its script on that host: {said}"));
    }
    let (_, said) = line.strip_prefix("slurmstepd")?.split_once("error: ")?;
    if !said.contains(" CANCELLED AT ") {
        return Some(said.to_owned());
    }
    Some(match said.split_once(" DUE TO ") {
        Some((_, cause)) => {
            let cause = cause.trim_end_matches([' ', '*']).to_ascii_lowercase();
            format!("Slurm canceled it due to {cause}")
        }
        None => "Slurm canceled it".to_owned(),
    })
}

/// What a command of Slurm prints.
fn said(command: &mut Command) -> anyhow::Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| {
        format!("`{name}` cannot be started: is this a host of a Slurm cluster?")
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|one| !one.is_empty()).collect();
        bail!("`{name}` failed: {}", lines.join("; "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_executes_each_task_on_a_host_of_its_own() {
        let fanout = Fanout {
            cluster: "slurm".to_owned(),
            experiment: "mine".to_owned(),
            tasks: 8,
            blocks: 1,
            seed: 1,
            program: "/opt/db dyno/dbdyno".into(),
            options: vec!["--partition=perf".to_owned()],
            ..Fanout::default()
        };
        assert_eq!(
            script(&fanout, Path::new("/shared/%a fan")),
            "#!/bin/sh\n#SBATCH --job-name=dbdyno-mine\n#SBATCH --array=0-7\n#SBATCH --nodes=1\n\
             #SBATCH --exclusive\n#SBATCH --requeue\n#SBATCH --open-mode=append\n\
             #SBATCH --output='/shared/%%a fan/logs/%a.log'\n#SBATCH --partition=perf\n\
             unset XDG_RUNTIME_DIR\nexec '/opt/db dyno/dbdyno' task '/shared/%a fan' \
             \"$SLURM_ARRAY_TASK_ID\"\n"
        );
    }

    #[test]
    fn tasks_are_handed_in_again_by_their_numbers() {
        assert!(options(&Part::default()).is_empty());
        let part = Part { tasks: vec![3, 5], options: vec!["--exclude=n2".to_owned()] };
        assert_eq!(options(&part), ["--array=3,5", "--exclude=n2"]);
    }

    #[test]
    fn a_job_with_too_many_tasks_is_refused_with_the_remedy() {
        let check = |said: &str, expected: bool| {
            let error = with_remedy(anyhow!("`sbatch` failed: {said}")).to_string();
            assert!(error.starts_with(&format!("`sbatch` failed: {said}")), "{error}");
            assert_eq!(error.ends_with("by `--blocks-per-task`"), expected, "{error}");
        };
        check("Batch job submission failed: Invalid job array specification", true);
        check("Batch job submission failed: Invalid partition name specified", false);
    }

    #[test]
    fn a_job_of_which_nothing_is_left_has_ended() {
        let check = |said: &str, expected| assert_eq!(has_ended(&anyhow!("{said}")), expected);
        check("Kill job error on job id 12: Invalid job id specified", true);
        check("Kill job error on job id 12: Job/step already completing or completed", true);
        check("slurm_load_jobs error: Invalid job id specified", true);
        check("slurm_load_jobs error: Unable to contact slurm controller", false);
    }

    #[test]
    fn what_slurm_says_of_a_task_is_a_reason() {
        let check = |line: &str, expected: Option<&str>| {
            assert_eq!(failure(line).as_deref(), expected);
        };
        let canceled = "slurmstepd-n2: error: *** JOB 31 ON n2 CANCELLED AT 2026-11-27T23:49:28";
        check(&format!("{canceled} ***"), Some("Slurm canceled it"));
        let limit = format!("{canceled} DUE TO TIME LIMIT ***");
        check(&limit, Some("Slurm canceled it due to time limit"));
        check("slurmstepd: error: no memory", Some("no memory"));
        check("slurmstepd: info", None);
        let script = "/var/spool/slurmd/job00031/slurm_script";
        let missing = "its script on that host: 9: exec: /opt/dbdyno: not found";
        check(&format!("{script}: 9: exec: /opt/dbdyno: not found"), Some(missing));
        check("error: CANCELLED AT 3", None);
    }

    #[test]
    fn the_queue_is_not_what_a_user_chose_to_see() {
        let command = queue(&["7", "9"]);
        assert!(command.get_args().any(|word| word == "7,9"));
        let mut unset = command.get_envs().filter(|(_, value)| value.is_none());
        assert!(unset.any(|(name, _)| name == "SQUEUE_STATES"));
    }

    #[test]
    fn lines_of_the_queue_are_tasks() {
        let running = Task { number: 3, state: "running".into(), place: "n1".into() };
        assert_eq!(task("3|RUNNING|n1"), Some(running));
        let waiting = Task { number: 4, state: "pending".into(), place: "(Resources)".into() };
        assert_eq!(task(" 4|PENDING|(Resources)\n"), Some(waiting));
        assert_eq!(task("nothing"), None);
    }
}
