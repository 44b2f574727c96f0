//! `dbdyno doctor`: checks this host for what spoils or limits measurements.

use super::Verb;
use crate::{
    args::{CatalogArgs, Color, DEFAULT_RESULTS, ExperimentArgs, HostArgs, ResultsArgs},
    doctor::{CHECKS, Finding, Host, Weight},
    exit::Code,
    noise::{self, BankChoice},
    talk,
};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use model::{bank::HostClass, number::counted};
use std::path::Path;

pub(super) const VERB: Verb = Verb {
    name: "doctor",
    about: "Checks this host for sources of measurement error",
    details: "Prints a fix with each finding and changes no setting of the host. With an \
              EXPERIMENT it also checks that disk and memory suffice; the exit code is 2 if the \
              experiment cannot run here.",
    examples: &[
        ("dbdyno doctor", "Check the host"),
        ("dbdyno doctor --noise", "The smallest changes that can be found here"),
        ("dbdyno doctor mysql-5.6-vs-9", "Also check that an experiment fits"),
    ],
    arguments,
    run,
};

/// What is said without a bank.
const UNKNOWN: &str = "The noise of this host is not known: `dbdyno calibrate EXPERIMENT` \
    measures a build against itself and remembers how much it differed.";

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
    /// Print what each metric can prove on this host in one minute, ten, and an hour, from what
    /// `dbdyno calibrate` found, and check nothing
    #[arg(long, conflicts_with = "experiment")]
    noise: bool,
    #[command(flatten)]
    results: ResultsArgs,
}

/// What changes an experiment needs one: there is no default.
fn arguments(command: Command) -> Command {
    let of_experiment = |argument: Arg| argument.requires("experiment");
    Arguments::augment_args(command).mut_arg("set", of_experiment).mut_arg("only", of_experiment)
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let places = arguments.host.seen_places()?;
    if arguments.noise {
        let dir = arguments.results.results.clone();
        // Whoever names none may have no results yet.
        if dir != Path::new(DEFAULT_RESULTS) && !dir.is_dir() {
            return Err(store::Error::NoFolder { dir }.into());
        }
        let bank = BankChoice::OfResults.read(&arguments.results.results)?;
        let here = HostClass::of(&probe::environment(&places.for_data()));
        let known = bank.filter(|bank| bank.runs.iter().any(|run| run.host == here));
        let table = |bank| noise::table(&bank, &here, Color::screen(matches));
        talk::data(&known.map_or_else(|| UNKNOWN.to_owned(), table))?;
        return Ok(Code::Done);
    }
    let plan = match arguments.experiment.experiment {
        None => None,
        Some(_) => Some(arguments.experiment.plan(&arguments.catalog.open()?, &places)?),
    };
    let host = Host::here(&places.for_data(), plan.as_ref());
    let findings: Vec<(&str, Finding)> =
        CHECKS.iter().filter_map(|check| Some((check.name, (check.look)(&host)?))).collect();
    let of = |weight| findings.iter().filter(|(_, found)| found.weight == weight).count();
    let counts = [of(Weight::Blocks), of(Weight::Spoils), of(Weight::Limits)];
    let columns = talk::columns(&std::io::stdout());
    let sum = report::wrap(&summary(findings.len(), counts), columns, 2).join("\n");
    talk::data(&format!("{}\n{sum}", text(&findings, columns)))?;
    let [blocks, ..] = counts;
    Ok(if blocks > 0 { Code::Failed } else { Code::Done })
}

/// How many checks found what: blocks, spoils, limits.
fn summary(checks: usize, [blocks, spoils, limits]: [usize; 3]) -> String {
    let checks = counted(checks, "check");
    let verb = |count: usize, verb: &str| match count {
        1 => format!("1 {verb}s"),
        count => format!("{count} {verb}"),
    };
    format!(
        "{checks}: {} the experiment, {} measurements, {} them",
        verb(blocks, "block"),
        verb(spoils, "spoil"),
        verb(limits, "limit")
    )
}

/// A finding and its remedy after the other, in lines of at most `columns` characters.
fn text(findings: &[(&str, Finding)], columns: Option<usize>) -> String {
    let width = findings.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    // Where two columns would leave little room for words, they stand below the name.
    let below = columns.is_some_and(|columns| columns < 2 * (width + 10));
    let indent = if below { 4 } else { width + 10 };
    let mut lines: Vec<String> = Vec::new();
    let mut add = |head: String, words: &str| {
        let room = columns.map(|columns| columns.saturating_sub(indent));
        let mut words = report::wrap(&talk::printable(words), room, 0).into_iter();
        let first = if below { None } else { words.next() };
        lines.push(format!("{head:<indent$}{}", first.unwrap_or_default()).trim_end().to_owned());
        lines.extend(words.map(|line| format!("{:indent$}{line}", "")));
    };
    for (name, found) in findings {
        add(format!("{:<7} {name}", found.weight.word()), &found.what);
        if let Some(remedy) = &found.remedy {
            add(String::new(), &format!("→ {remedy}"));
        }
    }
    lines.retain(|line| !line.is_empty());
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_its_remedy_below_it() {
        let findings = [
            ("swap", Finding::good("swap is off")),
            ("governor", Finding::spoils("it is `powersave`", "set `performance`")),
        ];
        let expected = "ok      swap      swap is off\n\
                        spoils  governor  it is `powersave`\n\
                        \x20                 → set `performance`\n";
        assert_eq!(text(&findings, None), expected);
        let expected = "ok      swap      swap is off\n\
                        spoils  governor  it is `powersave`\n\
                        \x20                 → set\n\
                        \x20                 `performance`\n";
        assert_eq!(text(&findings, Some(36)), expected);
        let expected = "ok      swap\n    swap is off\nspoils  governor\n    it is\n\
                        \x20   `powersave`\n    → set\n    `performance`\n";
        assert_eq!(text(&findings, Some(20)), expected);
    }

    #[test]
    fn the_counts_agree_with_their_verbs() {
        let check = |checks, counts, expected: &str| assert_eq!(summary(checks, counts), expected);
        check(
            13,
            [0, 2, 1],
            "13 checks: 0 block the experiment, 2 spoil measurements, 1 limits them",
        );
        check(1, [1, 0, 0], "1 check: 1 blocks the experiment, 0 spoil measurements, 0 limit them");
    }
}
