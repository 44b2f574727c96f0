//! `dbdyno drive` (hidden): a driver process, spoken to on standard input.

use super::Verb;
use crate::exit::{self, Code};
use clap::{ArgMatches, Args, FromArgMatches};
use std::fs::File;

pub(super) const VERB: Verb = Verb {
    name: "drive",
    about: "Serves one subject's connections; commands on stdin, replies on stdout",
    details: "",
    examples: &[],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Let connections work where the tasks that serve them wait, and not in between
    #[arg(long)]
    gives_way: bool,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    if Arguments::from_arg_matches(matches)?.gives_way {
        load::give_way()?;
    }
    // Its run may be killed together with the keeper, and then nobody else would end it.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // What scripts print must not get between the replies.
    let output = File::from(rustix::io::dup(std::io::stdout())?);
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    let scripts = Box::new(lua::LuaScripts::default());
    let served = load::serve(std::io::BufReader::new(std::io::stdin()), output, scripts);
    exit::of_process(served.map_err(Into::into))
}
