//! Data folders that are loaded once per subject, settled, stopped cleanly, and copied for every
//! block.

use crate::{
    Error,
    calm::Patience,
    copy,
    driver::unexpected,
    header,
    ledger::Activity,
    maintenance::{self, Limits},
    run::Run,
    trial::Stand,
};
use dbms::Launch;
use fs_err as fs;
use model::{
    drive::{Command, LoadIndexes, LoadJob, LoadReport, Reply},
    plan::PhaseKind,
    schema::Table,
};
use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Connections that load at the same time, at most: more do not help on small hosts.
const LOAD_THREADS_MAX: usize = 8;
/// How long a server may take to settle after its load: the whole server stops then, and pays the
/// rest.
pub(crate) const SETTLE: Limits = Limits {
    floor: Duration::ZERO,
    ceiling: Duration::from_secs(120),
    patience: Patience::WhilePaying,
};

/// What one load of one subject took; part of the run's state.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Loaded {
    pub(crate) subject: String,
    pub(crate) load: u32,
    pub(crate) report: LoadReport,
    pub(crate) settle_seconds: f64,
    pub(crate) left: Vec<String>,
    pub(crate) folder_bytes: u64,
}

/// Starts these subjects once on an empty database, before any is loaded: a setting that one of
/// them does not know must not be found after the load of another. The folders are those that
/// `make` fills.
pub(crate) fn prepare(run: &mut Run<'_>, load: u32, subjects: &[usize]) -> Result<(), Error> {
    for &subject in subjects {
        let folder = path(run, subject, load);
        if is_complete(&folder) {
            continue;
        }
        let plan = run.plan;
        let about = &plan.subjects[subject];
        run.step(&format!("starting {} with its settings", about.label));
        copy::remove_folder(&folder)?;
        initialise(run, subject, &folder)?;
        let mut stand = Stand::start(run, subject, &folder, 0)?;
        header::settings(&mut stand, about)?;
        stand.end()?;
        run.prepared.insert((subject, load));
    }
    Ok(())
}

/// Makes the template of a subject unless an earlier execution of this run has left it.
pub(crate) fn make(run: &mut Run<'_>, subject: usize, load: u32) -> Result<(), Error> {
    let folder = path(run, subject, load);
    if is_complete(&folder) {
        return Ok(());
    }
    let label = run.subject(subject).label.clone();
    if !run.prepared.remove(&(subject, load)) {
        copy::remove_folder(&folder)?;
        initialise(run, subject, &folder)?;
    }
    run.step(&format!("loading {label} (load {load})"));
    let mut stand = Stand::start(run, subject, &folder, 0)?;
    let report = run.during(Activity::Load, |run| fill(run, subject, load, &mut stand))?;
    let start = Instant::now();
    let settled = run.during(Activity::Maintenance, |run| {
        maintenance::settle_now(run, subject, &mut stand, SETTLE)
    })?;
    let left = settled.left;
    let settle_seconds = start.elapsed().as_secs_f64();
    stand.end()?;
    let folder_bytes = dbms::bytes_below(&folder);
    run.step(&format!(
        "loaded {label}: {} rows by {} in {:.1} s with {} threads, indexes {:.1} s, \
         settled in {:.1} s, {} MiB",
        report.rows,
        report.method,
        report.rows_seconds,
        report.threads,
        report.index_seconds,
        settle_seconds,
        folder_bytes >> 20
    ));
    if !left.is_empty() {
        let left = left.join(", ");
        run.warn(&format!(
            "{label} still had pending background work {settle_seconds:.1} s after \
            its load: {left}"
        ));
    }
    for refused in settled.refused {
        run.warn(&format!("{label}: maintenance after its load: {refused}"));
    }
    let subject = label.clone();
    let loaded = Loaded { subject, load, report, settle_seconds, left, folder_bytes };
    run.writer.note_state(&format!("load {load} {label}"), &loaded)?;
    complete(&folder)
}

/// Marks a template as complete once all of it is on the disk: after a power cut a marker without
/// its data would make a torn template pass for a whole one.
fn complete(folder: &Path) -> Result<(), Error> {
    copy::sync_file_system(folder)?;
    Ok(fs::write(folder.with_extension("complete"), b"")?)
}

/// Whether there is a template that was loaded to its end.
fn is_complete(folder: &Path) -> bool {
    folder.is_dir() && folder.with_extension("complete").exists()
}

/// A fresh copy of a template, for one block.
pub(crate) fn copy_for_block(
    run: &mut Run<'_>,
    subject: usize,
    load: u32,
) -> Result<PathBuf, Error> {
    let copy = block_path(run, subject);
    copy::remove_folder(&copy)?;
    make_parent(run, &copy)?;
    dbms::copy_folder(&path(run, subject, load), &copy)?;
    Ok(copy)
}

/// The data folder of a trial of the classic design: a copy, unless nobody else will need the
/// template.
pub(crate) fn take_for_trial(
    run: &mut Run<'_>,
    subject: usize,
    load: u32,
) -> Result<PathBuf, Error> {
    let users = run.plan.blocks.iter().filter(|block| block.load == load).count();
    if users > 1 {
        return copy_for_block(run, subject, load);
    }
    let (template, taken) = (path(run, subject, load), block_path(run, subject));
    copy::remove_folder(&taken)?;
    make_parent(run, &taken)?;
    fs::remove_file(template.with_extension("complete"))?;
    fs::rename(template, &taken)?;
    Ok(taken)
}

fn block_path(run: &Run<'_>, subject: usize) -> PathBuf {
    run.place.data().join("block").join(folder_name(run, subject))
}

fn path(run: &Run<'_>, subject: usize, load: u32) -> PathBuf {
    run.place.data().join(format!("load-{load}")).join(folder_name(run, subject))
}

/// Labels may hold what file names may not.
fn folder_name(run: &Run<'_>, subject: usize) -> String {
    let label = &run.subject(subject).label;
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("{subject}-{}", label.chars().map(plain).collect::<String>())
}

fn make_parent(run: &Run<'_>, folder: &Path) -> Result<(), Error> {
    let parent = folder.parent().filter(|parent| *parent != run.place.data());
    if let Some(name) = parent.and_then(Path::file_name) {
        run.place.folder_for_data(&name.to_string_lossy())?;
    }
    Ok(())
}

/// An empty data folder, made by the server's own means.
pub(crate) fn initialise(run: &mut Run<'_>, subject: usize, folder: &Path) -> Result<(), Error> {
    make_parent(run, folder)?;
    let plan = run.plan;
    let about = &plan.subjects[subject];
    match &run.installed[subject] {
        None => Ok(dbms::create_private_folder(folder)?),
        Some(installed) => {
            let launch = Launch {
                installed,
                config: &about.config,
                build: &about.build,
                data: folder,
                place: &run.place,
                label: &about.label,
            };
            Ok(dbms::initialise(&launch, &run.keeper)?)
        }
    }
}

/// Creates and fills the tables of every schema that the plan uses.
pub(crate) fn fill(
    run: &mut Run<'_>,
    subject: usize,
    load: u32,
    stand: &mut Stand,
) -> Result<LoadReport, Error> {
    let engine = run.subject(subject).config.engine.clone().unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut total = LoadReport::default();
    let now_seconds = load_time(run)?;
    for schema in &run.plan.schemas {
        let phase = run
            .plan
            .phases
            .iter()
            .find(|phase| run.plan.workloads[phase.workload].schema == schema.name);
        let Some(phase) = phase else { continue };
        let job = LoadJob {
            schema: schema.clone(),
            parameters: phase.parameters.clone(),
            engine: engine.clone(),
            threads: u32::try_from(cpus.min(LOAD_THREADS_MAX)).unwrap_or(1),
            seed: run.plan.experiment.seed.wrapping_add(u64::from(load)),
            indexes: indexes(run, &schema.name),
            now_seconds,
        };
        match stand.driver.ask(&Command::Load(job))? {
            Reply::Loaded(report) => {
                total.rows += report.rows;
                total.threads = total.threads.max(report.threads);
                total.rows_seconds += report.rows_seconds;
                total.index_seconds += report.index_seconds;
                total.method = report.method;
            }
            other => return Err(unexpected("load", &other)),
        }
    }
    Ok(total)
}

/// Key of the moment that `now` is in loaded rows, in a run's state.
const LOAD_TIME: &str = "load time";

/// The time of a run's first load, seconds since 1970: loads of other servers, and of this run when
/// it is resumed, fill in the same.
fn load_time(run: &Run<'_>) -> Result<u64, Error> {
    if let Some(seconds) = run.writer.state(LOAD_TIME)? {
        return Ok(seconds);
    }
    let seconds = crate::trial::wall_us() / 1_000_000;
    run.writer.note_state(LOAD_TIME, &seconds)?;
    Ok(seconds)
}

/// A schema whose indexes are a phase of their own is loaded without them.
fn indexes(run: &Run<'_>, schema: &str) -> LoadIndexes {
    let phases = run.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Index);
    let mut schemas = phases.map(|phase| &run.plan.workloads[phase.workload].schema);
    if schemas.any(|name| name == schema) { LoadIndexes::LeftOut } else { LoadIndexes::Created }
}

/// Reads every table and index into the cache.
pub(crate) fn warm(run: &Run<'_>, stand: &mut Stand) -> Result<(), Error> {
    let protocol = stand.target.protocol.clone();
    for (table, n, name) in copies(run) {
        for dialect in ["any", &protocol] {
            for sql in table.warm.get(dialect).into_iter().flatten() {
                stand
                    .driver
                    .query(&sql.replace("{table}", &name).replace("{n}", &n.to_string()))?;
            }
        }
    }
    Ok(())
}

/// Names of all loaded tables.
pub(crate) fn tables(run: &Run<'_>) -> Vec<String> {
    copies(run).into_iter().map(|(_, _, name)| name).collect()
}

/// Every numbered copy of every table of the plan, with its number and name.
fn copies<'a>(run: &Run<'a>) -> Vec<(&'a Table, i64, String)> {
    let mut found: Vec<(&Table, i64, String)> = Vec::new();
    let plan = run.plan;
    for phase in &plan.phases {
        let schema = &plan.workloads[phase.workload].schema;
        let tables = plan.schemas.iter().filter(|s| s.name == *schema).flat_map(|s| &s.tables);
        for table in tables {
            for n in 1..=table.copies.evaluate(&phase.parameters).unwrap_or(1) {
                let name = table.name.replace("{n}", &n.to_string());
                if found.iter().all(|(_, _, known)| *known != name) {
                    found.push((table, n, name));
                }
            }
        }
    }
    found
}
