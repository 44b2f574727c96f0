//! `dbdyno run`: plan, install, start, load, measure, record, compare, report.

use super::Verb;
use crate::{
    args::{Color, CountsArgs, ExperimentArgs, MeasuringArgs, QUICKSTART, Unset, VariantArgs},
    budget, comparison, count, credentials,
    exit::Code,
    progress::{Reports, Terminal},
    referee::Referee,
    resumption, signals, talk, trust,
    versions::HostVersions,
};
use analysis::explained::Explained;
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use model::{margins::Quantity, number::counted, plan::Plan, record::SliceState, secret};
use plan::Catalog;
use report::{document::Document, explained};
use runner::{DataFolders, Ending, ExplainChanges, Options, Outcome, Resume, Stop};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use store::{Results, RunInfo, Selection, StoredSlice};

pub(super) const VERB: Verb = Verb {
    name: "run",
    about: "Runs an experiment and prints the comparison",
    details: "Installs the servers, loads the data, starts every server anew in each block, \
              measures the workloads in turns, and records everything in the results folder, with \
              an HTML report. `dbdyno plan` estimates how long it takes.\n\n\
              Exit codes:\n  \
              0    success\n  \
              1    a set rate was missed\n  \
              2    wrong usage, a failure, or a failed slice\n  \
              130  interrupted; results so far are kept",
    examples: &[
        ("dbdyno run", "The quickstart, on the embedded SQLite"),
        ("dbdyno run mysql-5.6-vs-9", "A shipped experiment"),
        ("dbdyno run mine.toml --set rows=100000", "Your own file with one key changed"),
        ("dbdyno run mine.toml --budget 10m", "Until all is decided, ten minutes at most"),
        ("dbdyno run mine.toml --resume", "Continue after a crash or Ctrl-C"),
    ],
    arguments: |command| ExperimentArgs::with_default(Arguments::augment_args(command), QUICKSTART),
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    variants: VariantArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    /// Continue the latest unfinished run with the same plan. Keeps complete blocks (classic
    /// design: trials)
    #[arg(long)]
    resume: bool,
    /// Keep the data folders of the servers and print where they are
    #[arg(long)]
    keep_data: bool,
    /// Measure until every verdict is decided, or until this time for loading and measuring is
    /// spent, such as `10m` or `2h`, but at least four blocks. Decided tests are measured no
    /// further, and the file's `blocks` do not count
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    budget: Option<Duration>,
    /// Decide only what LIST names of `time` (throughput), `cpu` and `instructions`, with the
    /// changes that matter [default: time=5%,cpu=2%,instructions=0.5%]
    #[arg(long, value_name = "LIST", value_parser = decisions)]
    decide: Option<String>,
    /// Explain changes in instructions by function after the last block, the largest first, and
    /// COUNT of them at most, or `all`. Not part of a budget. See `dbdyno explain`
    #[arg(
        long,
        value_name = "COUNT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = EXPLAINED,
        value_parser = count::some_or_all,
    )]
    explain: Option<usize>,
    #[command(flatten)]
    counts: CountsArgs,
    /// Print each measured slice in the format of sysbench 1.0.20
    #[arg(long)]
    sysbench_report: bool,
}

/// Changes that are explained where nobody says how many: each takes some minutes.
const EXPLAINED: &str = "3";

/// A time with its unit, above 0.
fn time(text: &str) -> Result<Duration, String> {
    if text.trim_start().starts_with('-') {
        return Err("a time above 0 such as `10m` or `2h` is expected".to_owned());
    }
    if text.bytes().any(|byte| byte != b'0') && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("the unit is missing, write `{text}m` for minutes"));
    }
    if text.contains('M') {
        let minutes = text.replace('M', "m");
        return Err(format!("`M` stands for months, write `{minutes}` for minutes"));
    }
    let expected = |_| "a time such as `10m` or `2h` is expected".to_owned();
    match humantime::parse_duration(text).map_err(expected)? {
        Duration::ZERO => Err("a time above 0 such as `10m` or `2h` is expected".to_owned()),
        time => Ok(time),
    }
}

/// Quantities and margins, as the key `decide` of an experiment.
fn decisions(text: &str) -> Result<String, String> {
    let expected = "a list such as `time=5%,cpu=2%,instructions=0.5%` is expected";
    let one = |part: &str| {
        let (quantity, margin) = part.split_once('=').ok_or(expected)?;
        let (quantity, margin) = (quantity.trim(), margin.trim());
        if !Quantity::ALL.iter().any(|known| known.name() == quantity) {
            return Err(expected.to_owned());
        }
        match (margin.ends_with('%'), margin.parse::<f64>()) {
            (true, _) => Ok(format!("{quantity} = {margin:?}")),
            (false, Ok(_)) => Err(format!("the sign `%` is missing, write `{quantity}={margin}%`")),
            (false, Err(_)) => Err(expected.to_owned()),
        }
    };
    let parts: Vec<String> = text.split(',').map(one).collect::<Result<_, String>>()?;
    Ok(format!("decide={{ {} }}", parts.join(", ")))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let mut arguments = Arguments::from_arg_matches(matches)?;
    // A key of the experiment like others, and recorded with them.
    arguments.experiment.set.extend(arguments.decide.take());
    arguments.experiment.variants = std::mem::take(&mut arguments.variants.variant);
    credentials::check()?;
    let measuring = &arguments.measuring;
    let catalog = measuring.catalog.open()?;
    let places = measuring.host.places()?;
    let plan = planned(&arguments, &catalog, &places)?;
    trust::warn_of_code(&arguments.experiment, &catalog)?;
    let seconds = arguments.counts.estimated_seconds(&plan, &places);
    arguments.budget.map_or(Ok(()), |budget| budget::check(&plan, seconds, budget))?;
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let referee = Arc::new(Referee::new(&measuring.results.results));
    let announcement = measuring.concurrency.announce((&plan.experiment.name, true), &stop)?;
    let options = Options {
        resume: if arguments.resume { Resume::Yes } else { Resume::No },
        data: if arguments.keep_data { DataFolders::Keep } else { DataFolders::Remove },
        counts: arguments.counts.counts(),
        ending: Ending { judge: Some(referee.clone()), budget: arguments.budget },
        explain: explained_changes(&arguments, &plan, referee)?,
        command: without_secrets(shaping(&arguments), &plan),
        ..measuring.options(&catalog, announcement)?
    };
    talk::say(&plan.experiment.question);
    let reports = if arguments.sysbench_report { Reports::Sysbench } else { Reports::None };
    let terminal = Terminal::new(measuring.progress);
    let terminal = terminal.with(reports).expecting(&plan).within(arguments.budget);
    let outcome = runner::execute(&plan, &places, &options, &stop, &terminal);
    drop(terminal);
    let outcome =
        outcome.map_err(|error| resumption::with_remedy(error, &plan, &options.results))?;
    say_how_it_went(&outcome);
    let results = Results::open(&options.results)?.snapshot();
    let selection = Selection::Run(outcome.run.clone());
    let request =
        comparison::Request { screen: Color::screen(matches), ..comparison::Request::default() };
    let table = comparison::rendered(&results, &selection, &request)?;
    let request = comparison::Request { format: comparison::HTML.to_owned(), ..Default::default() };
    let file = comparison::report_file(&results);
    let written = comparison::report(&results, &selection, &request)
        .and_then(|report| comparison::write_file(&report, file.clone()));
    talk::rendered(&table)?;
    say_explanations(&results, &outcome.run, matches)?;
    written?;
    talk::say(&format!("the report is {}", file.display()));
    let slices = results.slices(&selection)?.slices;
    let missed = comparison::missed_rates(&results, &slices)?;
    for sentence in &missed {
        talk::say(&format!("missed: {sentence}"));
    }
    check_slices(&slices)?;
    Ok(if missed.is_empty() { Code::Done } else { Code::Missed })
}

fn say_how_it_went(outcome: &Outcome) {
    if let Some(data) = &outcome.kept_data {
        talk::say(&format!("the data folders are kept under {}", data.display()));
    }
    if let Some(ended) = &outcome.ended {
        talk::say(ended);
    }
    if outcome.repeated_rounds > 0 {
        let rounds = counted(outcome.repeated_rounds, "round");
        talk::say(&format!(
            "{rounds} measured once more, because something disturbed the host or slowed its \
             processor"
        ));
    }
    talk::say(&time_line(&outcome.time));
}

/// Fails for a run with a slice that failed, in whichever of its executions, and for one without a
/// number.
fn check_slices(slices: &[StoredSlice]) -> anyhow::Result<()> {
    let count = |state: SliceState| slices.iter().filter(|one| one.slice.state == state).count();
    let failed = count(SliceState::Failed);
    anyhow::ensure!(
        failed == 0,
        "{} failed; no table shows a number from them, and the records have the reasons",
        counted(failed, "slice")
    );
    anyhow::ensure!(
        count(SliceState::Measured) > 0,
        "no slice was measured: the warnings say why; repeat the run on a quiet host"
    );
    Ok(())
}

/// What is explained after the last block, where that is asked for.
fn explained_changes(
    arguments: &Arguments,
    plan: &Plan,
    judge: Arc<Referee>,
) -> anyhow::Result<Option<ExplainChanges>> {
    let usual = plan.experiment.explain.then(|| count::some_or_all(EXPLAINED).unwrap_or_default());
    let Some(most) = arguments.explain.or(usual) else { return Ok(None) };
    Ok(Some(ExplainChanges { judge, most }))
}

/// The sentences of a run's explanations, as `dbdyno explain` has them.
fn say_explanations(results: &Results, run: &str, matches: &ArgMatches) -> anyhow::Result<()> {
    let mut document = Document::default();
    for explanation in results.explanations(run)? {
        document.paragraph(explained::sentence(&Explained::of(&explanation)));
        for cold in explained::not_steady(&explanation) {
            talk::say(&format!("warning: {cold}"));
        }
    }
    if document.items.is_empty() {
        return Ok(());
    }
    Ok(talk::data(&format!("\n{}", talk::text(&document, Color::screen(matches))))?)
}

/// Numbers of blocks after which a run with a budget is judged, if its experiment names none.
const LOOKS: [u32; 7] = [4, 6, 8, 12, 16, 24, 32];

/// The plan with a seed of its own, or, where a run is to be continued, with that run's.
fn planned(
    arguments: &Arguments,
    catalog: &Catalog,
    places: &dbms::Places,
) -> anyhow::Result<Plan> {
    let looks = if arguments.budget.is_some() { LOOKS.to_vec() } else { Vec::new() };
    let mut unset = Unset { seed: None, looks };
    if !arguments.resume {
        unset.seed = Some(fastrand::u32(..).into());
        return arguments.experiment.plan_with(catalog, places, &unset);
    }
    let mut plan = arguments.experiment.plan_with(catalog, places, &unset)?;
    let Ok(results) = Results::open(&arguments.measuring.results.results) else { return Ok(plan) };
    let name = plan.experiment.name.clone();
    let open = |run: &RunInfo| !run.finished && run.experiment == name;
    for run in results.runs()?.iter().rev().filter(|run| open(run)) {
        if run.plan == plan.hash {
            break;
        }
        unset.seed = results.plan_of(&run.id).ok().map(|plan| plan.experiment.seed);
        // What there is to note was noted above.
        let draft = arguments.experiment.draft(catalog, &unset)?;
        let own = plan::plan(&draft, catalog, &HostVersions { places })?;
        if own.hash == run.plan {
            plan = own;
            break;
        }
    }
    Ok(plan)
}

/// The options that shape a run, beside its experiment and its folders, as words of a command line.
fn shaping(arguments: &Arguments) -> Vec<String> {
    let measuring = &arguments.measuring;
    let mut words = [
        arguments.experiment.words(),
        measuring.catalog.words(),
        measuring.host.words(),
        arguments.counts.words(),
    ]
    .concat();
    if let Some(budget) = arguments.budget {
        let budget = humantime::format_duration(budget).to_string().replace(' ', "");
        words.extend(["--budget".to_owned(), budget]);
    }
    if let Some(most) = arguments.explain {
        let most = if most == usize::MAX { "all".to_owned() } else { most.to_string() };
        words.push(format!("--explain={most}"));
    }
    words
}

/// Words for the record, without values that `--set` gave and the plan hides.
fn without_secrets(words: Vec<String>, plan: &Plan) -> Vec<String> {
    let subjects = plan.subjects.iter();
    let secrets = subjects.flat_map(|s| [s.build.secrets(), s.config.secrets()].concat());
    let secrets: Vec<&str> = secrets.collect();
    words.iter().map(|word| secret::hide(word, secrets.iter().copied())).collect()
}

/// The run's time by activity, the largest first, with the share of overhead: everything except
/// load, warm-up, measurement and the servers' maintenance. Emulation is listed separately.
/// Installation is not part of the total.
fn time_line(seconds: &BTreeMap<String, f64>) -> String {
    let mut parts: Vec<(&str, f64)> = seconds.iter().map(|(name, s)| (name.as_str(), *s)).collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let total: f64 = parts.iter().filter(|(name, _)| *name != "install").map(|(_, s)| s).sum();
    let overhead = seconds.get("overhead").copied().unwrap_or(0.0);
    let listed: Vec<String> =
        parts.iter().map(|(name, seconds)| format!("{name} {seconds:.1} s")).collect();
    let emulation = seconds.get("emulation").copied().unwrap_or(0.0);
    let without = match emulation > LARGE * total {
        true => "; `--counts none` saves the time of emulation, and counts no instructions",
        false => "",
    };
    format!(
        "time: {}; overhead is {:.1} % of {total:.1} s{without}",
        listed.join(", "),
        100.0 * overhead / total.max(f64::MIN_POSITIVE)
    )
}

/// Share of a run from which on users should know how to save the time of emulation.
const LARGE: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::SliceRecord;

    #[test]
    fn the_account_of_time_names_every_part_and_the_share_of_overhead() {
        let seconds =
            [("install", 50.0), ("measurement", 70.0), ("load", 20.0), ("overhead", 10.0)];
        let seconds = seconds.map(|(name, seconds)| (name.to_owned(), seconds)).into();
        let expected = "time: measurement 70.0 s, install 50.0 s, load 20.0 s, overhead 10.0 s; \
                        overhead is 10.0 % of 100.0 s";
        assert_eq!(time_line(&seconds), expected);
        let seconds = [("measurement".to_owned(), 2.0), ("emulation".to_owned(), 3.0)].into();
        assert!(time_line(&seconds).contains("`--counts none` saves"));
    }

    #[test]
    fn a_failed_slice_of_an_earlier_execution_fails_the_run_too() {
        let stored = |state| StoredSlice {
            run: "r".to_owned(),
            experiment: "e".to_owned(),
            trial: "t".to_owned(),
            slice: SliceRecord { state, ..SliceRecord::default() },
        };
        let check = |states: &[SliceState], expected: &str| {
            let slices: Vec<StoredSlice> = states.iter().copied().map(stored).collect();
            let said =
                check_slices(&slices).map_or_else(|error| error.to_string(), |()| String::new());
            assert!(said.starts_with(expected) && said.is_empty() == expected.is_empty(), "{said}");
        };
        check(&[SliceState::Measured, SliceState::Discarded], "");
        check(&[SliceState::Failed, SliceState::Measured], "1 slice failed; no table");
        check(&[SliceState::Discarded], "no slice was measured");
    }
}
