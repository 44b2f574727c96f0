//! `dbdyno calibrate`: a build against itself, again and again, to learn the noise of this host.

use super::Verb;
use crate::{
    args::{Color, CountsArgs, ExperimentArgs, MeasuringArgs, QUICKSTART, Unset},
    comparison, count, credentials,
    exit::Code,
    idle,
    noise::{self, BankChoice},
    progress::Terminal,
    signals, talk, trust,
    versions::HostVersions,
};
use anyhow::{Context, ensure};
use clap::{ArgMatches, Args, FromArgMatches};
use model::{
    bank::{BANK_FORMAT, BankedRun, HostClass},
    plan::Plan,
};
use runner::{Options, Outcome, Stop};
use store::{Bank, Results, Selection};

pub(super) const VERB: Verb = Verb {
    name: "calibrate",
    about: "Measures a build against itself to learn the noise of this host",
    details: "Runs the base of the experiment twice side by side, again and again, and adds what \
              differed to `bank.jsonl` in the results folder (the records are in its folder \
              `calibration`). `dbdyno compare` then needs fewer blocks on hosts of this kind, and \
              `dbdyno doctor --noise` shows which changes can be found in how much time. What was \
              added stays if a later run is interrupted.",
    examples: &[
        ("dbdyno calibrate", "20 runs of the quickstart"),
        ("dbdyno calibrate mysql-5.6-vs-9 --runs 5", "The base of your comparison, overnight"),
    ],
    arguments: |command| ExperimentArgs::with_default(Arguments::augment_args(command), QUICKSTART),
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
    /// How often the build is measured against itself
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 20,
        value_parser = |text: &str| count::whole::<u32>(text, 1..=u32::MAX.into()),
        allow_negative_numbers = true,
    )]
    runs: u32,
    #[command(flatten)]
    counts: CountsArgs,
    /// What readers of the bank must know, such as other load on the host
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    note: String,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    credentials::check()?;
    let measuring = &arguments.measuring;
    let catalog = measuring.catalog.open()?;
    let places = measuring.host.places()?;
    let mut draft = arguments.experiment.draft(&catalog, &Unset::default())?;
    idle::tell(&draft);
    trust::warn_of_scripts(&draft);
    let experiment = draft.experiment.name.clone();
    let versions = HostVersions { places: &places };
    ensure!(
        draft.experiment.blocks > 1,
        "one block says nothing about noise: add `--set blocks=5`"
    );
    let results = Results::open_or_create(&measuring.results.results)?;
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let announcement = measuring.concurrency.announce((&experiment, true), &stop)?;
    let options = Options {
        results: results.dir().join(noise::CALIBRATION),
        counts: arguments.counts.counts(),
        ..measuring.options(&catalog, announcement)?
    };
    let file = results.dir().join(noise::BANK);
    // Each run draws other operations than all before it.
    let read = || BankChoice::OfResults.read(results.dir());
    let known = read()?.map_or(0, |bank| bank.runs.len());
    draft.experiment.seed = draft.experiment.seed.wrapping_add(known as u64);
    for index in 1..=arguments.runs {
        draft.experiment.seed = draft.experiment.seed.wrapping_add(1);
        let plan = plan::plan_against_itself(&draft, &catalog, &versions)?;
        if index == 1 {
            trust::warn_of_code(&arguments.experiment, &catalog)?;
        }
        talk::say(&format!("run {index} of {} against itself", arguments.runs));
        let terminal = Terminal::new(measuring.progress).expecting(&plan);
        let outcome = runner::execute(&plan, &places, &options, &stop, &terminal)?;
        drop(terminal);
        ensure!(outcome.failed_slices == 0, "slices of run `{}` failed", outcome.run);
        let records = Results::open(&options.results)?;
        let told = Told { experiment: &experiment, note: &arguments.note };
        for run in banked(&records, &plan, &outcome, &told)? {
            Bank::append(&file, &run)?;
        }
    }
    let bank = read()?.context("the bank that was written is gone")?;
    talk::say(&format!("the bank is {}", file.display()));
    let host = HostClass::of(&probe::environment(&places.root));
    talk::data(&noise::table(&bank, &host, Color::screen(matches)))?;
    Ok(Code::Done)
}

/// What a run does not know of itself.
struct Told<'a> {
    experiment: &'a str,
    note: &'a str,
}

/// One line of the bank for each build of a run against itself.
fn banked(
    results: &Results,
    plan: &Plan,
    outcome: &Outcome,
    told: &Told<'_>,
) -> anyhow::Result<Vec<BankedRun>> {
    let info = results.runs()?.into_iter().find(|info| info.id == outcome.run);
    let info = info.with_context(|| format!("run `{}` is gone", outcome.run))?;
    let selection = Selection::Run(info.id.clone());
    let report = comparison::report(results, &selection, &comparison::Request::default())?;
    let comparison = report.comparisons.first().context("the run has no comparison")?;
    let of_blocks =
        |(activity, _): &(&String, &f64)| !["install", "load"].contains(&activity.as_str());
    let seconds: f64 = outcome.time.iter().filter(of_blocks).map(|(_, seconds)| seconds).sum();
    let bases = plan.subjects.iter().filter(|subject| plan.base.contains(&subject.label));
    let pairs = plan.base.len().max(1) as f64;
    let run = |subject: &model::subject::Subject| BankedRun {
        format: BANK_FORMAT,
        run: info.id.clone(),
        started_us: info.started_us,
        host: HostClass::of(&info.environment),
        dbdyno: info.environment.dbdyno.clone(),
        experiment: told.experiment.to_owned(),
        server: subject.build.server.clone(),
        subject: subject.label.clone(),
        note: told.note.to_owned(),
        block_seconds: seconds / plan.blocks.len().max(1) as f64 / pairs,
        phases: analysis::banked(comparison, &subject.label),
    };
    let runs: Vec<BankedRun> = bases.map(run).collect();
    ensure!(
        runs.iter().any(|run| !run.phases.is_empty()),
        "run `{}` has no two blocks in common",
        info.id
    );
    Ok(runs)
}
