//! `dbdyno compare`: the table of what is in a results folder.

use super::Verb;
use crate::{args::ResultsArgs, comparison, exit::Code, talk};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use store::{Results, Selection};

pub(super) const VERB: Verb = Verb { name: "compare", command, run };

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    results: ResultsArgs,
    /// Variant to compare with, instead of the experiment's baseline.
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    /// Only these metrics, separated by commas (`dbdyno list metrics`).
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metric: Vec<String>,
    /// Form of the output: a name of `dbdyno list formats`.
    #[arg(long, default_value = comparison::TABLE)]
    format: String,
    /// All runs in the folder, instead of the latest of each experiment.
    #[arg(long)]
    all: bool,
}

fn command(command: Command) -> Command {
    Arguments::augment_args(command.about("Compares what the results folder holds"))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let results = Results::open(&arguments.results.results)?;
    let selection = if arguments.all { Selection::All } else { Selection::LatestPerExperiment };
    let request = comparison::Request {
        base: arguments.base,
        metrics: arguments.metric,
        format: arguments.format,
        ..comparison::Request::default()
    };
    talk::data(&comparison::rendered(&results, &selection, &request)?)?;
    Ok(Code::Done)
}
