//! `dbdyno report`: one HTML file of what is in a results folder.

use super::Verb;
use crate::{
    args::{AliasArgs, ChoiceArgs, ResultsArgs, RunArgs},
    choice, comparison,
    exit::Code,
    talk,
};
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use model::escape;
use report::{Colours, View};
use std::path::{Path, PathBuf};
use store::Results;

pub(super) const VERB: Verb = Verb {
    name: "report",
    about: "Writes an HTML report of the runs in a results folder",
    details: "A report needs no network to read.",
    examples: &[
        ("dbdyno report", "The latest run of each experiment"),
        ("dbdyno report 20260801T --out earlier.html", "An earlier run"),
        ("dbdyno report --base mysql-8.0.46 --out vs-8.0.html", "Another base, another file"),
        ("dbdyno report --out pages", "A page per experiment, and an index"),
        (
            "dbdyno report --variant 'my8*,my9*' --alias my8043=8.0",
            "Some variants, under short names",
        ),
        ("dbdyno report --metric foreground_user_instructions_per_op", "Instructions alone"),
        ("dbdyno report --rows workload --columns clients", "Client counts as columns"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    runs: RunArgs,
    #[command(flatten)]
    results: ResultsArgs,
    /// File to write if it ends in `.html`; otherwise a folder for a page per experiment and an
    /// index of them [default: report.html in the results folder; its folder report for several
    /// experiments]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    alias: AliasArgs,
    /// A page of these metrics alone (see `dbdyno list metrics`)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metric: Vec<String>,
    /// Compare with this variant instead of the experiment's baseline
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    /// Compare with this variant too, in columns beside those of the base
    #[arg(long, value_name = "NAME")]
    second_base: Option<String>,
    /// Keys of the table's rows: phase, workload, group, range, clients, variant, or a factor
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', default_value = "phase")]
    rows: Vec<String>,
    /// Keys of the table's columns
    #[arg(long, value_name = "KEY,…", value_delimiter = ',', default_value = "variant")]
    columns: Vec<String>,
    /// Initial colors of the table; the page has a switch
    #[arg(
        long,
        alias = "colours",
        value_enum,
        value_name = "COLORS",
        default_value_t = Palette::Diverging,
    )]
    colors: Palette,
    /// Start the bars at this ratio instead of 0, with a visible break
    #[arg(long, value_name = "RATIO", value_parser = ratio, allow_negative_numbers = true)]
    cut_bars: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Palette {
    /// Blue to orange, neutral around 1
    Diverging,
    /// Blue above 1.05, yellow below 0.95, no color between
    Published,
}

fn ratio(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=0.95).contains(value));
    value.ok_or_else(|| "a number from 0 to 0.95 is needed".to_owned())
}

/// Whether a path names one page, by its ending, and no folder. Fails for any other file that is
/// there: it is not ours to overwrite.
fn is_page(path: &Path) -> anyhow::Result<bool> {
    anyhow::ensure!(
        path != Path::new("-"),
        "`--out -` would be a folder of this name: `dbdyno compare --format html` writes the page \
         to stdout"
    );
    let is_page = path
        .extension()
        .and_then(|end| end.to_str())
        .is_some_and(|end| ["html", "htm"].iter().any(|known| end.eq_ignore_ascii_case(known)));
    anyhow::ensure!(
        is_page || path.is_dir() || !path.exists(),
        "`{}` is a file and does not end in `.html`: name a page that does, or a folder",
        path.display()
    );
    Ok(is_page && !path.is_dir())
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let results = Results::open(&arguments.results.results)?.snapshot();
    let selection = arguments.runs.selection(&results)?;
    let request = comparison::Request {
        base: arguments.base,
        second_base: arguments.second_base,
        metrics: arguments.metric,
        format: comparison::HTML.to_owned(),
        view: View {
            rows: arguments.rows,
            columns: arguments.columns,
            colours: match arguments.colors {
                Palette::Diverging => Colours::Diverging,
                Palette::Published => Colours::Published,
            },
            cut_bars: arguments.cut_bars,
            aliases: choice::aliases(&arguments.alias)?,
        },
        choice: arguments.choice.into(),
        ..comparison::Request::default()
    };
    let report = comparison::report(&results, &selection, &request)?;
    let out = match (arguments.out, report.comparisons.len()) {
        (Some(path), _) if is_page(&path)? => comparison::write_file(&report, path)?,
        (Some(folder), _) => comparison::write_pages(&report, &folder)?,
        (None, 0 | 1) => comparison::write_file(&report, comparison::report_file(&results))?,
        (None, _) => comparison::write_pages(&report, &results.dir().join("report"))?,
    };
    talk::data(&escape::terminal(&out.display().to_string()))?;
    Ok(Code::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_named_by_its_ending_and_is_not_stdout() {
        let check = |path: &str, expected: bool| {
            assert_eq!(is_page(Path::new(path)).unwrap(), expected, "{path}");
        };
        check("no-such.html", true);
        check("no-such.HTM", true);
        check("no-such", false);
        check("src", false);
        let refused = is_page(Path::new("-")).unwrap_err().to_string();
        assert!(refused.ends_with("`dbdyno compare --format html` writes the page to stdout"));
        let refused = is_page(Path::new("Cargo.toml")).unwrap_err().to_string();
        assert!(refused.contains("does not end in `.html`"), "{refused}");
    }
}
