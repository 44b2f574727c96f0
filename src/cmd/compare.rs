//! `dbdyno compare`: the table of what is in a results folder.

use super::Verb;
use crate::{
    args::{AliasArgs, ChoiceArgs, Color, ResultsArgs},
    choice, comparison,
    exit::Code,
    talk,
};
use analysis::{Cell, PhaseResult, Verdict};
use clap::{ArgMatches, Args, FromArgMatches, ValueEnum};
use store::{Results, Selection};

pub(super) const VERB: Verb = Verb {
    name: "compare",
    about: "Compares the variants of the runs in a results folder",
    details: "Exit codes:\n  \
              0  success\n  \
              1  a set rate was missed, or `--fail-on` found a regression\n  \
              2  wrong usage or a failure, or `--fail-on` met failed slices\n  \
              3  `--fail-on` found nothing decided",
    examples: &[
        ("dbdyno compare", "The latest run of each experiment as a table"),
        ("dbdyno compare --base mysql-8.0.46 --metric latency_us_p99", "Another base, one metric"),
        ("dbdyno compare --format json > comparison.json", "Every metric, for a program"),
        ("dbdyno compare --fail-on regression", "For CI: exit code 1 on a regression"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    results: ResultsArgs,
    /// Compare with this variant instead of the experiment's baseline
    #[arg(long, value_name = "NAME")]
    base: Option<String>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    alias: AliasArgs,
    /// Show only these metrics (see `dbdyno list metrics`)
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
        default_missing_value = "marked",
        value_parser = styles(),
    )]
    insert_benchmark: Option<String>,
    /// Include all runs in the folder, not only the latest of each experiment
    #[arg(long)]
    all: bool,
    /// Exit with code 1 if any comparison has this verdict. Checks ops_per_second and
    /// server_cpu_us_per_op, or the metrics that `--metric` names
    #[arg(long, value_enum, value_name = "VERDICT")]
    fail_on: Option<FailOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Regression,
}

fn formats() -> Vec<&'static str> {
    report::format::FORMATS.iter().map(|format| format.name()).collect()
}

fn styles() -> Vec<&'static str> {
    analysis::style::STYLES.iter().map(|style| style.name()).collect()
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let results = Results::open(&arguments.results.results)?;
    let selection = if arguments.all { Selection::All } else { Selection::LatestPerExperiment };
    let request = comparison::Request {
        base: arguments.base,
        second_base: None,
        metrics: arguments.metric,
        format: arguments.format,
        view: report::View { aliases: choice::aliases(&arguments.alias)?, ..Default::default() },
        choice: arguments.choice.into(),
        screen: Color::screen(matches),
    };
    let report = comparison::report(&results, &selection, &request)?;
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
    Ok(match arguments.fail_on {
        _ if missed => Code::Missed,
        None => Code::Done,
        Some(FailOn::Regression) => regressions(&report),
    })
}

/// Whether any cell that is looked at has become worse; says why it is not known, if it is not.
fn regressions<'a>(report: &'a report::Report) -> Code {
    let phases = report.comparisons.iter().flat_map(|comparison| &comparison.phases);
    let judged = |cell: &Cell| match report.metrics.as_slice() {
        [] => JUDGED.contains(&cell.metric.name),
        asked => asked.iter().any(|metric| metric.name == cell.metric.name),
    };
    let compared = |cell: &Cell| cell.base.is_some();
    let of = |phase: &'a PhaseResult| phase.cells.iter().map(|cell| (phase.phase.as_str(), cell));
    let cells: Vec<(&str, &Cell)> =
        phases.flat_map(of).filter(|(_, cell)| judged(cell) && compared(cell)).collect();
    let code = decided(cells.iter().map(|(_, cell)| cell.verdict.name()));
    match code {
        Code::Undecided if cells.is_empty() => {
            talk::say("nothing is compared in the metrics that `--fail-on` looks at");
        }
        Code::Undecided => talk::say(
            "nothing is decided: `unreplicated` means one block, `inconclusive` too few blocks \
             for their noise, and `unassessed` a metric without a verdict",
        ),
        Code::Failed => {
            let broken = cells.iter().filter(|(_, cell)| cell.verdict == Verdict::Invalid).count();
            let failed = cells.iter().filter(|(_, cell)| cell.failed().is_some()).count();
            talk::say(&format!(
                "of {} cells {} failed and {} have no value or no base: whether they became worse \
                 is not known",
                cells.len(),
                failed,
                broken - failed,
            ));
        }
        Code::Missed => culprits(&cells),
        _ => {}
    }
    code
}

/// Regressions that stderr names.
const NAMED: usize = 20;

/// Says which cells became worse, with the ratio and its interval.
fn culprits(cells: &[(&str, &Cell)]) {
    let worse: Vec<_> = cells.iter().filter(|(_, cell)| is_worse(cell.verdict.name())).collect();
    for (phase, cell) in worse.iter().take(NAMED) {
        talk::say(&culprit(phase, cell));
    }
    if worse.len() > NAMED {
        talk::say(&format!("regression: and {} more", worse.len() - NAMED));
    }
}

/// The metrics that `--fail-on` looks at if none are asked for: what users notice, and what a
/// server's work costs where the host is shared.
const JUDGED: [&str; 2] = ["ops_per_second", "server_cpu_us_per_op"];

fn culprit(phase: &str, cell: &Cell) -> String {
    let ratio = cell.ratio.map(|ratio| format!(" {ratio:.3}x")).unwrap_or_default();
    let interval = cell.interval.map(|(low, high)| format!(" [{low:.3}, {high:.3}]"));
    let base = cell.base.as_deref().unwrap_or_default();
    format!(
        "regression: {} {phase}: {}{ratio}{} of {base}",
        cell.subject,
        cell.metric.name,
        interval.unwrap_or_default()
    )
}

fn is_worse(verdict: &str) -> bool {
    matches!(verdict, "regression" | "code_cost")
}

/// What verdicts say together: one cell that became worse is enough; what failed is no all-clear,
/// nor is a comparison in which nothing is decided. Instructions are looked at if they are asked
/// for, and then more of them are a regression too.
fn decided<'a>(verdicts: impl Iterator<Item = &'a str>) -> Code {
    let (mut found, mut broken) = (Code::Undecided, false);
    for verdict in verdicts {
        match verdict {
            worse if is_worse(worse) => return Code::Missed,
            "improvement" | "equivalent" => found = Code::Done,
            "invalid" => broken = true,
            _ => {}
        }
    }
    if broken { Code::Failed } else { found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_culprit_is_named_with_its_ratio_and_interval() {
        let mut cell = Cell {
            subject: "mysql-9.7.4".into(),
            base: Some("mysql-5.6.24".into()),
            factors: Default::default(),
            metric: analysis::select_metrics(&["ops_per_second".to_owned()]).unwrap()[0],
            base_value: Some(1000.0),
            value: Some(640.0),
            by_block: Vec::new(),
            ratio: Some(0.64),
            block_ratios: Vec::new(),
            interval: Some((0.62, 0.66)),
            blocks: 5,
            verdict: Verdict::Regression,
            reason: None,
            marks: Vec::new(),
        };
        let start = "regression: mysql-9.7.4 point-query: ops_per_second";
        let full = format!("{start} 0.640x [0.620, 0.660] of mysql-5.6.24");
        assert_eq!(culprit("point-query", &cell), full);
        cell.interval = None;
        assert_eq!(culprit("point-query", &cell), format!("{start} 0.640x of mysql-5.6.24"));
    }

    #[test]
    fn one_regression_is_enough_and_undecided_verdicts_are_no_all_clear() {
        let check = |verdicts: &[&str], expected: Code| {
            assert_eq!(decided(verdicts.iter().copied()), expected, "{verdicts:?}");
        };
        check(&["base", "equivalent", "regression", "inconclusive"], Code::Missed);
        check(&["base", "equivalent", "inconclusive"], Code::Done);
        check(&["base", "improvement"], Code::Done);
        check(&["base", "unreplicated", "unassessed", "inconclusive"], Code::Undecided);
        check(&["equivalent", "code_cost"], Code::Missed);
        check(&["equivalent", "invalid"], Code::Failed);
        check(&["regression", "invalid"], Code::Missed);
        check(&[], Code::Undecided);
    }
}
