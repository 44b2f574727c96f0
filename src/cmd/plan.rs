//! `dbdyno plan`: what a run would do, and what it would cost; starts nothing.

use super::Verb;
use crate::{
    args::{CatalogArgs, ExperimentArgs, HostArgs},
    exit::Code,
    talk,
};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};

pub(super) const VERB: Verb = Verb { name: "plan", command, run };

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
    /// Form of the output.
    #[arg(long, value_enum, default_value_t = Form::Text)]
    format: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Text,
    Json,
}

fn command(command: Command) -> Command {
    Arguments::augment_args(command.about(
        "Prints the blocks, trials and slices in order with estimated time, disk and memory",
    ))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let catalog = arguments.catalog.open()?;
    let plan = arguments.experiment.plan(&catalog, &arguments.host.places()?)?;
    match arguments.format {
        Form::Text => talk::data(&plan::render(&plan))?,
        Form::Json => talk::data(&serde_json::to_string_pretty(&plan)?)?,
    }
    Ok(Code::Done)
}
