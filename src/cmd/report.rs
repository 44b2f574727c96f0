//! `dbdyno report`: one HTML file of what is in a results folder.

use super::Verb;
use crate::{args::ResultsArgs, comparison, exit::Code, talk};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use report::{Colours, View};
use std::path::PathBuf;
use store::{Results, Selection};

pub(super) const VERB: Verb = Verb { name: "report", command, run };

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    results: ResultsArgs,
    /// File to write [default: report.html in the results folder].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Variant to compare with, instead of the experiment's baseline.
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    /// All runs in the folder, instead of the latest of each experiment.
    #[arg(long)]
    all: bool,
    /// Keys of the table's rows: phase, workload, group, range, clients, variant, or a factor.
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', default_value = "phase")]
    rows: Vec<String>,
    /// Keys of the table's columns.
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', default_value = "variant")]
    columns: Vec<String>,
    /// Colours of the table when the page is opened; the page has a switch.
    #[arg(long, value_enum, default_value_t = Palette::Diverging)]
    colours: Palette,
    /// Ratio at which bars begin, instead of 0; the break is drawn.
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    cut_bars: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Palette {
    /// Blue to orange, neutral around 1.
    Diverging,
    /// Blue above 1.05, yellow below 0.95, nothing between.
    Published,
}

fn command(command: Command) -> Command {
    Arguments::augment_args(
        command.about("Writes one HTML file that can be read offline").after_long_help(
            "Examples:\n  dbdyno report                                     the latest run of each \
             experiment\n  \
             dbdyno report --out fast.html --base mysql-8.0    another base, another file\n  \
             dbdyno report --rows workload --columns clients   curves of load as a table",
        ),
    )
}

fn ratio(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=0.95).contains(value));
    value.ok_or_else(|| "a number from 0 to 0.95 is needed".to_owned())
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let results = Results::open(&arguments.results.results)?;
    let selection = if arguments.all { Selection::All } else { Selection::LatestPerExperiment };
    let request = comparison::Request {
        base: arguments.base,
        format: comparison::HTML.to_owned(),
        view: View {
            rows: arguments.rows,
            columns: arguments.columns,
            colours: match arguments.colours {
                Palette::Diverging => Colours::Diverging,
                Palette::Published => Colours::Published,
            },
            cut_bars: arguments.cut_bars,
        },
        ..comparison::Request::default()
    };
    let out = arguments.out.unwrap_or_else(|| comparison::report_file(&results));
    comparison::write_report(&results, &selection, &request, &out)?;
    talk::data(&out.display().to_string())?;
    Ok(Code::Done)
}
