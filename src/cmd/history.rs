//! `dbdyno history`: values from run to run, and the steps in them.

use super::Verb;
use crate::{
    args::{Color, DEFAULT_RESULTS},
    comparison::{HTML, TABLE},
    count,
    exit::Code,
    gate::{self, Steps},
    history::{self, Wanted},
    outputs::{self, Author},
    talk,
};
use analysis::history::Quantity;
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use report::{
    Report,
    document::Document,
    format::{self, Format},
    history::{Extent, HistoryPage, METRICS},
};
use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};
use store::Results;

pub(super) const VERB: Verb = Verb {
    name: "history",
    about: "Shows the values of a series of runs over time, and the steps in them",
    details: "A run belongs to the series that its experiment names (`series = \"nightly\"`), or \
              to its experiment. `note = \"commit 1a2b3c\"` says what is new in a run; the table \
              `[runs]` of `notes.toml` in the results folder does so later.\n\n\
              The values of a variant move with the host. Its ratios to a base that stays the \
              same (`--of ratio`) hardly do.",
    examples: &[
        ("dbdyno run nightly.toml --set note=\"$(git rev-parse --short HEAD)\"", "One more run"),
        ("dbdyno history", "All series in the results folder"),
        ("dbdyno history nightly --out nightly.html", "A page with charts"),
        ("dbdyno history nightly --test insert --of ratio", "One test, compared with the base"),
        ("dbdyno history nightly --fail-on confirmed", "For CI: exit code 1 on a new step"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// A series, or an experiment whose runs belong to none
    #[arg(value_name = "SERIES")]
    series: Option<String>,
    /// Results folders
    #[arg(long, value_name = "DIR,…", value_delimiter = ',', default_value = DEFAULT_RESULTS)]
    results: Vec<PathBuf>,
    /// Show only these tests; `*` and `?` are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    test: Vec<String>,
    /// Show only these variants; `*` and `?` are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    variant: Vec<String>,
    /// Show these metrics (see `dbdyno list metrics`)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values = METRICS)]
    metric: Vec<String>,
    /// Which values
    #[arg(long, value_enum, value_name = "WHICH", default_value_t = Which::Value)]
    of: Which,
    /// Write an HTML page with charts to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = TABLE, value_parser = formats())]
    format: String,
    /// Exit with code 1 if one of the latest runs is where values became worse
    #[arg(long, value_enum, value_name = "STEPS")]
    fail_on: Option<Steps>,
    /// With `--fail-on`: how many runs of each series are the latest. A step is confirmed from the
    /// fifth run on
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 10,
        requires = "fail_on",
        value_parser = |text: &str| count::whole::<usize>(text, 1..=count::MOST),
        allow_negative_numbers = true,
    )]
    latest: usize,
}

/// Formats that write any document.
fn formats() -> Vec<&'static str> {
    format::FORMATS.iter().filter(|format| format.any_document).map(|format| format.name).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    /// Values of each variant
    Value,
    /// Its ratios to the base of the same run
    Ratio,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let folders: Result<Vec<Results>, store::Error> =
        arguments.results.iter().map(|dir| Ok(Results::open(dir)?.snapshot())).collect();
    let wanted = Wanted {
        name: arguments.series,
        tests: arguments.test,
        variants: arguments.variant,
        metrics: analysis::select_metrics(&arguments.metric)?,
        quantity: match arguments.of {
            Which::Value => Quantity::Value,
            Which::Ratio => Quantity::Ratio,
        },
    };
    let pages = history::pages(&folders?, &wanted)?;
    let report = Report { screen: Color::screen(matches), ..Report::default() };
    if let Some(out) = &arguments.out {
        anyhow::ensure!(
            out != Path::new("-"),
            "`--out -` would be a file of this name: `--format html` writes the page to stdout"
        );
        outputs::write_page(
            Author::History,
            out,
            &text(&report, &all(&pages, Extent::All), HTML)?,
        )?;
        talk::say(&format!("the page is {}", out.display()));
    }
    let name = arguments.format.as_str();
    let document = match name {
        HTML => all(&pages, Extent::All),
        "csv" | "tsv" => HistoryPage::values(&pages),
        _ => all(&pages, Extent::Steps),
    };
    talk::data(&text(&report, &document, name)?)?;
    let mut said = BTreeSet::new();
    let warnings = pages.iter().flat_map(|page| &page.warnings);
    for warning in warnings.filter(|warning| said.insert(*warning)) {
        talk::say(&format!("warning: {warning}"));
    }
    Ok(match arguments.fail_on {
        Some(steps) => {
            let histories: Vec<_> = pages.iter().map(|page| &page.history).collect();
            gate::steps(&histories, arguments.latest, steps)
        }
        None => Code::Done,
    })
}

/// All pages as one document.
fn all(pages: &[HistoryPage], extent: Extent) -> Document {
    let mut all = Document::default();
    for page in pages {
        all.items.extend(page.document(extent).items);
    }
    all
}

fn text(report: &Report, document: &Document, name: &str) -> anyhow::Result<String> {
    let format: &Format = format::find(name).context("no such format")?;
    Ok((format.text)(report, document))
}
