//! `dbdyno status`: how far the tasks of a fan-out are.

use super::Verb;
use crate::{
    args::FanoutArgs,
    cluster::{Cluster, Fanout, Log, Progress, Task},
    exit::Code,
    shell, talk,
};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use model::{escape::terminal, number::counted};
use std::path::Path;

pub(super) const VERB: Verb = Verb {
    name: "status",
    about: "Shows how far the tasks of `dbdyno submit` are",
    details: "Shows why tasks ended early or finished with failed slices, and how to do them \
              again. Each host has its name in the batch system and, in parentheses, its name in \
              records.",
    examples: &[("dbdyno status fan", "A line for each task")],
    arguments: FanoutArgs::augment_args,
    run,
};

/// Reasons that are said, and tasks that are named for each.
const SAID: usize = 5;

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = FanoutArgs::from_arg_matches(matches)?;
    let folder = &arguments.folder;
    let fanout = Fanout::read(folder)?;
    fanout.jobs()?;
    // What is in the folder is worth showing even if the batch system does not answer.
    let queue = fanout.queue();
    let mut lines = vec![line(["task", "state", "blocks", "host"])];
    let (mut complete, mut ends, mut is_unknown) = (0, Vec::new(), false);
    for number in 0..fanout.tasks {
        let progress = Progress::of(folder, number);
        let log = Log::of(folder, number);
        let task = queue.as_ref().ok().map(|all| all.iter().find(|task| task.number == number));
        let state = match &progress {
            Ok(progress) => State::of(progress, task, (&log, fanout.cluster()?)),
            Err(error) => State::Unreadable(format!("{error:#}")),
        };
        let progress = progress.unwrap_or_default();
        complete += progress.blocks;
        is_unknown |= state == State::Unknown;
        let blocks = format!("{} of {}", progress.blocks, fanout.blocks);
        let place = match state {
            State::Queued(task) => terminal(&task.place),
            _ => place(&log.host(), &progress.host),
        };
        lines.push(line([&number.to_string(), &state.shown(), &blocks, &place]));
        ends.extend(End::of(number, &state));
    }
    talk::data(&lines.join("\n"))?;
    reasons(&ends).iter().for_each(|sentence| talk::say(sentence));
    talk::say(&format!("{complete} of {} complete", counted(fanout.all_blocks(), "block")));
    remedies(&ends, folder).iter().for_each(|sentence| talk::say(sentence));
    if is_unknown {
        queue.context("what unfinished tasks do is unknown until the batch system answers")?;
    }
    Ok(Code::Done)
}

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State<'a> {
    Finished,
    /// It is finished, and its log has errors: slices failed.
    Failed(String),
    /// Its results are damaged.
    Unreadable(String),
    Queued(&'a Task),
    /// The batch system does not answer.
    Unknown,
    NeverBegan,
    EndedEarly(String),
}

impl<'a> State<'a> {
    /// Of a task that the batch system knows or not, or about which it does not answer.
    fn of(
        progress: &Progress,
        task: Option<Option<&'a Task>>,
        (log, cluster): (&Log, &Cluster),
    ) -> Self {
        match (progress.is_finished, task) {
            (true, _) => log.errors(cluster).map_or(Self::Finished, Self::Failed),
            (false, Some(Some(task))) => Self::Queued(task),
            (false, None) => Self::Unknown,
            (false, Some(None)) if !log.exists() => Self::NeverBegan,
            (false, Some(None)) => {
                Self::EndedEarly(log.errors(cluster).unwrap_or_else(|| log.silence()))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Finished => "finished".to_owned(),
            Self::Failed(_) => "finished with failures".to_owned(),
            Self::Unreadable(_) => "unreadable".to_owned(),
            Self::Queued(task) => terminal(&task.state),
            Self::Unknown => "unknown".to_owned(),
            Self::NeverBegan => "never began".to_owned(),
            Self::EndedEarly(_) => "ended early".to_owned(),
        }
    }
}

/// The end of a task that can be done again.
#[derive(Debug, Clone, PartialEq, Eq)]
struct End {
    number: u32,
    /// Whether there is nothing that it could go on with.
    is_over: bool,
    reason: String,
}

impl End {
    fn of(number: u32, state: &State<'_>) -> Option<Self> {
        let (is_over, reason) = match state {
            State::Failed(reason) | State::Unreadable(reason) => (true, reason.clone()),
            State::EndedEarly(reason) => (false, reason.clone()),
            State::NeverBegan => (false, NEVER_BEGAN.to_owned()),
            State::Finished | State::Queued(_) | State::Unknown => return None,
        };
        Some(Self { number, is_over, reason })
    }
}

/// Each reason once, with its tasks.
fn reasons(ends: &[End]) -> Vec<String> {
    let mut groups: Vec<(&str, Vec<u32>)> = Vec::new();
    for end in ends {
        match groups.iter_mut().find(|(reason, _)| *reason == end.reason) {
            Some((_, numbers)) => numbers.push(end.number),
            None => groups.push((&end.reason, vec![end.number])),
        }
    }
    let shown = groups.iter().take(SAID).map(|(reason, numbers)| match numbers[..] {
        [one] => format!("task {one}: {reason}"),
        _ => format!("tasks {}: {reason}", first(numbers)),
    });
    let more = groups.len().saturating_sub(SAID);
    let more = (more > 0).then(|| format!("and {}, in the logs", counted(more, "more reason")));
    shown.chain(more).collect()
}

/// `3, 5, 6 and 7 more`.
fn first(numbers: &[u32]) -> String {
    let named: Vec<String> = numbers.iter().take(SAID).map(u32::to_string).collect();
    match numbers.len().saturating_sub(SAID) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Why a task may have no log.
const NEVER_BEGAN: &str = "never began: it was canceled before, or its host cannot write its log, \
    as where the folder is on a disk of this host";

/// How tasks are done again.
fn remedies(ends: &[End], folder: &Path) -> Vec<String> {
    let folder = shell::quoted(&folder.display().to_string());
    let early = ends.iter().any(|end| !end.is_over).then(|| {
        format!("`dbdyno retry {folder}` does again what ended early, and keeps complete blocks")
    });
    let over = ends.iter().filter(|end| end.is_over).map(|end| end.number.to_string());
    let over: Vec<String> = over.collect();
    let anew = (!over.is_empty()).then(|| {
        let tasks = over.join(",");
        format!("`dbdyno retry {folder} --task {tasks}` does anew what failed or is unreadable")
    });
    early.into_iter().chain(anew).collect()
}

/// A host by its name in the batch system and that in records.
fn place(host: &str, recorded: &str) -> String {
    let [host, recorded] = [host, recorded].map(terminal);
    match (host.is_empty(), recorded.is_empty()) {
        (false, false) => format!("{host} ({recorded})"),
        _ => host + &recorded,
    }
}

fn line([task, state, blocks, host]: [&str; 4]) -> String {
    format!("{task:>5}  {state:<22}  {blocks:<8}  {host}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::CLUSTERS;

    #[test]
    fn a_task_is_finished_queued_or_ended_early() {
        let folder = tempfile::tempdir().unwrap();
        fs_err::create_dir(folder.path().join("logs")).unwrap();
        let log = |number: u32, text: &str| {
            let log = Log::of(folder.path(), number);
            fs_err::write(folder.path().join(format!("logs/{number}.log")), text).unwrap();
            log
        };
        let task = Task { number: 0, state: "running".to_owned(), place: "n2".to_owned() };
        let unfinished = Progress { blocks: 1, is_finished: false, host: "a1".to_owned() };
        let finished = Progress { is_finished: true, ..unfinished.clone() };
        let (quiet, failed) = (log(0, "fine\n"), log(1, "error: no space\n"));
        let none = Log::of(folder.path(), 2);
        let check = |progress, task, log, expected: &str| {
            assert_eq!(State::of(progress, task, (log, &CLUSTERS[0])).shown(), expected);
        };
        check(&unfinished, Some(Some(&task)), &failed, "running");
        check(&unfinished, Some(None), &failed, "ended early");
        check(&unfinished, Some(None), &none, "never began");
        check(&unfinished, None, &failed, "unknown");
        check(&finished, None, &quiet, "finished");
        check(&finished, Some(Some(&task)), &failed, "finished with failures");
        assert_eq!(place("n2", "a1"), "n2 (a1)");
        assert_eq!(place("", "a1"), "a1");
    }

    #[test]
    fn reasons_are_said_once_with_their_remedies() {
        let early = |number| End { number, is_over: false, reason: "no space".to_owned() };
        let mut ends: Vec<End> = (1..8).map(early).collect();
        ends.push(End { number: 9, is_over: true, reason: "2 slices failed".to_owned() });
        assert_eq!(
            reasons(&ends),
            ["tasks 1, 2, 3, 4, 5 and 2 more: no space", "task 9: 2 slices failed"]
        );
        let other = |number| End { reason: format!("reason {number}"), ..early(number) };
        let many = reasons(&(1..7).map(other).collect::<Vec<_>>());
        assert_eq!(many.last().unwrap(), "and 1 more reason, in the logs");
        assert_eq!(
            remedies(&ends, Path::new("a b")),
            [
                "`dbdyno retry 'a b'` does again what ended early, and keeps complete blocks",
                "`dbdyno retry 'a b' --task 9` does anew what failed or is unreadable",
            ]
        );
        assert!(remedies(&[], Path::new("fan")).is_empty());
    }
}
