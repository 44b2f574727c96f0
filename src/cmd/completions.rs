//! `dbdyno completions SHELL`: a completion script for a shell.

use super::Verb;
use crate::{exit::Code, talk};
use ::plan::Catalog;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum, builder::PossibleValuesParser};
use clap_complete::aot::{Bash, Fish, Generator, Zsh};

pub(super) const VERB: Verb = Verb {
    name: "completions",
    about: "Prints the completion script for a shell",
    details: "",
    examples: &[
        (
            "dbdyno completions bash > ~/.local/share/bash-completion/completions/dbdyno",
            "Complete commands and options in bash",
        ),
        (
            "dbdyno completions zsh > \"${fpath[1]}/_dbdyno\"",
            "The same in zsh, in a folder of `fpath` that you can write to",
        ),
        ("dbdyno completions fish > ~/.config/fish/completions/dbdyno.fish", "The same in fish"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// Shell that reads the script
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let script = match Arguments::from_arg_matches(matches)?.shell {
        Shell::Bash => script(&Bash)?,
        Shell::Zsh => script(&Zsh)?,
        Shell::Fish => script(&Fish)?,
    };
    talk::data(&script)?;
    Ok(Code::Done)
}

/// The script without the hidden commands, which nobody types.
fn script(shell: &impl Generator) -> anyhow::Result<String> {
    let mut cli = with_experiments(super::visible_cli())?;
    cli.set_bin_name("dbdyno");
    cli.build();
    let mut bytes = Vec::new();
    shell.try_generate(&cli, &mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}

/// The command line whose commands offer the shipped experiments; the shell adds files.
fn with_experiments(cli: Command) -> anyhow::Result<Command> {
    let shipped = Catalog::embedded()?.experiments()?;
    // The parser keeps names as long as the program lives.
    let names: Vec<&'static str> =
        shipped.into_iter().map(|experiment| &*experiment.name.leak()).collect();
    Ok(cli.mut_subcommands(|command| {
        let takes = command.get_arguments().any(|argument| argument.get_id() == "experiment");
        match takes {
            true => command.mut_arg("experiment", |argument| {
                argument.value_parser(PossibleValuesParser::new(names.clone()))
            }),
            false => command,
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_offers_the_shipped_experiments() {
        for text in [script(&Bash), script(&Zsh)] {
            assert!(text.unwrap().contains("mysql-5.6-vs-9"));
        }
    }
}
