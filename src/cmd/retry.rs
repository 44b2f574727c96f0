//! `dbdyno retry`: tasks of a fan-out once more.

use super::Verb;
use crate::{
    args::FanoutArgs,
    cluster::{Fanout, Part, Progress, set_aside},
    exit::Code,
    shell, talk,
};
use clap::{ArgMatches, Args, FromArgMatches};
use model::number::counted;
use std::path::Path;

pub(super) const VERB: Verb = Verb {
    name: "retry",
    about: "Submits again the tasks of `dbdyno submit` that ended early",
    details: "Each goes on where it ended: complete blocks are kept. Tasks that wait or run are \
              left alone.\n\n\
              A finished task with failed slices is done again if `--task` names it: from \
              its first block on, its earlier results are moved aside. If they were collected \
              before, collect into a new results folder.",
    examples: &[
        ("dbdyno retry fan", "What ended early, where it ended"),
        ("dbdyno retry fan --option=--exclude=n2", "The same, but not on the host n2"),
        ("dbdyno retry fan --task 3,5", "Two tasks with failed slices, from the start"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    fanout: FanoutArgs,
    /// Only these tasks; those that are finished or cannot be read are done anew
    #[arg(long, value_name = "NUMBER,…", value_delimiter = ',')]
    task: Vec<u32>,
    /// A further option of the batch system, such as `--option=--exclude=n2`; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    option: Vec<String>,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let folder = std::path::absolute(&arguments.fanout.folder)?;
    let (mut fanout, _turn) = Fanout::read_alone(&arguments.fanout.folder)?;
    let tasks = chosen(&fanout, &folder, &arguments.task)?;
    let shown = shell::quoted(&arguments.fanout.folder.display().to_string());
    if tasks.is_empty() {
        talk::say(&format!("no task ended early: `dbdyno status {shown}` shows what they do"));
        return Ok(Code::Done);
    }
    let part = Part { tasks, options: arguments.option };
    let job = match arguments.task.is_empty() {
        true => fanout.submit_again(&folder, &part)?,
        false => anew(&mut fanout, &folder, &part)?,
    };
    let count = counted(part.tasks.len(), "task");
    talk::say(&format!(
        "{count} submitted as job {job}; `dbdyno status {shown}` shows how far it is"
    ));
    Ok(Code::Done)
}

/// The tasks that neither wait nor run, and are named or else unfinished.
fn chosen(fanout: &Fanout, folder: &Path, named: &[u32]) -> anyhow::Result<Vec<u32>> {
    let queue = fanout.queue()?;
    let is_queued = |number: u32| queue.iter().any(|task| task.number == number);
    for number in named {
        anyhow::ensure!(
            *number < fanout.tasks,
            "there is no task {number}: the last one is {}",
            fanout.tasks.saturating_sub(1)
        );
        anyhow::ensure!(
            !is_queued(*number),
            "task {number} waits or runs already: `scancel` it first, or wait for its end"
        );
    }
    let mut tasks = Vec::new();
    for number in 0..fanout.tasks {
        let wanted = match named {
            [] => !is_queued(number) && !is_over(folder, number),
            _ => named.contains(&number),
        };
        tasks.extend(wanted.then_some(number));
    }
    Ok(tasks)
}

/// Hands tasks in, those that are over from their first block on. Their earlier results come back
/// where that fails.
fn anew(fanout: &mut Fanout, folder: &Path, part: &Part) -> anyhow::Result<String> {
    let mut moved = Vec::new();
    let all_moved = part.tasks.iter().try_for_each(|number| -> anyhow::Result<()> {
        if is_over(folder, *number) {
            moved.extend(set_aside(folder, *number)?);
        }
        Ok(())
    });
    let job = all_moved.and_then(|()| fanout.submit_again(folder, part));
    if job.is_err() {
        for earlier in &moved {
            fs_err::rename(earlier, earlier.with_extension(""))?;
        }
    }
    job
}

/// Whether a task is done anew, if at all: it has ended, or its results cannot be read.
fn is_over(folder: &Path, task: u32) -> bool {
    Progress::of(folder, task).map_or(true, |progress| progress.is_finished)
}
