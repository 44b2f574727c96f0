//! `dbdyno verify`: what every workload does on every subject, instead of how fast.

use super::Verb;
use crate::{
    args::{CatalogArgs, Color, ConcurrencyArgs, ExperimentArgs, HostArgs, ProgressStyle},
    count, credentials,
    exit::Code,
    progress::Terminal,
    signals, talk, trust,
};
use anyhow::Context;
use clap::{ArgMatches, Args, FromArgMatches};
use model::{number::counted, plan::Plan, schema::Schema};
use report::document::{Column, Document, Item, Row, Table, TableCell};
use runner::{
    Counts, DataFolders, Discrepancy, Options, Resume, Stop, Verification, Verified, VerifiedPhase,
};

pub(super) const VERB: Verb = Verb {
    name: "verify",
    about: "Checks that every workload does the same work on every server",
    details: "Runs each workload a few times and checks the rows returned and changed, the index \
              used, the number of keys, prepared statements against text, the rows left in the \
              tables, and the settings of the servers. Measures nothing.\n\n\
              Exit codes:\n  \
              0    everything agrees, or the workload's file documents the deviation\n  \
              2    wrong usage, a failure, or an undocumented deviation\n  \
              130  interrupted",
    examples: &[
        ("dbdyno verify", "All sysbench workloads on the embedded SQLite"),
        ("dbdyno verify verify-all", "The same on all servers and storage engines"),
        (
            "dbdyno verify --set 'factors.build=[\"postgres@18\",\"mysql@9\"]'",
            "The same on two servers of your choice",
        ),
        ("dbdyno verify mine.toml --details", "Your own experiment, with all counts"),
    ],
    arguments: |command| ExperimentArgs::with_default(Arguments::augment_args(command), SHIPPED),
    run,
};

/// The experiment that is verified where none is named: every published row on embedded SQLite.
const SHIPPED: &str = "verify";

#[derive(Debug, Args)]
struct Arguments {
    #[command(flatten)]
    experiment: ExperimentArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    #[command(flatten)]
    host: HostArgs,
    #[command(flatten)]
    concurrency: ConcurrencyArgs,
    /// Rows per table, instead of the experiment's. Much smaller tables change query plans
    #[arg(
        long,
        value_name = "COUNT",
        value_parser = |text: &str| count::whole::<u64>(text, 1..=count::MOST),
        allow_negative_numbers = true,
    )]
    rows: Option<u64>,
    /// Operations per phase, in each of its three executions
    #[arg(
        long,
        value_name = "COUNT",
        default_value_t = 10,
        value_parser = |text: &str| count::whole::<u64>(text, 1..=count::MOST),
        allow_negative_numbers = true,
    )]
    operations: u64,
    /// Also print the counts of every phase on every server
    #[arg(long)]
    details: bool,
    /// Progress display on stderr [default: bar on a terminal, otherwise plain]
    #[arg(long, value_enum, value_name = "STYLE")]
    progress: Option<ProgressStyle>,
}

fn run(matches: &ArgMatches) -> anyhow::Result<Code> {
    let mut arguments = Arguments::from_arg_matches(matches)?;
    credentials::check()?;
    let catalog = arguments.catalog.open()?;
    let places = arguments.host.places()?;
    arguments.experiment.set.extend(arguments.rows.map(|rows| format!("rows={rows}")));
    let plan = arguments.experiment.plan(&catalog, &places)?;
    trust::warn_of_code(&arguments.experiment, &catalog)?;
    let stop = Stop::default();
    signals::connect(&stop).context("cannot listen for Ctrl-C")?;
    let options = Options {
        exe: std::env::current_exe().context("cannot find the path of this program")?,
        results: std::path::PathBuf::new(),
        resume: Resume::No,
        data: DataFolders::Remove,
        counts: Some(Counts::None),
        disturbed: crate::args::disturbed_rounds(),
        ending: Default::default(),
        explain: None,
        source: Default::default(),
        announcement: arguments
            .concurrency
            .announce((&format!("verify {}", plan.experiment.name), false), &stop)?,
        command: Vec::new(),
    };
    let terminal = Terminal::new(arguments.progress);
    let what = Verification { plan: &plan, operations: arguments.operations };
    let verified = runner::verify(&what, &places, &options, &stop, &terminal)?;
    drop(terminal);
    let mut document = document(&plan, &verified);
    if arguments.details {
        document.items.push(Item::Table(seen(&verified.phases)));
    }
    document.paragraph(total(&plan, &verified));
    talk::data(&talk::text(&document, Color::screen(matches)))?;
    if verified.failed() {
        let failed = counted(failures(&verified).count(), "failure");
        anyhow::bail!("{failed}, listed above");
    }
    Ok(Code::Done)
}

fn all(verified: &Verified) -> impl Iterator<Item = &Discrepancy> {
    let of_phases = verified.phases.iter().flat_map(|phase| &phase.discrepancies);
    of_phases.chain(verified.settings.values().flatten())
}

fn failures(verified: &Verified) -> impl Iterator<Item = &Discrepancy> {
    all(verified).filter(|one| one.documented.is_none())
}

/// A table of phases and subjects, then one line for each thing that differs.
fn document(plan: &Plan, verified: &Verified) -> Document {
    let mut document = Document::default();
    document.items.push(Item::Table(overview(plan, verified)));
    let mut lines: Vec<String> = Vec::new();
    for (subject, found) in &verified.settings {
        lines.extend(found.iter().map(|one| line(("settings", subject), one)));
    }
    for phase in &verified.phases {
        let at = (phase.phase.as_str(), phase.subject.as_str());
        lines.extend(phase.discrepancies.iter().map(|one| line(at, one)));
    }
    for line in lines {
        document.paragraph(line);
    }
    document
}

fn total(plan: &Plan, verified: &Verified) -> String {
    let documented = all(verified).filter(|one| one.documented.is_some()).count();
    let rows: f64 = plan.schemas.iter().map(Schema::all_rows).sum();
    format!(
        "{} on {} with {} in all tables: {}, {}.",
        counted(plan.phases.iter().filter(|phase| is_measured(phase)).count(), "phase"),
        counted(plan.subjects.len(), "subject"),
        counted(rows as u64, "row"),
        counted(failures(verified).count(), "failure"),
        counted(documented, "documented deviation")
    )
}

fn is_measured(phase: &model::plan::Phase) -> bool {
    phase.kind == model::plan::PhaseKind::Measure
}

fn line((phase, subject): (&str, &str), one: &Discrepancy) -> String {
    match &one.documented {
        None => format!("FAILED {phase} on {subject}: {}", one.text),
        Some(reason) => format!("deviates {phase} on {subject}: {} ({reason})", one.text),
    }
}

fn overview(plan: &Plan, verified: &Verified) -> Table {
    let mut columns = vec![Column::words("workload")];
    columns.extend(plan.subjects.iter().map(|subject| Column::words(&subject.label)));
    let of_phase = |name: &str| {
        let of = |subject: &str| {
            let one = |one: &&VerifiedPhase| one.phase == name && one.subject == subject;
            verified.phases.iter().find(one).map(|one| &one.discrepancies)
        };
        row(name, plan, of)
    };
    let unloaded = verified.phases.iter().any(|phase| phase.phase == runner::LOAD);
    let mut rows: Vec<Row> = unloaded.then(|| of_phase(runner::LOAD)).into_iter().collect();
    rows.push(row("settings", plan, |subject| verified.settings.get(subject)));
    let measured = plan.phases.iter().filter(|phase| is_measured(phase));
    rows.extend(measured.map(|phase| of_phase(&phase.name)));
    Table { columns, rows }
}

fn row<'a>(name: &str, plan: &Plan, of: impl Fn(&str) -> Option<&'a Vec<Discrepancy>>) -> Row {
    let mut cells = vec![TableCell::Text(name.to_owned())];
    cells.extend(plan.subjects.iter().map(|subject| match of(&subject.label) {
        None => TableCell::Missing,
        Some(found) => TableCell::Text(word(found)),
    }));
    Row::Cells(cells)
}

/// `ok`, or which checks found something: in capitals what nobody documents.
fn word(found: &[Discrepancy]) -> String {
    let mut words: Vec<String> = Vec::new();
    for one in found {
        let check = one.check.map_or_else(|| "failed".to_owned(), |c| format!("{c:?}"));
        let word = match one.documented {
            None => check.to_uppercase(),
            Some(_) => format!("{} deviates", check.to_lowercase()),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.is_empty() { "ok".to_owned() } else { words.join(", ") }
}

/// What every phase did, as it is written.
fn seen(phases: &[VerifiedPhase]) -> Table {
    let counts = ["statements", "rows", "changed", "idle writes"];
    let mut columns = vec![Column::words("workload"), Column::words("subject")];
    columns.extend(counts.map(|title| Column::numbers(title, "")));
    columns.push(Column::words("indexes"));
    let cells = |one: &VerifiedPhase| {
        let facts = &one.facts;
        let counts = [facts.statements, facts.rows, facts.changed, facts.idle_writes];
        let mut cells =
            vec![TableCell::Text(one.phase.clone()), TableCell::Text(one.subject.clone())];
        cells.extend(counts.map(TableCell::Count));
        cells.push(TableCell::Text(facts.indexes.join(", ")));
        Row::Cells(cells)
    };
    Table { columns, rows: phases.iter().map(cells).collect() }
}
