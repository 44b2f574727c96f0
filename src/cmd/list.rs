//! `dbdyno list`: one line each, from the tables in the code and the catalog.

use super::Verb;
use crate::{
    args::{CatalogArgs, HostArgs, ResultsArgs},
    exit::Code,
    resumption, talk,
};
use clap::{
    ArgMatches, Args, FromArgMatches,
    error::{ContextKind, ContextValue},
};
use model::{escape, metric::Metric, number::counted, quoted, record::TrialHeader};
use plan::Catalog;
use store::{Results, RunInfo};
use values::civil::Civil;

pub(super) const VERB: Verb = Verb {
    name: "list",
    about: "Lists servers, builds, workloads, runs and more",
    details: "",
    examples: &[
        ("dbdyno list experiments", "Experiments that `dbdyno run` knows by name"),
        ("dbdyno list builds", "Server versions that `dbdyno install` can fetch"),
        ("dbdyno list builds installed", "Those that are on this host"),
        ("dbdyno list runs", "Runs in the results folder, oldest first"),
    ],
    arguments: Arguments::augment_args,
    run,
};

/// The cells of each line: a name, whatever else is known, and often one line of help.
type Lines = Vec<Vec<String>>;

/// A thing that can be listed, and its lines.
struct Shelf {
    name: &'static str,
    lines: fn(&Arguments) -> anyhow::Result<Lines>,
}

/// In the order of the command's help.
const SHELVES: &[Shelf] = &[
    Shelf { name: "servers", lines: servers },
    Shelf { name: "builds", lines: builds },
    Shelf { name: "configs", lines: configs },
    Shelf { name: "factors", lines: factors },
    Shelf { name: "workloads", lines: |a| Ok(pairs(catalog(a)?.workloads()?)) },
    Shelf { name: "schemas", lines: |a| Ok(pairs(catalog(a)?.schemas()?)) },
    Shelf { name: "suites", lines: |a| Ok(pairs(catalog(a)?.suites()?)) },
    Shelf { name: "recipes", lines: |a| Ok(pairs(catalog(a)?.recipes()?)) },
    Shelf { name: "metrics", lines: metrics },
    Shelf { name: "probes", lines: probes },
    Shelf { name: "experiments", lines: |a| Ok(pairs(catalog(a)?.experiments()?)) },
    Shelf { name: "runs", lines: runs },
    Shelf { name: "formats", lines: formats },
    Shelf { name: "importers", lines: importers },
];

#[derive(Debug, Args)]
struct Arguments {
    /// What to list
    #[arg(value_name = "WHAT", value_parser = SHELVES.iter().map(|s| s.name).collect::<Vec<_>>())]
    what: String,
    /// Only lines that contain this text in any case, such as `postgres` or `installed`
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    results: ResultsArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let arguments = Arguments::from_arg_matches(matches)?;
    let shelf = SHELVES.iter().find(|shelf| shelf.name == arguments.what);
    let lines = shelf.map_or_else(|| Ok(Vec::new()), |shelf| (shelf.lines)(&arguments))?;
    let text = arguments.text.unwrap_or_default();
    let wanted = text.to_lowercase();
    let holds = |line: &Vec<String>| line.iter().any(|one| one.to_lowercase().contains(&wanted));
    let harmless = |line: &Vec<String>| line.iter().map(|cell| escape::terminal(cell)).collect();
    let chosen: Lines = lines.iter().filter(|line| holds(line)).map(harmless).collect();
    anyhow::ensure!(
        !chosen.is_empty() || lines.is_empty(),
        "none of {} {} contains `{text}`",
        lines.len(),
        arguments.what
    );
    if !chosen.is_empty() {
        talk::data(&aligned(&chosen, talk::columns(&std::io::stdout())))?;
    }
    Ok(Code::Done)
}

/// For a bare `list`: what can be listed. Nothing for another error.
pub(super) fn hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let names = quoted(SHELVES.iter().map(|shelf| shelf.name));
    missing
        .iter()
        .any(|argument| argument == "<WHAT>")
        .then(|| format!("say what to list, as in `dbdyno list builds`; there are {names}"))
}

/// Blanks before what is left of a line that is longer than the terminal.
const INDENT: usize = 4;

/// Lines whose columns begin below each other, wrapped to the columns of the terminal.
fn aligned(lines: &Lines, terminal: Option<usize>) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| report::width(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let Some((last, before)) = line.split_last() else { continue };
        let blanks = |cell: &str, width: &usize| " ".repeat(width - report::width(cell) + 2);
        let before = before.iter().zip(&widths);
        let before: String =
            before.map(|(cell, width)| cell.clone() + &blanks(cell, width)).collect();
        // Where little room is left behind the first columns, what goes on begins below them.
        let columns = report::width(&before);
        let indent = if terminal.is_some_and(|all| columns > all / 2) { INDENT } else { columns };
        let room = terminal.map(|all| all.saturating_sub(indent));
        let first_apart = indent < columns;
        let mut parts = report::wrap(last, room, 0).into_iter();
        let first = if first_apart { None } else { parts.next() };
        text.push_str(format!("{before}{}", first.unwrap_or_default()).trim_end());
        text.push('\n');
        parts.for_each(|part| text.push_str(&format!("{:indent$}{part}\n", "")));
    }
    text
}

fn catalog(arguments: &Arguments) -> anyhow::Result<Catalog> {
    arguments.catalog.open()
}

fn pairs(listings: Vec<plan::Listing>) -> Lines {
    listings.into_iter().map(|listing| vec![listing.name, listing.help]).collect()
}

fn servers(_: &Arguments) -> anyhow::Result<Lines> {
    let products = dbms::product::DBMSES.iter();
    Ok(products.map(|product| vec![product.name().to_owned(), product.help().to_owned()]).collect())
}

/// Factors that the planner multiplies by itself.
const PLANNED: [(&str, &str); 4] = [
    ("build", "a server with a version (`mysql@9`), or a name of `[servers.NAME]`"),
    ("clients", "connections: numbers, or `\"1..64*2\"` for 1, 2, 4 and so on to 64"),
    ("mode", "`prepared` or `text`: how statements are sent"),
    ("PARAMETER", "a number: any parameter of the workloads, such as `range`"),
];

fn factors(_: &Arguments) -> anyhow::Result<Lines> {
    let planned = PLANNED.iter().map(|(name, help)| (*name, *help));
    let of_start = dbms::factor::FACTORS.iter().map(|factor| (factor.name, factor.help));
    let line = |(name, help): (&str, &str)| vec![name.to_owned(), help.to_owned()];
    Ok(planned.chain(of_start).map(line).collect())
}

fn builds(arguments: &Arguments) -> anyhow::Result<Lines> {
    let places = arguments.host.seen_places()?;
    let mut lines = Vec::new();
    for product in dbms::product::DBMSES {
        for build in dbms::provenance::available(*product, &places)? {
            lines.push(vec![format!("{}@{}", product.name(), build.version), origin(&build)]);
        }
        if product.embedded() {
            let bundled = "bundled; a part of dbdyno".to_owned();
            lines.push(vec![product.name().to_owned(), bundled]);
        }
    }
    Ok(lines)
}

/// Characters of a checksum that tell builds apart.
const CHECKSUM_WIDTH: usize = 12;

/// Characters of the name of a commit.
const COMMIT_WIDTH: usize = 40;

/// Where a build comes from, and what is known of it where it is installed.
fn origin(build: &dbms::provenance::Available) -> String {
    let made = match (build.is_source, build.installed.is_some()) {
        (true, false) => "; to be compiled on this host",
        _ => "",
    };
    let trust = match build.moves {
        Some(dbms::Moves::Never) if build.is_known => "pinned by SHA-256; ",
        Some(dbms::Moves::Never) => "pinned by version, trusted on first use; ",
        Some(dbms::Moves::Always) => "rolling, signed by Debian; ",
        None => "",
    };
    let mut text = format!("{trust}{}{made}", build.origin);
    if build.is_repackaged {
        text.push_str("; repackaged by a third party");
    }
    if let Some((found, sha256)) = &build.installed {
        let compiler =
            if found.compiler.is_empty() { "compiler unknown" } else { found.compiler.as_str() };
        let short: String = sha256.chars().take(CHECKSUM_WIDTH).collect();
        let flags = if build.is_source { format!(", {}", found.flags) } else { String::new() };
        let revision = if found.revision.len() >= COMMIT_WIDTH {
            format!(", commit {}", found.revision)
        } else {
            String::new()
        };
        text.push_str(&format!("; installed: {compiler}{flags}{revision}, binary SHA-256 {short}"));
        if let Some(folder) = &build.folder {
            text.push_str(&format!(", in {}", folder.display()));
        }
    }
    text
}

fn configs(arguments: &Arguments) -> anyhow::Result<Lines> {
    let catalog = catalog(arguments)?;
    let mut lines = Vec::new();
    for product in dbms::product::DBMSES {
        for config in catalog.configs(product.name())? {
            lines.push(vec![format!("{}/{}", product.name(), config.name), config.help]);
        }
    }
    Ok(lines)
}

fn metrics(_: &Arguments) -> anyhow::Result<Lines> {
    let line = |metric: &Metric| vec![metric.name.to_owned(), meaning(metric)];
    Ok(analysis::METRICS.iter().map(line).collect())
}

/// The unit in brackets, which a pure number has none of, and what is measured.
fn meaning(metric: &Metric) -> String {
    match metric.unit {
        "" => metric.help.to_owned(),
        unit => format!("[{unit}] {}", metric.help),
    }
}

fn probes(_: &Arguments) -> anyhow::Result<Lines> {
    let probes = probe::source::PROBES.iter();
    Ok(probes
        .map(|probe| {
            let names: Vec<&str> = probe.counters.iter().map(|counter| counter.name).collect();
            vec![probe.name.to_owned(), names.join(", ")]
        })
        .collect())
}

fn formats(_: &Arguments) -> anyhow::Result<Lines> {
    let formats = report::format::FORMATS.iter();
    Ok(formats.map(|format| vec![format.name.to_owned(), format.help.to_owned()]).collect())
}

fn importers(_: &Arguments) -> anyhow::Result<Lines> {
    let importers = archive::import::IMPORTERS.iter();
    let line = |importer: &archive::import::Importer| {
        vec![importer.name.to_owned(), importer.help.to_owned()]
    };
    Ok(importers.map(line).collect())
}

/// Oldest first: identifier, start (UTC), experiment, host, state, what it has measured, and the
/// servers.
fn runs(arguments: &Arguments) -> anyhow::Result<Lines> {
    let results = Results::open(&arguments.results.results)?.snapshot();
    let mut lines = Vec::new();
    let (runs, warnings) = results.readable_runs()?;
    warnings.iter().for_each(|warning| talk::say(&format!("warning: {warning}")));
    for run in runs {
        let start = Civil::of(run.started_us / 1_000_000);
        let date = format!("{}-{:02}-{:02}", start.year, start.month, start.day);
        let time = format!("{:02}:{:02}", start.hour, start.minute);
        // One damaged run costs its own line.
        let [state, measured, servers] = progress(&results, &run).unwrap_or_else(|error| {
            talk::say(&format!("warning: run {}: {error:#}", run.id));
            ["damaged".to_owned(), String::new(), String::new()]
        });
        let host = run.environment.host;
        lines.push(vec![run.id, date, time, run.experiment, host, state, measured, servers]);
    }
    if lines.is_empty() && warnings.is_empty() {
        talk::say(&format!("`{}` has no runs", results.dir().display()));
    }
    Ok(lines)
}

/// Characters of the reason why a run ended early.
const REASON_WIDTH: usize = 60;

/// Whether a run is finished, how many of its blocks are complete, and on which servers.
fn progress(results: &Results, run: &RunInfo) -> anyhow::Result<[String; 3]> {
    if results.import_of(&run.id)?.is_some() {
        return Ok(["imported".to_owned(), String::new(), String::new()]);
    }
    let plan = match results.plan_of(&run.id) {
        Err(store::Error::OldPlan { found, .. }) => {
            return Ok(["unreadable".to_owned(), format!("plan format {found}"), String::new()]);
        }
        plan => plan?,
    };
    let trials = results.trials(&run.id)?;
    let complete = resumption::complete_blocks(&trials, &plan);
    // What is decided, or has spent its budget, ends earlier.
    let at_most = if run.finished && complete < plan.blocks.len() { "at most " } else { "" };
    let mut blocks = format!("{complete} of {at_most}{}", counted(plan.blocks.len(), "block"));
    let failure: Option<String> = results.state_of(&run.id, runner::FAILURE)?;
    if let Some(why) = failure.filter(|why| !run.finished && !why.is_empty()) {
        // Other lines are padded to the longest one.
        let short: String = why.chars().take(REASON_WIDTH).collect();
        let cut = if short.len() < why.len() { "…" } else { "" };
        blocks.push_str(&format!(": {short}{cut}"));
    }
    let state = match run.finished {
        true => "finished",
        false if trials.is_empty() => "not begun",
        false => "unfinished",
    };
    Ok([state.to_owned(), blocks, binaries(trials.iter().map(|trial| &trial.header))])
}

/// Each variant with the version and the binary that ran: a build may be replaced between runs.
fn binaries<'a>(headers: impl Iterator<Item = &'a TrialHeader>) -> String {
    let mut said: Vec<String> = Vec::new();
    for header in headers {
        let version = &header.server_version;
        let binary = match header.short_sha256() {
            "" => String::new(),
            short => format!(" binary {short}"),
        };
        let one = format!("{}: {version}{binary}", header.subject);
        if !said.contains(&one) {
            said.push(one);
        }
    }
    said.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_metric_has_its_unit_in_brackets_and_a_pure_number_has_none() {
        let check = |name: &str, expected: &str| {
            let said = analysis::metric(name).map(meaning).unwrap_or_default();
            assert!(said.starts_with(expected), "{name}: {said}");
        };
        check("latency_us_p99", "[us] 99th percentile");
        check("host_cpu_percent_per_op", "[% s/op] busy share");
        check("server_instructions_per_cycle", "instructions per cycle of the whole server");
        check("ops_per_second_relative", "archives of ratios only");
    }

    #[test]
    fn a_build_that_is_not_compiled_yet_does_not_read_as_if_it_were() {
        let build = dbms::provenance::Available {
            version: "3.46.0".to_owned(),
            moves: None,
            origin: "crate".to_owned(),
            is_known: false,
            is_repackaged: false,
            is_source: true,
            installed: None,
            folder: None,
        };
        assert_eq!(origin(&build), "crate; to be compiled on this host");
    }

    /// Counters that no probe reads: the runner adds them to what probes found.
    const OF_THE_RUNNER: [&str; 10] = [
        "data_folder_bytes",
        "database_bytes",
        "index_bytes",
        "emulated_fsyncs",
        "emulated_usual_user_instructions",
        "wait_other_ns",
        "wait_read_ns",
        "wait_sync_ns",
        "wait_task_ns",
        "wait_write_ns",
    ];

    /// Counters of probes that are no metric, and what reads them.
    const NO_METRIC: [(&str, &str); 2] = [
        ("host_irq_ns", "tells interrupts from other processes"),
        ("steal_ns", "marks slices as disturbed"),
    ];

    #[test]
    fn every_counter_of_a_metric_is_read_somewhere_and_every_one_of_a_probe_is_used() {
        let probes = probe::source::PROBES.iter().flat_map(|probe| probe.counters);
        let offered: BTreeSet<&str> = probes.map(|counter| counter.name).collect();
        let mut read = offered.clone();
        read.extend(OF_THE_RUNNER);
        let parts = plan::Catalog::embedded().unwrap().all_source_parts().unwrap();
        let events = parts.values().flat_map(|parts| &parts.rare);
        let events: Vec<[String; 2]> = events
            .map(|event| &event.name)
            .map(|name| [format!("emulated_{name}"), format!("emulated_{name}_user_instructions")])
            .collect();
        read.extend(events.iter().flatten().map(String::as_str));
        let sources = analysis::METRICS.iter().flat_map(|metric| &metric.sources);
        let asked: BTreeSet<&str> =
            sources.flat_map(|source| source.counters.iter().copied()).collect();
        let unread: Vec<&&str> = asked.difference(&read).collect();
        assert!(unread.is_empty(), "metrics.txt names counters that nothing reads: {unread:?}");
        let unused: Vec<&str> = offered.difference(&asked).copied().collect();
        let known = NO_METRIC.map(|(counter, _)| counter);
        assert_eq!(unused, known, "a counter of a probe needs a row of metrics.txt, or a reason");
    }

    /// Names in the first column of the table of a document that begins with `head`.
    fn names_in(document: &str, head: &str) -> BTreeSet<String> {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let text = fs_err::read_to_string(path).unwrap();
        let table = text.lines().skip_while(|line| !line.starts_with(head)).skip(2);
        let rows = table.map_while(|line| line.strip_prefix("| ")?.split(" | ").next());
        let names = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn documents_name_every_factor_and_every_importer() {
        let factors = dbms::factor::FACTORS.iter().map(|factor| factor.name.to_owned());
        assert_eq!(names_in("FORMAT.md", "| factor | a level is"), factors.collect());
        let importers = archive::import::IMPORTERS.iter().map(|one| one.name.to_owned());
        assert_eq!(names_in("docs/archives.md", "| importers |"), importers.collect());
    }
}
