//! `dbdyno cancel`: ends the tasks of a fan-out.

use super::Verb;
use crate::{args::FanoutArgs, cluster::Fanout, exit::Code, shell, talk};
use clap::{ArgMatches, Args, FromArgMatches};
use model::number::counted;

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
    let jobs = fanout.jobs()?;
    let folder = shell::quoted(&arguments.folder.display().to_string());
    let left = fanout.queue()?.len();
    let (named, verb) = match jobs[..] {
        [job] => (format!("job {job}"), "is"),
        _ => (format!("jobs {}", jobs.join(", ")), "are"),
    };
    if left == 0 {
        talk::say(&format!("no task of {named} is left: nothing is canceled"));
        return Ok(Code::Done);
    }
    (fanout.cluster()?.cancel)(&jobs)?;
    talk::say(&format!(
        "{named} {verb} canceled with {}; `dbdyno collect {folder}` takes what is complete, \
         `dbdyno retry {folder}` does the rest",
        counted(left, "task"),
    ));
    Ok(Code::Done)
}
