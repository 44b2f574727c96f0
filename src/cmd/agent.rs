//! `dbdyno agent` (hidden): reads the counters of a server on its host, spoken to on standard
//! input.

use super::Verb;
use crate::exit::{self, Code};
use clap::ArgMatches;
use std::io;

pub(super) const VERB: Verb = Verb {
    name: "agent",
    about: "Reads a server's counters on its host for a run; commands on stdin, replies on stdout",
    details: "`dbdyno run` starts it where an experiment says `attach = { agent = [...] }`. It \
              listens on no port, writes no file, gets no password, and ends when its standard \
              input is closed. Run it as root or as the user of the server: others may not see \
              which process the server is.",
    examples: &[],
    arguments: |command| command,
    run,
};

fn run(_: &ArgMatches) -> anyhow::Result<Code> {
    probe::raise_file_limit();
    let served = probe::serve(io::stdin().lock(), io::stdout().lock());
    exit::of_process(served.map_err(Into::into))
}
