//! `dbdyno task`: one task of a fan-out, which a batch system starts.

use super::Verb;
use crate::{
    cluster::{Fanout, Log},
    exit::Code,
    talk,
};
use clap::{ArgMatches, Args, FromArgMatches};
use std::{os::unix::process::CommandExt, path::PathBuf, process::Command};

pub(super) const VERB: Verb = Verb {
    name: "task",
    about: "Executes one task of `dbdyno submit`",
    details: "",
    examples: &[],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Folder of the fan-out
    folder: PathBuf,
    /// Number of the task, from 0 on
    number: u32,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let fanout = Fanout::read(&arguments.folder)?;
    // What has ended begins no attempt: the errors of the last one stay in its log's end.
    let words = fanout.words_of(&arguments.folder, arguments.number).transpose();
    let Some(words) = words else {
        talk::say("this task has ended already");
        return Ok(Code::Done);
    };
    Log::of(&arguments.folder, arguments.number).begin(fanout.cluster()?);
    // The run takes this process over, so that signals of the batch system reach it.
    Err(Command::new(&fanout.program).args(words?).exec().into())
}
