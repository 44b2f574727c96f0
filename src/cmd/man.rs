//! `dbdyno man`: manual pages.

use super::Verb;
use crate::{exit::Code, talk};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use clap_mangen::Man;

pub(super) const VERB: Verb = Verb {
    name: "man",
    about: "Prints a manual page in roff",
    details: "",
    examples: &[
        ("dbdyno man > dbdyno.1 && man ./dbdyno.1", "Read the page of dbdyno"),
        ("dbdyno man run > dbdyno-run.1 && man ./dbdyno-run.1", "Read the page of `dbdyno run`"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Command that the page describes; without one, dbdyno as a whole
    #[arg(value_name = "COMMAND", value_parser = names())]
    command: Option<String>,
}

fn names() -> Vec<&'static str> {
    super::visible().map(|verb| verb.name).collect()
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let mut cli = super::visible_cli();
    cli.build();
    let described = match arguments.command {
        None => cli,
        Some(name) => {
            let command = cli.find_subcommand(&name).cloned();
            command.with_context(|| format!("there is no command `{name}`"))?
        }
    };
    let mut page = Vec::new();
    Man::new(described).render(&mut page)?;
    talk::data(&String::from_utf8(page)?)?;
    Ok(Code::Done)
}
