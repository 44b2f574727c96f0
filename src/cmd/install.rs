//! `dbdyno install`: fetches server builds into the cache.

use super::Verb;
use crate::{args::HostArgs, exit::Code, inputs, talk};
use clap::{ArgMatches, Args, FromArgMatches};
use model::subject::Build;
use std::path::PathBuf;

pub(super) const VERB: Verb = Verb {
    name: "install",
    about: "Downloads, compiles and installs server builds",
    details: "`dbdyno run` installs what its experiment needs; this command does it ahead of time.",
    examples: &[
        ("dbdyno install mysql@5.6.24 postgres@18", "Two builds; `postgres@18` is the newest 18"),
        ("dbdyno install pgvector", "The extension of Postgres that the suite `vectors` needs"),
        ("dbdyno install sqlite@3.46.0", "Compiled from the source of its release"),
        ("dbdyno install mysql@9.7.4 --from mysql-9.7.4-linux.tar.xz", "From your own tarball"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Builds to install, such as mysql@9.7.4; a version prefix means the newest match (see `dbdyno
    /// list builds`)
    #[arg(value_name = "SERVER@VERSION", required = true)]
    builds: Vec<String>,
    /// Install the one build named from this tarball instead of downloading it
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    #[command(flatten)]
    host: HostArgs,
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
        inputs::open("--from", tarball)?;
        let mut say = |text: &str| talk::say(text);
        let installed = dbms::import_tarball(name, tarball, &places, &mut say)?;
        talk::data(&line(&installed))?;
        return Ok(Code::Done);
    }
    for name in &arguments.builds {
        let mut say = |text: &str| talk::say(text);
        if let Some(folder) = dbms::install_extension(name, &places, &mut say) {
            talk::data(&format!("{name}\t{}", folder?.display()))?;
            continue;
        }
        let resolved = dbms::resolve(&Build::named(name), &places)?;
        let installed = dbms::install(&resolved, &places, &mut |text| talk::say(text))?;
        talk::data(&line(&installed))?;
    }
    Ok(Code::Done)
}

fn line(installed: &dbms::Installed) -> String {
    format!("{}@{}\t{}", installed.server, installed.version, installed.basedir.display())
}
