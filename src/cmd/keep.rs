//! `dbdyno keep` (hidden): the parent of all servers of a run, spoken to on standard input.

use super::Verb;
use crate::exit::{self, Code};
use clap::ArgMatches;

pub(super) const VERB: Verb = Verb {
    name: "keep",
    about: "Starts and ends the servers of a run; commands on stdin, replies on stdout",
    details: "",
    examples: &[],
    arguments: |command| command,
    run,
};

fn run(_: &ArgMatches) -> anyhow::Result<Code> {
    exit::of_process(dbms::keep().map_err(Into::into))
}
