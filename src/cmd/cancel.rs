//! `dbdyno cancel`: ends the tasks of a fan-out.

use super::Verb;
use crate::{args::FanoutArgs, cluster::Fanout, exit::Code, talk};
use clap::{ArgMatches, Args, FromArgMatches};

pub(super) const VERB: Verb = Verb {
    name: "cancel",
    about: "Ends the tasks of `dbdyno submit`; complete blocks are kept",
    details: "",
    examples: &[("dbdyno cancel fan", "End all tasks")],
    arguments: FanoutArgs::augment_args,
    run,
};

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = FanoutArgs::from_arg_matches(matches)?;
    let fanout = Fanout::read(&arguments.folder)?;
    let job = fanout.job()?;
    (fanout.cluster()?.cancel)(job)?;
    talk::say(&format!("job {job} is canceled; `dbdyno collect` takes what is complete"));
    Ok(Code::Done)
}
