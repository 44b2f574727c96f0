//! `dbdyno doctor`: checks this host for what spoils or limits measurements.

use super::Verb;
use crate::{
    args::{CatalogArgs, ExperimentArgs, HostArgs},
    doctor::{CHECKS, Finding, Host, Weight},
    exit::Code,
    talk,
};
use clap::{ArgMatches, Args, FromArgMatches};

pub(super) const VERB: Verb = Verb {
    name: "doctor",
    about: "Checks this host for sources of measurement error",
    details: "Prints a fix with each finding and changes no setting of the host. With an \
              EXPERIMENT it also checks that disk and memory suffice; the exit code is 2 if the \
              experiment cannot run here.",
    examples: &[
        ("dbdyno doctor", "Check the host"),
        ("dbdyno doctor mysql-5.6-vs-9", "Also check that an experiment fits"),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let places = arguments.host.places()?;
    let plan = match arguments.experiment.experiment {
        None => None,
        Some(_) => Some(arguments.experiment.plan(&arguments.catalog.open()?, &places)?),
    };
    let host = Host::here(&places.root, plan.as_ref());
    let findings: Vec<(&str, Finding)> =
        CHECKS.iter().filter_map(|check| Some((check.name, (check.look)(&host)?))).collect();
    talk::data(&text(&findings))?;
    let of = |weight| findings.iter().filter(|(_, found)| found.weight == weight).count();
    let (blocks, spoils, limits) = (of(Weight::Blocks), of(Weight::Spoils), of(Weight::Limits));
    talk::say(&format!(
        "{} checks: {blocks} block the experiment, {spoils} spoil measurements, {limits} limit \
         them",
        findings.len()
    ));
    Ok(if blocks > 0 { Code::Failed } else { Code::Done })
}

/// A line per finding, and one more with the remedy where there is one.
fn text(findings: &[(&str, Finding)]) -> String {
    let width = findings.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (name, found) in findings {
        text.push_str(&format!("{:<7} {name:<width$}  {}\n", found.weight.word(), found.what));
        if let Some(remedy) = &found.remedy {
            text.push_str(&format!("{:<7} {:<width$}  → {remedy}\n", "", ""));
        }
    }
    talk::printable(&text)
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
        assert_eq!(text(&findings), expected);
    }
}
