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

/// The argument that is the name of a shipped experiment or a file.
const EXPERIMENT: &str = "experiment";

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
    talk::data(&complete(Arguments::from_arg_matches(matches)?.shell)?)?;
    Ok(Code::Done)
}

/// A script that offers the shipped experiments and files where an experiment is meant. The one of
/// bash offers files wherever nothing else fits.
fn complete(shell: Shell) -> anyhow::Result<String> {
    // The parser keeps names as long as the program lives.
    let shipped = Catalog::embedded()?.experiments()?.into_iter();
    let names: Vec<&'static str> = shipped.map(|experiment| &*experiment.name.leak()).collect();
    let cli = with_experiments(super::visible_cli(), &names);
    let list = names.join(" ");
    Ok(match shell {
        Shell::Bash => script(cli, &Bash)?,
        Shell::Zsh => {
            let both =
                format!("{{_alternative \"names:experiment:({list})\" \"files:file:_files\"}}");
            script(cli, &Zsh)?.replace(&format!(":({list})"), &format!(":{both}"))
        }
        Shell::Fish => {
            let takers = cli.get_subcommands().filter(|command| takes_experiment(command));
            let line = |command: &Command| {
                let name = command.get_name();
                format!(
                    "complete -c dbdyno -n \"__fish_seen_subcommand_from {name}\" -a \
                     \"{list}\"\n"
                )
            };
            let lines: String = takers.map(line).collect();
            script(cli, &Fish)? + &lines
        }
    })
}

/// The script without the hidden commands, which nobody types.
fn script(mut cli: Command, shell: &impl Generator) -> anyhow::Result<String> {
    cli.set_bin_name("dbdyno");
    cli.build();
    let mut bytes = Vec::new();
    shell.try_generate(&cli, &mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}

/// The command line whose commands offer the shipped experiments.
fn with_experiments(cli: Command, names: &[&'static str]) -> Command {
    cli.mut_subcommands(|command| match takes_experiment(&command) {
        true => command.mut_arg(EXPERIMENT, |argument| {
            argument.value_parser(PossibleValuesParser::new(names.to_vec()))
        }),
        false => command,
    })
}

fn takes_experiment(command: &Command) -> bool {
    command.get_arguments().any(|argument| argument.get_id() == EXPERIMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_offers_the_shipped_experiments_and_files() {
        let check = |shell, files: &str| {
            let text = complete(shell).unwrap();
            let lines: Vec<&str> = text.lines().filter(|l| l.contains("mysql-5.6-vs-9")).collect();
            assert!(lines.len() >= 4, "run, plan, doctor, verify: {lines:?}");
            assert!(text.contains(files), "{text}");
            lines.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        check(Shell::Bash, "-o default");
        let zsh = check(Shell::Zsh, "_files");
        let both = |line: &String| line.contains(" verify verify-all)\" \"files:");
        assert!(zsh.iter().all(both), "{zsh:?}");
        let fish = check(Shell::Fish, "-a \"allocators ");
        assert!(!fish.iter().any(|line| line.contains(" -f ")), "no files: {fish:?}");
    }
}
