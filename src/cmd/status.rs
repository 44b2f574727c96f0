//! `dbdyno status`: how far the tasks of a fan-out are.

use super::Verb;
use crate::{
    args::FanoutArgs,
    cluster::{Attempt, Fanout, Progress, Task},
    exit::Code,
    talk,
};
use clap::{ArgMatches, Args, FromArgMatches};
use model::escape::terminal;

pub(super) const VERB: Verb = Verb {
    name: "status",
    about: "Shows how far the tasks of `dbdyno submit` are",
    details: "",
    examples: &[("dbdyno status fan", "A line for each task")],
    arguments: FanoutArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = FanoutArgs::from_arg_matches(matches)?;
    let fanout = Fanout::read(&arguments.folder)?;
    let running = (fanout.cluster()?.tasks)(fanout.job()?)?;
    let mut lines = vec![line(["task", "state", "blocks", "host"])];
    let mut complete = 0;
    for number in 0..fanout.tasks {
        let attempt = Attempt::of(&arguments.folder, number)?;
        let progress = attempt.map_or(Ok(Progress::default()), |attempt| attempt.progress())?;
        let task = running.iter().find(|task| task.number == number);
        complete += progress.blocks;
        let blocks = format!("{} of {}", progress.blocks, fanout.blocks);
        let (state, place) = state(&progress, task);
        lines.push(line([&number.to_string(), &state, &blocks, &place]));
    }
    talk::data(&lines.join("\n"))?;
    talk::say(&format!("{complete} of {} blocks complete", fanout.all_blocks()));
    Ok(Code::Done)
}

/// What a task does, and where.
fn state(progress: &Progress, task: Option<&Task>) -> (String, String) {
    let state = match (progress.is_finished, task) {
        (true, _) => "finished".to_owned(),
        (false, Some(task)) => return (terminal(&task.state), terminal(&task.place)),
        (false, None) => "ended early, see its log".to_owned(),
    };
    (state, terminal(&progress.host))
}

fn line([task, state, blocks, host]: [&str; 4]) -> String {
    format!("{task:>5}  {state:<24}  {blocks:<8}  {host}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_finished_running_or_lost() {
        let progress = Progress { blocks: 1, is_finished: false, host: "n1".to_owned() };
        let task = Task { number: 0, state: "running".to_owned(), place: "n2".to_owned() };
        let check = |progress: &Progress, task: Option<&Task>, expected: (&str, &str)| {
            let (state, place) = state(progress, task);
            assert_eq!((state.as_str(), place.as_str()), expected);
        };
        check(&progress, Some(&task), ("running", "n2"));
        check(&progress, None, ("ended early, see its log", "n1"));
        let finished = Progress { is_finished: true, ..progress };
        check(&finished, Some(&task), ("finished", "n1"));
    }
}
