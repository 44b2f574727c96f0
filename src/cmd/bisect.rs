//! `dbdyno bisect`: which version, revision or setting a change came with.

use super::Verb;
use crate::{
    args::{Color, CountsArgs, ExperimentArgs, MeasuringArgs, Unset},
    bisect::{Bisection, FOLDER, Positions},
    credentials,
    exit::Code,
    signals, talk, trust,
};
use ::plan::Draft;
use anyhow::{Context, bail, ensure};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use dbms::revision::Source;
use model::plan::PhaseKind;
use runner::{Options, Stop};
use std::path::PathBuf;

pub(super) const VERB: Verb = Verb {
    name: "bisect",
    about: "Finds the version, revision or setting with which a value changed",
    details: "Each probe runs both ends and a candidate side by side, so each has its own base, \
              and ends as like good, like bad, like neither or undecided. Every answer moves the \
              probabilities of all positions, so a wrong one is recovered; the search ends at \
              95 %. A position that does not build, start or do its work is skipped; if the \
              change may have come with it, the result names it and the next one that could be \
              measured. Builds of equal code are measured once.\n\n\
              Without `--source` and `--over`, GOOD and BAD are levels of the experiment's \
              `factors.build`, or versions of one product (see `dbdyno list builds`).\n\n\
              The same command continues an interrupted search: the records in the folder `bisect` \
              of the results folder are all that it remembers.\n\n\
              Exit codes:\n  \
              0    one position is found\n  \
              2    wrong usage or a failure\n  \
              3    several changes or positions, a slope, or nothing decided\n  \
              130  interrupted; what was measured is kept",
    examples: &[
        (
            "dbdyno bisect mine.toml --good postgres@14 --bad postgres@18 --test scan",
            "Which version of Postgres changed a scan",
        ),
        (
            "dbdyno bisect mine.toml --good v1 --bad main --source ~/src/db \\\n    \
             --server postgres --test scan \\\n    \
             --build './configure --prefix=$PREFIX && make -s -j2 install'",
            "Which commit",
        ),
        (
            "dbdyno bisect mine.toml --over config --good small --bad large --test insert",
            "From which of the experiment's configurations on",
        ),
    ],
    arguments,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// The end without the change
    #[arg(long, value_name = "GOOD")]
    good: String,
    /// The end with the change
    #[arg(long, value_name = "BAD")]
    bad: String,
    /// The test; needed if the experiment has several
    #[arg(long, value_name = "NAME")]
    test: Option<String>,
    /// The metric [default: instructions of the serving tasks where they are counted, else CPU
    /// time]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Bisect the levels of this factor, in the experiment's order
    #[arg(long, value_name = "FACTOR", conflicts_with = "source")]
    over: Option<String>,
    /// Git repository whose revisions are bisected
    #[arg(long, value_name = "DIR", requires_all = ["build", "server"])]
    source: Option<PathBuf>,
    /// Command that builds a revision in its folder and installs it into `$PREFIX`. It is executed
    /// as you, or as the server user if you are root
    #[arg(long, value_name = "COMMAND", requires = "source")]
    build: Option<String>,
    /// Server product that it builds
    #[arg(long, value_name = "NAME", requires = "source")]
    server: Option<String>,
    /// What below `$PREFIX` is the base folder, or SQLite's library [default: all of it, or
    /// `libsqlite3.so*`]
    #[arg(long, value_name = "PATH", requires = "source")]
    basedir: Option<PathBuf>,
    #[command(flatten)]
    counts: CountsArgs,
    #[command(flatten)]
    measuring: MeasuringArgs,
}

fn arguments(command: Command) -> Command {
    ExperimentArgs::required(Arguments::augment_args(command))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    credentials::check()?;
    let measuring = &arguments.measuring;
    let catalog = measuring.catalog.open()?;
    let places = measuring.host.places()?;
    let experiment = arguments.experiment.experiment.clone().context("name an experiment")?;
    let draft = arguments.experiment.draft(&catalog, &Unset::default())?;
    let positions = positions(&arguments, &draft, &places)?;
    let test = test(&arguments, &draft)?;
    let metric = match &arguments.metric {
        Some(name) => analysis::select_metrics(std::slice::from_ref(name))?.first().copied(),
        None => None,
    };
    trust::warn_of_code(&arguments.experiment, &catalog)?;
    trust::warn_of_scripts(&draft);
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let results = measuring.results.results.join(FOLDER);
    let announcement = measuring.concurrency.announce((&draft.experiment.name, true), &stop)?;
    let options = Options {
        results: results.clone(),
        counts: arguments.counts.counts(),
        ..measuring.options(&catalog, announcement)?
    };
    let mut bisection = Bisection {
        experiment,
        set: arguments.experiment.set.clone(),
        positions,
        test,
        metric,
        catalog: &catalog,
        places: &places,
        options,
        stop: &stop,
        progress: measuring.progress,
    };
    let ending = bisection.run()?;
    let document = ending.document(&bisection.positions, &results);
    talk::data(&talk::text(&document, Color::screen(matches)))?;
    Ok(if ending.is_found() { Code::Done } else { Code::Undecided })
}

/// The ordered list that is meant.
fn positions(
    arguments: &Arguments,
    draft: &Draft,
    places: &dbms::Places,
) -> anyhow::Result<Positions> {
    let ends = [arguments.good.as_str(), arguments.bad.as_str()];
    if let (Some(repository), Some(command)) = (&arguments.source, &arguments.build) {
        check_one_way(draft)?;
        let (repository, command) = (repository.clone(), command.clone());
        let server = arguments.server.as_deref().unwrap_or_default();
        let source = Source { repository, command };
        return Positions::of_revisions(source, ends, server, arguments.basedir.clone());
    }
    let name = arguments.over.as_deref().unwrap_or("build");
    let factor = draft.experiment.factors.iter().find(|factor| factor.name == name);
    if !::plan::restarts(name) {
        ensure!(
            factor.is_some() || ::plan::factor_names().any(|known| known == name),
            "`--over {name}`: unknown factor{}",
            ::plan::hint(name, ::plan::factor_names().filter(|known| ::plan::restarts(known)))
        );
        bail!("`{name}` needs no start of its own: run the experiment with all its levels instead");
    }
    let levels = factor.map_or(&[][..], |factor| factor.levels.as_slice());
    let is_level = |end: &&str| levels.iter().any(|level| level == end);
    if arguments.over.is_none() && !ends.iter().any(is_level) {
        return Positions::of_versions(ends, levels, places);
    }
    Positions::of_levels((name, levels), ends, &draft.basedirs())
}

/// Refuses an experiment that revisions would be built for in vain.
fn check_one_way(draft: &Draft) -> anyhow::Result<()> {
    for factor in &draft.experiment.factors {
        let name = &factor.name;
        ensure!(
            !["flags", "compiler"].contains(&name.as_str()),
            "`--build` says how revisions are compiled: take `{name}` out of the experiment's \
             factors"
        );
        ensure!(
            name == "build" || factor.levels.len() <= 1,
            "`{name}` has several levels, and revisions are compared at one: write `--set \
             factors.{name}=[LEVEL]`"
        );
    }
    Ok(())
}

/// The test that is meant.
fn test(arguments: &Arguments, draft: &Draft) -> anyhow::Result<String> {
    let known = draft.phase_names(PhaseKind::Measure);
    match (&arguments.test, known.as_slice()) {
        (Some(test), known) => {
            ensure!(
                known.contains(test),
                "`--test {test}`: unknown test{}",
                ::plan::hint(test, known.iter().map(String::as_str))
            );
            Ok(test.clone())
        }
        (None, [only]) => Ok(only.clone()),
        (None, _) => bail!("name one of the tests by `--test`: {}", known.join(", ")),
    }
}
