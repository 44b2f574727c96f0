//! One file per command, and the table of them.

mod compare;
mod doctor;
mod drive;
mod export;
mod import;
mod install;
mod keep;
mod list;
mod plan;
mod report;
mod run;
mod show;
mod up;
mod verify;

use crate::exit::Code;
use clap::{ArgMatches, Command};

/// A command: how its arguments look, and what it does.
pub(crate) struct Verb {
    /// The word on the command line.
    pub(crate) name: &'static str,
    /// Adds arguments and help.
    pub(crate) command: fn(Command) -> Command,
    /// Executes it.
    pub(crate) run: fn(&ArgMatches) -> anyhow::Result<Code>,
}

/// In the order of `dbdyno --help`. The last two are hidden: the processes that a run consists of.
pub(crate) const COMMANDS: &[Verb] = &[
    run::VERB,
    plan::VERB,
    list::VERB,
    show::VERB,
    verify::VERB,
    install::VERB,
    up::VERB,
    doctor::VERB,
    compare::VERB,
    report::VERB,
    import::VERB,
    export::VERB,
    drive::VERB,
    keep::VERB,
];

/// The whole command line.
pub(crate) fn cli() -> Command {
    let cli = Command::new("dbdyno")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Finds, proves and explains performance regressions of database engines")
        .subcommand_required(true)
        .after_help(
            "stdout is data, stderr is talk. Exit codes: 0 done, 1 a set rate was missed or there \
             is what `--fail-on` names, 2 usage or failure, 3 nothing decided under `--fail-on`, \
             130 interrupted.",
        );
    COMMANDS.iter().fold(cli, |cli, verb| cli.subcommand((verb.command)(Command::new(verb.name))))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::cli().debug_assert();
    }
}
