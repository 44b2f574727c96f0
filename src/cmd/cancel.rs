//! `dbdyno cancel`: ends the tasks of a fan-out.

use super::Verb;
use crate::{cluster::Fanout, exit::Code, talk};
use clap::{ArgMatches, Args, FromArgMatches};
use std::path::PathBuf;

pub(super) const VERB: Verb = Verb {
    name: "cancel",
    about: "Ends the tasks of `dbdyno submit`; complete blocks are kept",
    details: "",
    examples: &[("dbdyno cancel fan", "End all tasks")],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Folder that `dbdyno submit` wrote
    folder: PathBuf,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let fanout = Fanout::read(&arguments.folder)?;
    let job = fanout.job()?;
    (fanout.cluster()?.cancel)(job)?;
    talk::say(&format!("job {job} is canceled; `dbdyno collect` takes what is complete"));
    Ok(Code::Done)
}
