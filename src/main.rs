//! dbdyno measures database servers and compares them. ARCHITECTURE.md describes its crates.

#![forbid(unsafe_code)]

mod across;
mod args;
mod best;
mod bisect;
mod budget;
mod choice;
mod cluster;
mod cmd;
mod comparison;
mod count;
mod credentials;
mod details;
mod doctor;
mod exit;
mod feasible;
mod gaps;
mod gate;
mod history;
mod idle;
mod imports;
mod inputs;
mod measured;
mod noise;
mod outputs;
mod pooled;
mod progress;
mod referee;
mod replaced;
mod resumption;
mod server_state;
mod shell;
mod signals;
mod sizes;
mod talk;
mod trust;
mod two_runs;
mod versions;

use std::process::ExitCode;

fn main() -> ExitCode {
    let matches = match cmd::cli().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            return exit::usage(&cmd::explained(error, &words.collect::<Vec<_>>()));
        }
    };
    let Some((name, arguments)) = matches.subcommand() else {
        return exit::usage(&cmd::said(
            clap::error::ErrorKind::MissingSubcommand,
            "a command is missing: try `dbdyno run`, or `dbdyno --help`".to_owned(),
        ));
    };
    exit::code(
        cmd::find(name).map_or_else(|| Ok(exit::Code::Failed), |command| (command.run)(arguments)),
    )
}
