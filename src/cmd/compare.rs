//! `dbdyno compare`: the table of what is in a results folder.

use super::Verb;
use crate::{
    args::{AliasArgs, ChoiceArgs, Color, ResultsArgs, RunArgs},
    choice, comparison, count,
    exit::Code,
    gate,
    noise::BankChoice,
    talk, two_runs,
};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use std::path::Path;
use store::{Results, RunInfo};

pub(super) const VERB: Verb = Verb {
    name: "compare",
    about: "Compares the variants of the runs in a results folder",
    details: "Exit codes:\n  \
              0  success\n  \
              1  a set rate was missed, or `--fail-on` found a regression\n  \
              2  wrong usage or a failure, or `--fail-on` met failed slices\n  \
              3  `--fail-on` found no regression and something undecided",
    examples: &[
        ("dbdyno compare", "The latest run of each experiment as a table"),
        ("dbdyno compare --base mysql-8.0.46 --metric latency_us_p99", "Another base, one metric"),
        ("dbdyno compare --across clients", "Many clients against few, on each server"),
        ("dbdyno compare 20260801T", "An earlier run"),
        ("dbdyno compare 20260801T 20260802T", "A run with an earlier one of the same experiment"),
        ("dbdyno compare --format json > comparison.json", "Every metric, for a program"),
        ("dbdyno compare --fail-on regression", "For CI: exit code 1 on a regression"),
    ],
    arguments,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    runs: RunArgs,
    /// Compare this run with the first one, variant by variant
    #[arg(value_name = "NEW_RUN", conflicts_with_all = ["all", "base", "archive"])]
    new: Option<String>,
    #[command(flatten)]
    results: ResultsArgs,
    /// Compare with this variant instead of the experiment's baseline
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    /// Compare the levels of this factor with each other on each server, instead of servers: number
    /// of clients, a parameter, `mode`
    #[arg(long, value_name = "FACTOR", conflicts_with_all = ["new", "insert_benchmark"])]
    across: Option<String>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    alias: AliasArgs,
    /// Show only these metrics (see `dbdyno list metrics`), or counters of servers such as
    /// `status.Innodb_rows_read`; `*` and `?` are wildcards
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metric: Vec<String>,
    /// Output format (see `dbdyno list formats`)
    #[arg(long, value_name = "FORMAT", default_value = comparison::TABLE, value_parser = formats())]
    format: String,
    /// Print the summary tables of the Insert Benchmark instead. The style `marked` shows no number
    /// for a missed target rate
    #[arg(
        long,
        value_name = "STYLE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "marked",
        value_parser = styles(),
        conflicts_with = "metric",
    )]
    insert_benchmark: Option<String>,
    /// What is known of the noise of this host: a file that `dbdyno calibrate` wrote, or `none`
    /// [default: `bank.jsonl` in the results folder, if it knows this kind of host]
    #[arg(long, value_name = "FILE")]
    bank: Option<BankChoice>,
    /// Exit with code 1 if any comparison has this verdict. Checks ops_per_second and
    /// server_cpu_us_per_op, or the metrics that `--metric` names
    #[arg(long, value_enum, value_name = "VERDICT")]
    fail_on: Option<FailOn>,
    /// With `--fail-on`: exit with code 0 although up to COUNT comparisons are undecided
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 0,
        requires = "fail_on",
        hide_default_value = true,
        value_parser = |text: &str| count::whole::<usize>(text, 0..=count::MOST),
        allow_negative_numbers = true,
    )]
    allow_undecided: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Regression,
}

fn arguments(command: Command) -> Command {
    Arguments::augment_args(command).mut_arg("all", |all| {
        all.help(
            "Include all runs in the folder, not only the latest of each experiment. Runs of one \
             plan, on equal servers and hosts, are pooled as blocks of one comparison; any other \
             stands by itself",
        )
    })
}

fn formats() -> Vec<&'static str> {
    report::format::FORMATS.iter().map(|format| format.name).collect()
}

fn styles() -> Vec<&'static str> {
    analysis::style::STYLES.iter().map(|style| style.name).collect()
}

/// Refuses a file or folder in the place of a run; a run may be called as something that lies here.
fn check_no_file<'a>(
    mut named: impl Iterator<Item = &'a String>,
    known: &[RunInfo],
) -> anyhow::Result<()> {
    let is_file = |name: &&String| Path::new(name).exists() && two_runs::find(known, name).is_err();
    let Some(file) = named.find(is_file) else { return Ok(()) };
    anyhow::bail!(
        "`{file}` is a file or folder, not a run: import it with what it is to be compared with, \
         as in `dbdyno import {file} OTHER`, then `dbdyno compare`"
    )
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let results = Results::open(&arguments.results.results).map(Results::snapshot);
    let known = results.as_ref().ok().and_then(|results| results.runs().ok()).unwrap_or_default();
    check_no_file(arguments.runs.run.iter().chain(&arguments.new), &known)?;
    let results = results?;
    let request = comparison::Request {
        base: arguments.base,
        across: arguments.across,
        second_base: None,
        metrics: arguments.metric,
        format: arguments.format,
        view: report::View { aliases: choice::aliases(&arguments.alias)?, ..Default::default() },
        choice: arguments.choice.into(),
        screen: Color::screen(matches),
        bank: arguments.bank.unwrap_or_default(),
    };
    let report = match (&arguments.runs.run, &arguments.new) {
        (Some(base), Some(new)) => comparison::report_of_runs(&results, base, new, &request)?,
        _ => comparison::report(&results, &arguments.runs.selection(&results)?, &request)?,
    };
    let rendered = match &arguments.insert_benchmark {
        Some(style) => report::render_insert_benchmark(&report, style, &request.format)?,
        None => report::rendered(&report, &request.format)?,
    };
    talk::rendered(&rendered)?;
    let mut columns = report.comparisons.iter().flat_map(analysis::phase_columns);
    let mut judged = || columns.any(|c| c.cells.iter().any(|cell| cell.missed().is_some()));
    // Tables that do not judge show no cell as missed, and archives have no marks of their own.
    let missed = report.comparisons.iter().any(analysis::Comparison::has_missed)
        || arguments.insert_benchmark.is_some() && judged();
    // It names what it finds, also where a missed rate decides.
    let found = match arguments.fail_on {
        None => Code::Done,
        Some(FailOn::Regression) => {
            gate::regressions(&report, &request.metrics, arguments.allow_undecided)
        }
    };
    Ok(if missed { Code::Missed } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_no_file_though_one_is_called_like_it() {
        let named = ["src".to_owned()];
        let check = |id: &str| {
            let known = [RunInfo { id: id.to_owned(), ..RunInfo::default() }];
            check_no_file(named.iter(), &known).map_err(|error| error.to_string())
        };
        assert_eq!(check("src-1"), Ok(()));
        assert!(check("other").unwrap_err().starts_with("`src` is a file or folder, not a run"));
    }
}
