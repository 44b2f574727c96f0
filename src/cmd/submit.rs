//! `dbdyno submit`: an experiment over the hosts of a lab.

use super::Verb;
use crate::{
    args::{CatalogArgs, CountsArgs, ExperimentArgs, HostArgs, Unset},
    budget,
    cluster::{CLUSTERS, Fanout},
    count, credentials,
    exit::Code,
    feasible, shell, talk, trust,
    versions::HostVersions,
};
use ::plan::Catalog;
use anyhow::Context;
use clap::{ArgMatches, Args, Command, FromArgMatches, builder::PossibleValuesParser};
use model::{
    attach::Attach,
    number::counted,
    plan::Plan,
    subject::{Build, Subject},
};
use std::path::{Path, PathBuf};

pub(super) const VERB: Verb = Verb {
    name: "submit",
    about: "Hands an experiment to a batch system, its blocks over several hosts",
    details: "Each task is a run of whole blocks on a host of its own, so that what is compared is \
              always measured on one host. The folder must be shared by all hosts, as must \
              the experiment's files. A task whose host failed is started again and keeps its \
              complete blocks.\n\n\
              `dbdyno status FOLDER` shows how far the tasks are and why some ended early, `dbdyno \
              retry FOLDER` does those again, `dbdyno collect FOLDER` takes the records into a \
              results folder, `dbdyno cancel FOLDER` ends the tasks.",
    examples: &[
        ("dbdyno submit mine.toml --folder fan --dry-run", "Print the script of the job"),
        ("dbdyno submit mine.toml --folder fan --option=--partition=perf", "Submit it"),
        ("dbdyno submit mine.toml --folder fan --blocks-per-task 4", "Fewer, longer tasks"),
    ],
    arguments,
    run,
};

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// New folder for the script, logs and records of the tasks, shared by all hosts
    #[arg(long, value_name = "DIR")]
    folder: PathBuf,
    /// The batch system
    #[arg(long, value_name = "NAME", default_value = CLUSTERS[0].name, value_parser = names())]
    cluster: String,
    /// Blocks of each task. Loading the tables is done once per task
    #[arg(
        long,
        value_name = "COUNT",
        default_value = "1",
        value_parser = at_least_one,
        allow_negative_numbers = true,
    )]
    blocks_per_task: u32,
    /// A further option of the batch system, such as `--option=--time=2:00:00`; may be repeated
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    option: Vec<String>,
    /// Print the script and what the tasks would take, but submit nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
    /// Measure even while another run measures on the same host, instead of waiting; marks both
    #[arg(long)]
    allow_concurrent: bool,
    #[command(flatten)]
    counts: CountsArgs,
}

fn arguments(command: Command) -> Command {
    ExperimentArgs::required(Arguments::augment_args(command))
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(CLUSTERS.iter().map(|cluster| cluster.name))
}

fn at_least_one(text: &str) -> Result<u32, String> {
    count::whole(text, 1..=u32::MAX.into())
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let folder = std::path::absolute(&arguments.folder)?;
    for path in [&folder].into_iter().chain(&arguments.catalog.catalog) {
        // The script is a text.
        path.to_str().with_context(|| {
            format!("`{}` is no text in UTF-8: use another name", path.display())
        })?;
    }
    let shown = folder.display().to_string();
    // Each stands in a line of the script.
    if let Some(text) = arguments.option.iter().chain([&shown]).find(|text| has_control(text)) {
        anyhow::bail!("`{}` has a control character: use another one", text.escape_default());
    }
    let (catalog, places) = (arguments.catalog.open()?, arguments.host.seen_places()?);
    let unset = Unset { seed: Some(fastrand::u32(..).into()), ..Unset::default() };
    let whole = arguments.experiment.plan_with(&catalog, &places, &unset)?;
    feasible::check(&whole, &places)?;
    trust::warn_of_code(&arguments.experiment, &catalog)?;
    let blocks = arguments.blocks_per_task.min(whole.blocks.len() as u32);
    let loads = fewer_loads(&whole, blocks);
    let set = [format!("blocks={blocks}")].into_iter().chain(loads.clone());
    let own = of_task(&arguments, set, &catalog, &places)?;
    let tasks = (whole.blocks.len() as u32).div_ceil(blocks);
    check_servers(&whole, tasks)?;
    let fanout = Fanout {
        cluster: arguments.cluster.clone(),
        experiment: whole.experiment.name.clone(),
        tasks,
        blocks,
        seed: whole.experiment.seed,
        program: std::env::current_exe().context("cannot find the path of this program")?,
        words: words(&arguments, loads),
        options: arguments.option.clone(),
        ..Fanout::default()
    };
    if folder.exists() {
        anyhow::bail!(in_the_way(&folder));
    }
    let seconds = arguments.counts.estimated_seconds(&own, &places);
    let [each, all] = [seconds, seconds * f64::from(tasks)].map(rough);
    talk::say(&format!(
        "{} of {}; a task takes about {each}, all of them {all} of one host{}; installation not \
         included",
        counted(tasks as usize, "task"),
        counted(blocks as usize, "block"),
        over_hosts(tasks, seconds),
    ));
    if arguments.dry_run {
        talk::data(&fanout.script(&folder)?)?;
        return Ok(Code::Done);
    }
    // The batch system hands it on, and every task would refuse it.
    credentials::check()?;
    let fanout = fanout.submit(&folder)?;
    let folder = shell::quoted(&arguments.folder.display().to_string());
    talk::say(&format!(
        "submitted as job {}; `dbdyno status {folder}` shows how far it is, `dbdyno collect \
         {folder}` takes its records",
        fanout.jobs()?.join(", ")
    ));
    Ok(Code::Done)
}

fn has_control(text: &str) -> bool {
    text.chars().any(char::is_control)
}

/// What to do about a folder that is there.
fn in_the_way(folder: &Path) -> String {
    let shown = folder.display();
    if !Fanout::is_in(folder) {
        return format!("`{shown}` is there already: name a new folder by `--folder`");
    }
    let quoted = shell::quoted(&shown.to_string());
    format!(
        "`{shown}` was submitted already: `dbdyno retry {quoted}` does again what ended early, \
         another folder for `--folder` begins anew"
    )
}

/// How long tasks of `seconds` take over several hosts, up to as many as there are tasks: a host
/// has one task at a time, and none is divided.
fn over_hosts(tasks: u32, seconds: f64) -> String {
    let counts = [2, 5, 10, 20, 50, 100].into_iter().filter(|hosts| *hosts < tasks);
    let time =
        |hosts: u32| format!("{} over {hosts}", rough(seconds * f64::from(tasks.div_ceil(hosts))));
    let most = (tasks > 1).then_some(tasks);
    let times: Vec<String> = counts.chain(most).map(time).collect();
    match times.is_empty() {
        true => String::new(),
        false => format!(" ({}; more hosts would have no task)", times.join(", ")),
    }
}

/// A time by its two largest units: minutes say nothing beside months.
fn rough(seconds: f64) -> String {
    budget::time(seconds).split(' ').take(2).collect::<Vec<_>>().join(" ")
}

/// The plan of a task, which sets further keys. What there is to note was noted of the whole.
fn of_task(
    arguments: &Arguments,
    set: impl Iterator<Item = String>,
    catalog: &Catalog,
    places: &dbms::Places,
) -> anyhow::Result<Plan> {
    let mut experiment = arguments.experiment.clone();
    experiment.set.extend(set);
    let draft = experiment.draft(catalog, &Unset::default())?;
    Ok(::plan::plan(&draft, catalog, &HostVersions { places })?)
}

/// What a task sets where the experiment has more loads than a task has blocks: each task loads its
/// tables itself.
fn fewer_loads(whole: &Plan, blocks: u32) -> Option<String> {
    (whole.experiment.loads > blocks).then(|| format!("loads={blocks}"))
}

/// Refuses a server that is there already and that several tasks would use at the same time: each
/// would be a load beside the others, and only one can make its database.
fn check_servers(plan: &Plan, tasks: u32) -> anyhow::Result<()> {
    let is_shared = |subject: &&Subject| {
        let Build { attach, server, .. } = &subject.build;
        attach.as_ref().is_some_and(|attach| is_elsewhere(attach, server))
    };
    let shared = plan.subjects.iter().filter(|_| tasks > 1).find(is_shared);
    shared.map_or(Ok(()), |subject| {
        anyhow::bail!(
            "`{}` is there already, and {tasks} tasks would load it at the same time: make one \
             task of them by `--blocks-per-task {}`, or use `dbdyno run`",
            subject.label,
            plan.blocks.len()
        )
    })
}

/// Whether a server is not on the host of the task, so that all tasks enter the same one.
fn is_elsewhere(attach: &Attach, server: &str) -> bool {
    dbms::attach::endpoint(attach, server).is_ok_and(|endpoint| endpoint.is_elsewhere())
}

/// What all tasks say to `dbdyno run`, with a key that all of them set, if there is one. They start
/// in other folders.
fn words(arguments: &Arguments, set: Option<String>) -> Vec<String> {
    let experiment = arguments.experiment.experiment.as_deref().unwrap_or_default();
    let catalog = arguments.catalog.catalog.as_deref();
    let catalog = CatalogArgs { catalog: catalog.map(|folder| of_file(folder).into()) };
    // Another task on the same host is no reason to give up.
    let concurrency = if arguments.allow_concurrent { "--allow-concurrent" } else { "--wait" };
    let named = [of_experiment(experiment), concurrency.to_owned()];
    let set = set.map(|set| vec!["--set".to_owned(), set]).unwrap_or_default();
    [
        &named[..],
        &arguments.experiment.words(),
        &set,
        &catalog.words(),
        &arguments.host.words(),
        &arguments.counts.words(),
    ]
    .concat()
}

/// The absolute path of an experiment's file. One of the catalog has a name, whatever lies here
/// that is called so, such as the folder of an earlier fan-out.
fn of_experiment(named: &str) -> String {
    if ::plan::is_path(named) { of_file(Path::new(named)) } else { named.to_owned() }
}

/// The absolute path of a file or folder that is there.
fn of_file(path: &Path) -> String {
    let absolute = std::path::absolute(path).ok().filter(|absolute| absolute.exists());
    absolute.as_deref().unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::attach::PasswordFrom;

    #[test]
    fn an_experiment_of_the_catalog_is_named_and_no_folder() {
        assert!(Path::new("src").is_dir() && Path::new("Cargo.toml").is_file());
        assert_eq!(of_experiment("src"), "src");
        let file = of_experiment("Cargo.toml");
        assert!(file.starts_with('/') && file.ends_with("/Cargo.toml"), "{file}");
        assert_eq!(of_experiment("no-such.toml"), "no-such.toml");
    }

    #[test]
    fn a_server_elsewhere_is_the_same_one_for_all_tasks() {
        let check = |host: &str, socket: Option<&str>, expected| {
            let variable = PasswordFrom::Variable("DBDYNO_NO_SUCH_VARIABLE".to_owned());
            let attach = Attach {
                host: host.to_owned(),
                socket: socket.map(PathBuf::from),
                password: variable,
                ..Attach::default()
            };
            assert_eq!(is_elsewhere(&attach, "postgres"), expected, "{host}");
        };
        check("db.example", None, true);
        check("192.0.2.1", None, true);
        check("localhost", None, false);
        check("::1", None, false);
        check("", Some("/run/postgresql"), false);
    }

    #[test]
    fn a_task_has_no_more_loads_than_blocks() {
        let whole = crate::versions::tests::plan_of(&["blocks=6", "loads=3"]);
        let check = |blocks: u32, expected: Option<&str>| {
            assert_eq!(fewer_loads(&whole, blocks).as_deref(), expected, "{blocks}");
        };
        check(1, Some("loads=1"));
        check(2, Some("loads=2"));
        check(3, None);
    }

    #[test]
    fn tasks_are_spread_over_hosts_as_wholes() {
        let said = over_hosts(7, 3600.0);
        for expected in ["4h over 2", "2h over 5", "1h over 7; more"] {
            assert!(said.contains(expected), "{said}");
        }
        assert_eq!(over_hosts(1, 3600.0), "");
        assert_eq!(rough(90_061.0), "1day 1h");
    }
}
