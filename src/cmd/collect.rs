//! `dbdyno collect`: the records of a fan-out, in one results folder.

use super::Verb;
use crate::{
    args::{FanoutArgs, ResultsArgs},
    cluster::{Attempt, Fanout},
    exit::Code,
    shell, talk,
};
use clap::{ArgMatches, Args, FromArgMatches};
use model::number::counted;
use store::{Results, Taken};

pub(super) const VERB: Verb = Verb {
    name: "collect",
    about: "Takes the records of `dbdyno submit` into a results folder",
    details: "Copies what is complete and not there yet, so that it may be repeated while tasks \
              run. `dbdyno compare --all` then compares the blocks of all tasks as one run, and \
              says where hosts disagree.",
    examples: &[("dbdyno collect fan --results lab", "Then `dbdyno compare --all --results lab`")],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    fanout: FanoutArgs,
    #[command(flatten)]
    results: ResultsArgs,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let folder = &arguments.fanout.folder;
    let fanout = Fanout::read(folder)?;
    let results = Results::open_or_create(&arguments.results.results)?;
    let (mut taken, mut complete, mut unreadable) = (Taken::default(), 0, None);
    for task in 0..fanout.tasks {
        let read = || -> anyhow::Result<Option<(usize, Attempt)>> {
            let attempt = Attempt::of(folder, task)?;
            attempt.map(|attempt| Ok((attempt.progress()?.blocks, attempt))).transpose()
        };
        match read() {
            Ok(None) => {}
            Ok(Some((blocks, attempt))) => {
                complete += blocks;
                taken += results.take(&attempt.results)?;
            }
            Err(error) => unreadable = unreadable.or(Some((task, error))),
        }
    }
    let all = counted(fanout.all_blocks(), "block");
    let shown = shell::quoted(&arguments.results.results.display().to_string());
    talk::say(&format!(
        "{complete} of {all} complete; new here: {} and {}; compare them by `dbdyno \
         compare --all --results {shown}`",
        counted(taken.runs, "run"),
        counted(taken.trials, "record"),
    ));
    if let Some((task, error)) = unreadable {
        let folder = shell::quoted(&folder.display().to_string());
        return Err(error.context(format!(
            "task {task} cannot be read, and the others were collected; `dbdyno retry {folder} \
             --task {task}` does it anew"
        )));
    }
    Ok(Code::Done)
}
