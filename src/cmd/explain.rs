//! `dbdyno explain`: which functions the instructions of an operation are in, or its CPU time, on
//! two variants.

use super::Verb;
use crate::{
    args::{Color, MeasuringArgs},
    count, credentials,
    exit::Code,
    measured,
    progress::Terminal,
    replaced, signals, talk, trust, two_runs,
};
use ::plan::hint;
use analysis::explained::{Explained, stacks};
use anyhow::{Context, bail};
use clap::{
    ArgMatches, Args, FromArgMatches, ValueEnum,
    builder::{PossibleValue, PossibleValuesParser},
};
use model::{
    escape,
    explanation::{EXPLANATION_FORMAT, Explanation, Quantity, Side},
    plan::{Phase, PhaseKind, Plan},
    secret::HIDDEN,
    subject::Subject,
};
use report::{
    document::Document,
    explained,
    profile::{self, PROFILES, Profile},
};
use runner::{Counts, Explaining, Options, Stop};
use store::Results;

pub(super) const VERB: Verb = Verb {
    name: "explain",
    about: "Explains a difference in instructions or CPU time by the functions of two variants",
    details: "Loads the tables as the run did, starts both servers under emulation, warms each \
              until its count per operation is steady, and counts every instruction of the task \
              that serves one connection, by its tree of calls. Adds the result to the run, where \
              `dbdyno report` shows it.\n\n\
              `--by time` starts the servers at full speed instead, one after the other, and \
              samples where that task spends its CPU time, in the server and in the kernel.\n\n\
              Instructions need QEMU's user-mode emulator (Debian: package `qemu-user`). Time \
              needs root, or `kernel.perf_event_paranoid` of 0 or less.\n\n\
              Exit codes:\n  \
              0    success\n  \
              2    wrong usage or a failure\n  \
              130  interrupted; nothing is added to the run",
    examples: &[
        (
            "dbdyno explain latest --phase point-query --variants mysql-5.6.24,mysql-9.7.4",
            "Where the added instructions of a point query are",
        ),
        (
            "dbdyno explain 20260801T --phase insert --by time",
            "Which functions of the two servers and of the kernel take longer",
        ),
        (
            "dbdyno explain 20260801T --phase scan --format folded > scan.folded",
            "The stacks of a run of two variants, for tools that draw flame graphs",
        ),
        (
            "dbdyno explain 20260801T --phase scan --kept --format firefox > scan.json",
            "What was counted before, for <https://profiler.firefox.com>",
        ),
    ],
    arguments: Arguments::augment_args,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    /// The run: its identifier, or the beginning of it (see `dbdyno list runs`), or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// The test, as in tables; needed if the run has several
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// The base and a variant; needed if the run has more than two
    #[arg(long, value_name = "BASE,VARIANT", value_delimiter = ',')]
    variants: Vec<String>,
    /// What is attributed to functions
    #[arg(long, value_enum, value_name = "COST", default_value_t = By::Instructions)]
    by: By,
    /// Operations that are observed [default: 5000, or as many as take half a minute; with `--by
    /// time`, as many as take 10 s]
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = |text: &str| count::whole::<u64>(text, 1..=10_000_000),
        allow_negative_numbers = true,
    )]
    operations: Option<u64>,
    /// Functions in the table
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 25,
        value_parser = |text: &str| count::whole::<usize>(text, 1..=count::MOST),
        allow_negative_numbers = true,
    )]
    functions: usize,
    /// Take what the run has been explained by already, instead of counting again
    #[arg(long, conflicts_with = "operations")]
    kept: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = TEXT, value_parser = formats())]
    format: String,
    #[command(flatten)]
    measuring: MeasuringArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// User instructions, all of them, under emulation
    Instructions,
    /// CPU time, sampled at full speed
    Time,
}

impl By {
    fn quantity(self) -> Quantity {
        match self {
            Self::Instructions => Quantity::Instructions,
            Self::Time => Quantity::CpuTime,
        }
    }
}

/// Formats for people and for programs, beside those of [`PROFILES`].
const TEXT: &str = "text";
const JSON: &str = "json";

fn formats() -> PossibleValuesParser {
    let own = [(TEXT, "Sentence, areas and functions"), (JSON, "Everything, for programs")];
    let profiles = PROFILES.iter().map(|format| (format.name, format.help));
    let all = own.into_iter().chain(profiles);
    PossibleValuesParser::new(all.map(|(name, help)| PossibleValue::new(name).help(help)))
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    credentials::check()?;
    let results = Results::open(&arguments.measuring.results.results)?;
    let run = two_runs::find(&results.runs()?, &arguments.run)?.id;
    if results.import_of(&run)?.is_some() {
        bail!("`{run}` is an imported archive: only runs that were measured here can be explained");
    }
    let plan = results.plan_of(&run)?;
    let phase = &phase(&plan, arguments.phase.as_deref())?.name;
    let subjects = subjects(&plan, &arguments.variants)?;
    let by = arguments.by.quantity();
    let (explanation, added) = match arguments.kept {
        true => (kept(&results, &run, by, phase, subjects)?, Ok(())),
        false => {
            let is_explained = |one: &&Subject| subjects.contains(&one.label.as_str());
            let variants: Vec<&Subject> = plan.subjects.iter().filter(is_explained).collect();
            check_secrets(&run, &variants)?;
            trust::warn_of_record(&run, &plan, &variants);
            let places = arguments.measuring.host.places()?;
            let explanation = counted_anew(&arguments, &plan, phase, subjects, &places)?;
            let others = replaced::since(&results.trials(&run)?, &plan, subjects, &places);
            for label in &others {
                talk::say(&format!(
                    "warning: `{label}` is another program by now than run `{run}` measured: what \
                     is explained here is not added to the run"
                ));
            }
            let added = match others.is_empty() {
                true => results.keep_explanation(&run, &explanation),
                false => Ok(()),
            };
            (explanation, added)
        }
    };
    for cold in explained::not_steady(&explanation) {
        talk::say(&format!("warning: {cold}"));
    }
    if let Some(far) = measured::far_from(&explanation, &results, &run, &plan)? {
        talk::say(&format!("warning: {far}"));
    }
    show(&explanation, &arguments, matches)?;
    // What took minutes is shown, also where the folder takes nothing.
    added.with_context(|| format!("this is not added to run `{run}`"))?;
    Ok(Code::Done)
}

/// Refuses variants of which the plan lacks what their servers need: records keep no secrets.
fn check_secrets(run: &str, variants: &[&Subject]) -> anyhow::Result<()> {
    let lacks = |one: &&&Subject| {
        one.build.secrets().into_iter().chain(one.config.secrets()).any(|value| value == HIDDEN)
    };
    let Some(subject) = variants.iter().find(lacks) else { return Ok(()) };
    bail!(
        "`{}` needs a password or another secret, which run `{run}` does not keep: explain a run \
         of the same experiment without it",
        subject.label
    )
}

/// The explanation of a phase and two subjects that a run has.
fn kept(
    results: &Results,
    run: &str,
    by: Quantity,
    phase: &str,
    subjects: [&str; 2],
) -> anyhow::Result<Explanation> {
    let what = (by, phase, subjects);
    let found = results.explanations(run)?.into_iter().find(|known| known.what() == what);
    let [base, variant] = subjects;
    found.with_context(|| {
        format!("`{phase}` of `{base}` and `{variant}` is not explained yet: leave out `--kept`")
    })
}

fn counted_anew(
    arguments: &Arguments,
    plan: &Plan,
    phase: &str,
    subjects: [&str; 2],
    places: &dbms::Places,
) -> anyhow::Result<Explanation> {
    let found = explained_by_runner(arguments, plan, phase, subjects, places)?;
    let sides = <[Side; 2]>::try_from(found.sides).ok().context("two variants are needed")?;
    let (phase, by, means) = (phase.to_owned(), arguments.by.quantity(), found.means);
    Ok(Explanation { format: EXPLANATION_FORMAT, phase, by, means, sides })
}

fn explained_by_runner(
    arguments: &Arguments,
    plan: &Plan,
    phase: &str,
    subjects: [&str; 2],
    places: &dbms::Places,
) -> anyhow::Result<runner::Explained> {
    let measuring = &arguments.measuring;
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let name = format!("explain {}", plan.experiment.name);
    let announcement = measuring.concurrency.announce((&name, false), &stop)?;
    let options = Options {
        counts: Some(match arguments.by {
            By::Instructions => Counts::Emulated,
            By::Time => Counts::None,
        }),
        ..measuring.options(&measuring.catalog.open()?, announcement)?
    };
    let terminal = Terminal::new(measuring.progress);
    let by = arguments.by.quantity();
    let what =
        Explaining { plan, phase, subjects: &subjects, by, operations: arguments.operations };
    Ok(runner::explain(&what, places, &options, &stop, &terminal)?)
}

/// The phase of this name, or the only one.
fn phase<'a>(plan: &'a Plan, name: Option<&str>) -> anyhow::Result<&'a Phase> {
    let measured: Vec<&Phase> =
        plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
    let names = || measured.iter().map(|phase| phase.name.as_str());
    match name {
        Some(name) => {
            let found = measured.iter().copied().find(|phase| phase.name == name);
            found.with_context(|| format!("the run has no phase `{name}`{}", hint(name, names())))
        }
        None => match measured.as_slice() {
            [only] => Ok(only),
            _ => {
                let known: Vec<&str> = names().collect();
                bail!("name one of the run's phases by `--phase`: {}", known.join(", "))
            }
        },
    }
}

/// Base and variant, as named or as the only two.
fn subjects<'a>(plan: &'a Plan, names: &[String]) -> anyhow::Result<[&'a str; 2]> {
    let labels = || plan.subjects.iter().map(|subject| subject.label.as_str());
    let find = |name: &String| {
        let found = labels().find(|label| label == name);
        found.with_context(|| format!("the run has no variant `{name}`{}", hint(name, labels())))
    };
    // Labels may have commas of their own, as options for the linker do.
    let joined = names.join(",");
    let mut pairs = labels().flat_map(|base| labels().map(move |variant| [base, variant]));
    let is_named =
        |[base, variant]: &[&str; 2]| base != variant && format!("{base},{variant}") == joined;
    if let Some(pair) = pairs.find(is_named) {
        return Ok(pair);
    }
    match (names, labels().collect::<Vec<_>>().as_slice()) {
        ([base, variant], _) if base == variant => {
            bail!("`{base}` is one variant: name two by `--variants`")
        }
        ([base, variant], _) => Ok([find(base)?, find(variant)?]),
        ([_, ..], _) => bail!("name two variants by `--variants`, separated by a comma"),
        (_, [base, variant]) if plan.base.iter().any(|label| label == variant) => {
            Ok([variant, base])
        }
        (_, [base, variant]) => Ok([base, variant]),
        (_, [_]) => bail!("the run has one variant, and two are compared"),
        (_, all) => bail!("name two of the run's variants by `--variants`: {}", all.join(", ")),
    }
}

fn show(
    explanation: &Explanation,
    arguments: &Arguments,
    matches: &ArgMatches,
) -> anyhow::Result<()> {
    let found = Explained::of(explanation);
    match arguments.format.as_str() {
        JSON => {
            let json = serde_json::json!({
                "explanation": found,
                "means": explanation.means,
                "sides": explanation.sides.each_ref().map(counted),
                "closure": explanation.sides.each_ref().map(closure),
            });
            talk::data(&escape::json(&serde_json::to_string_pretty(&json)?))?;
        }
        name => match profile::find(name) {
            Some(format) => {
                let profile = Profile {
                    phase: found.phase,
                    variants: found.subjects,
                    by: found.by,
                    stacks: stacks(explanation),
                };
                talk::bytes(&(format.bytes)(&profile).map_err(anyhow::Error::msg)?)?;
            }
            None => {
                let mut document = Document::default();
                document.paragraph(explained::sentence(&found));
                document.items.push(explained::areas(&found));
                document.items.push(explained::functions(&found, arguments.functions));
                document.items.extend(explained::remarks(explanation));
                talk::data(&talk::text(&document, Color::screen(matches)))?;
            }
        },
    }
    Ok(())
}

/// How a side was counted.
fn counted(side: &Side) -> serde_json::Value {
    serde_json::json!({
        "subject": side.subject,
        "server_version": side.server_version,
        "operations": side.operations,
        "samples": side.samples,
        "warm_up": side.warm_up,
    })
}

/// The cost of the task, and that which the functions have.
fn closure(side: &Side) -> serde_json::Value {
    let in_functions: u64 = side.functions.iter().map(|function| function.cost).sum();
    serde_json::json!({
        "cost": side.cost,
        "in_functions": in_functions,
        "unplaced": side.unplaced,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::explanation::{Area, Function, SourceParts, WarmUp};
    use std::collections::BTreeMap;

    #[test]
    fn two_variants_are_named_whatever_commas_they_have() {
        let mut plan = crate::versions::tests::plan_of(&[]);
        let linked = "O2 -Wl,-z,now";
        for (subject, label) in plan.subjects.iter_mut().zip(["rel", linked]) {
            label.clone_into(&mut subject.label);
        }
        let found = |text: &str| {
            let names: Vec<String> = text.split(',').map(str::to_owned).collect();
            subjects(&plan, &names).map_err(|error| error.to_string())
        };
        assert_eq!(found(&format!("rel,{linked}")), Ok(["rel", linked]));
        assert_eq!(found(&format!("{linked},rel")), Ok([linked, "rel"]));
        assert!(found("rel,rel").unwrap_err().contains("is one variant"));
        assert!(found("rel,O3").unwrap_err().contains("the run has no variant `O3`"));
    }

    #[test]
    fn a_variant_whose_secrets_are_not_kept_is_refused() {
        let mut plan = crate::versions::tests::plan_of(&[]);
        let label = plan.subjects[1].label.clone();
        let refused = |plan: &Plan| {
            let variants: Vec<&Subject> = plan.subjects.iter().collect();
            check_secrets("r", &variants).err().map(|error| error.to_string())
        };
        plan.subjects[1].build.environment = vec![("API_KEY".to_owned(), "as given".to_owned())];
        assert_eq!(refused(&plan), None);
        let kept = serde_json::from_value(serde_json::to_value(&plan).unwrap()).unwrap();
        assert!(refused(&kept).unwrap().starts_with(&format!("`{label}` needs a password")));
    }

    fn shipped() -> BTreeMap<String, SourceParts> {
        ::plan::Catalog::embedded().unwrap().all_source_parts().unwrap()
    }

    /// In which areas functions are, with their number.
    fn areas(known: &[Area], names: &[&str]) -> Vec<(String, f64)> {
        let function =
            |name: &&str| Function { caller: None, name: (*name).to_owned(), cost: 1, calls: 1 };
        let side = Side {
            warm_up: WarmUp { steady: true, ..WarmUp::default() },
            operations: 1,
            cost: names.len() as u64,
            functions: names.iter().map(function).collect(),
            areas: known.to_vec(),
            ..Side::default()
        };
        let explanation = Explanation {
            format: EXPLANATION_FORMAT,
            phase: String::new(),
            by: Quantity::Instructions,
            means: String::new(),
            sides: [side.clone(), side],
        };
        let found = Explained::of(&explanation).areas.into_iter();
        let known = found.map(|area| (area.name, area.costs[0]));
        known.filter(|(_, functions)| *functions > 0.0).collect()
    }

    #[test]
    fn no_shipped_area_hides_a_pattern_of_a_later_one() {
        for (server, parts) in shipped() {
            for area in &parts.areas {
                let patterns: Vec<&str> = area.functions.iter().map(String::as_str).collect();
                let expected = [(area.name.clone(), patterns.len() as f64)];
                assert_eq!(areas(&parts.areas, &patterns), expected, "{server}: {patterns:?}");
            }
        }
    }

    #[test]
    fn functions_are_in_the_area_of_their_work() {
        let parts = shipped();
        let check = |server: &str, function: &str, expected: &str| {
            let found = areas(&parts[server].areas, &[function]);
            assert_eq!(found, [(expected.to_owned(), 1.0)], "{server}: {function}");
        };
        check("mariadb", "lock_tables", "tables, metadata locks");
        check("mysql", "lock_table", "InnoDB: transactions, read views, undo");
        check("mysql", "log_slow_statement", "statement, THD");
        check("mysql", "cmp_item_int::cmp", "items, fields");
        check("mysql", "cmp_data", "InnoDB: index search");
        check("postgres", "pg_mblen_with_len", "functions, text");
        check("postgres", "pg_verify_mbstr", "protocol, network");
        check("postgres", "get_hash_value", "hash tables, resource owners");
        check("sqlite", "sqlite3WalkExpr", "compiler");
        check("sqlite", "sqlite3WalFindFrame", "pager, WAL");
        check("sqlite", "getPageNormal", "pager, WAL");
        check("sqlite", "getAndInitPage", "B-tree");
    }
}
