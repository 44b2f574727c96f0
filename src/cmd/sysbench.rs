//! `dbdyno sysbench`: a user's own script of sysbench, against a server that is up.

use super::Verb;
use crate::{exit::Code, signals, talk};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use lua::{CommandLine, Ending};
use runner::Stop;
use std::sync::{Arc, OnceLock, atomic::Ordering::Relaxed};

pub(super) const VERB: Verb = Verb {
    name: "sysbench",
    about: "Runs a user's own sysbench script against a server that is up",
    details: "Scripts run unmodified, with the options of sysbench 1.1: --mysql-socket, \
              --mysql-host, --mysql-port, --mysql-user, --mysql-db, --pgsql-host, --pgsql-port, \
              --pgsql-user, --pgsql-db, --db-driver, --db-ps-mode, --threads, --time, --events, \
              --rate, --report-interval, --percentile, --rand-type, --rand-seed and others, and \
              with those of the script, which its command `help` lists. Options have their values \
              behind `=`. Passwords are read from MYSQL_PWD and PGPASSWORD. A script may do what \
              its user may, such as start programs.",
    examples: &[
        (
            "dbdyno sysbench oltp_read_only --mysql-socket=/run/s --tables=4 prepare",
            "Creates the tables of a script of sysbench's package",
        ),
        (
            "dbdyno sysbench ./mine.lua --db-driver=pgsql --pgsql-host=/run --threads=8 run",
            "Runs a script of your own by 8 threads for 10 seconds",
        ),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Path or name of a script, options as of sysbench, and a command: prepare, run, cleanup, help
    /// or one of the script's own
    #[arg(
        value_name = "SCRIPT [--OPTION=VALUE]... COMMAND",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    words: Vec<String>,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let line = CommandLine::parse(&arguments.words)?;
    let visible = |(name, value): &(String, Option<String>)| {
        name.ends_with("_password") && value.as_ref().is_some_and(|value| !value.is_empty())
    };
    if line.options.iter().any(visible) {
        talk::say(
            "note: others on this host can read a password in a command line; MYSQL_PWD and \
             PGPASSWORD are read as well",
        );
    }
    // Each thread has a connection.
    probe::raise_file_limit();
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let unheard: Arc<OnceLock<Result<(), String>>> = Arc::default();
    let (first, flag) = (Arc::clone(&unheard), stop.flag());
    let out = move |text: &str| {
        let Err(error) = talk::heard(text) else { return };
        let told = talk::written(Err(error)).map_err(|error| error.to_string());
        // A reader that went away ends the script. Ctrl-C ends the readers of a pipe too.
        if !flag.swap(true, Relaxed) || told.is_err() {
            let _ = first.set(told);
        }
    };
    let ended = lua::run(line, stop.flag(), Box::new(out));
    if let Some(Err(why)) = unheard.get() {
        anyhow::bail!("{why}");
    }
    match ended {
        Ok(Ending::Done) => Ok(Code::Done),
        Ok(Ending::Stopped) if unheard.get().is_some() => Ok(Code::Done),
        Ok(Ending::Stopped) => Ok(Code::Interrupted),
        Err(lua::Error::Left) => {
            talk::error(&lua::Error::Left.into());
            Ok(Code::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}
