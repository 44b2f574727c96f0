//! `dbdyno install`: fetches server builds into the cache.

use super::Verb;
use crate::{args::HostArgs, exit::Code, talk, versions};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use std::path::PathBuf;

pub(super) const VERB: Verb = Verb { name: "install", command, run };

#[derive(Debug, Args)]
struct Arguments {
    /// Builds as SERVER@VERSION; a prefix of a version takes the newest.
    #[arg(value_name = "SERVER@VERSION", required = true)]
    builds: Vec<String>,
    /// A tarball that you already have, for the one build that is named.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    host: HostArgs,
}

fn command(command: Command) -> Command {
    Arguments::augment_args(command.about("Fetches server builds into the cache"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let places = arguments.host.places()?;
    if let Some(tarball) = &arguments.from {
        let [name] = arguments.builds.as_slice() else {
            anyhow::bail!(
                "`--from` goes with one SERVER@VERSION, not with {}",
                arguments.builds.len()
            );
        };
        let installed = dbms::import_tarball(name, tarball, &places)?;
        talk::data(&line(&installed))?;
        return Ok(Code::Done);
    }
    for name in &arguments.builds {
        let (server, version) = name.split_once('@').unwrap_or((name, ""));
        let build = versions::build(server, version);
        let resolved = dbms::resolve(&build, &places)?;
        let installed = dbms::install(&resolved, &places, &mut |text| talk::say(text))?;
        talk::data(&line(&installed))?;
    }
    Ok(Code::Done)
}

fn line(installed: &dbms::Installed) -> String {
    format!("{}@{}\t{}", installed.server, installed.version, installed.basedir.display())
}
