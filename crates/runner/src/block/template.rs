//! Data folders that are loaded once per subject, settled, stopped cleanly, and copied for every
//! block.

use super::{
    aging,
    maintenance::{self, Limits},
    rehearsal,
};
use crate::{
    Error,
    clock::wall_us,
    databases,
    host::{capacity, files},
    ledger::Activity,
    run::Run,
    server::{Instance, Patience, attached, data, initialise, unexpected},
    trial,
};
use dbms::{Started, Unasked};
use model::{
    Levels,
    drive::{Command, LoadIndexes, LoadJob, LoadReport, Reply},
    number::{counted, ordinal},
    plan::PhaseKind,
};
use std::time::{Duration, Instant};

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
    /// Operations that aged the tables.
    #[serde(default)]
    pub(crate) aged: u64,
    pub(crate) settle_seconds: f64,
    pub(crate) left: Vec<String>,
    pub(crate) folder_bytes: u64,
}

/// Starts these subjects once on a copy of an empty database, before any is loaded: a setting or a
/// statement that one of them refuses must not be found after the load of another. The empty
/// folders stay as they are and are those that `make` fills.
pub(crate) fn prepare(run: &mut Run<'_>, load: u32, subjects: &[usize]) -> Result<(), Error> {
    let plan = run.plan;
    let mut started: Vec<Started<'_>> = Vec::new();
    let mut subjects = subjects.to_vec();
    // The first one of the plan is what others are compared with.
    subjects.sort_unstable();
    for subject in subjects {
        let folder = data::template_path(run, subject, load);
        if data::is_complete(&folder) {
            continue;
        }
        let about = &plan.subjects[subject];
        let is_attached = about.build.attach.is_some();
        let what = if is_attached { "entering {}" } else { "starting {} with its settings" };
        run.step(&what.replace("{}", &about.label));
        files::remove_folder(&folder)?;
        let settings = tried(run, subject, load).map_err(|error| error.of_subject(&about.label))?;
        capacity::check_started(plan, about, &settings)?;
        let installed = run.installed[subject].as_ref();
        let version = installed.map_or(String::new(), |installed| installed.version.clone());
        started.push(Started { subject: about, version, settings });
        if about.build.attach.is_none() {
            run.prepared.insert((subject, load));
        }
    }
    let differ = check_conditions(&started, &plan.experiment.accept);
    match differ {
        // What is there already is compared as it is.
        Err(Error::Preflight(sentences)) if databases::is_attached(plan) => {
            sentences.lines().for_each(|sentence| run.warn(sentence));
            Ok(())
        }
        other => other,
    }
}

/// Makes an empty folder for a subject, and tries all statements on a copy of it; the settings that
/// its server reports.
fn tried(run: &Run<'_>, subject: usize, load: u32) -> Result<Levels, Error> {
    initialise(run, subject, &data::template_path(run, subject, load))?;
    let copy = data::copy_for(run, subject, load, "rehearsal")?;
    let mut instance = Instance::start(run, subject, &copy, 0)?;
    let settings = trial::settings(&mut instance, run.subject(subject))?;
    rehearsal::prepare_all(run, subject, &mut instance)?;
    instance.end()?;
    files::remove_folder(&copy)?;
    attached::unmake(run, subject);
    Ok(settings)
}

/// Refuses subjects that differ from the first one in what nobody asked for, and what the
/// experiment does not accept: the difference would be taken for that of their builds.
fn check_conditions(started: &[Started<'_>], accepted: &[String]) -> Result<(), Error> {
    let Some((first, others)) = started.split_first() else { return Ok(()) };
    let mut sentences = Vec::new();
    for other in others {
        let [product, protocol] = [first, other].map(|one| dbms::find(&one.subject.build.server));
        let (product, protocol) = (product?, protocol?.protocol());
        // What others are set by has other names.
        if product.protocol() != protocol {
            continue;
        }
        let unasked = dbms::unasked(product.conditions(), first, other).into_iter();
        let unasked = unasked.filter(|one| !accepted.iter().any(|name| name == one.condition.name));
        let is_attached = [first, other].iter().any(|one| one.subject.build.attach.is_some());
        sentences.extend(unasked.map(|Unasked { condition, setting, values: [one, two] }| {
            let (name, effect) = (condition.name, condition.effect);
            let remedy = match is_attached {
                // One that is there already has no configuration here.
                true => format!("give `{setting}` the same value on both servers"),
                false => format!("write {} into both configurations", condition.remedy),
            };
            format!(
                "`{}` and `{}` differ in `{setting}` (`{one}` and `{two}`), which no configuration \
                 asks for: {effect}; {remedy}, or accept it with `accept = [\"{name}\"]`",
                first.subject.label, other.subject.label
            )
        }));
    }
    match sentences.is_empty() {
        true => Ok(()),
        false => Err(Error::Preflight(sentences.join("\n"))),
    }
}

/// Makes the template of a subject unless an earlier execution of this run has left it.
pub(crate) fn make(run: &mut Run<'_>, subject: usize, load: u32) -> Result<(), Error> {
    if data::is_complete(&data::template_path(run, subject, load)) {
        return Ok(());
    }
    let label = run.subject(subject).label.clone();
    made(run, subject, load).map_err(|error| error.of_subject(&label))
}

fn made(run: &mut Run<'_>, subject: usize, load: u32) -> Result<(), Error> {
    let folder = data::template_path(run, subject, load);
    let label = run.subject(subject).label.clone();
    if !run.prepared.remove(&(subject, load)) {
        files::remove_folder(&folder)?;
        initialise(run, subject, &folder)?;
    }
    run.step(&format!("loading {label} (load {})", ordinal(load)));
    let mut instance = Instance::start(run, subject, &folder, 0)?;
    let filled = run.during(Activity::Load, |run| {
        let report = fill(run, subject, load, &mut instance)?;
        Ok((report, aging::age(run, &mut instance)?))
    });
    let (report, aged) =
        filled.map_err(|error| cause(run, subject, &instance, error).at(&label))?;
    let start = Instant::now();
    let settled = run.during(Activity::Maintenance, |run| {
        maintenance::settle_now(run, subject, &mut instance, SETTLE)
    })?;
    let left = settled.left;
    let settle_seconds = start.elapsed().as_secs_f64();
    instance.end()?;
    let folder_bytes = dbms::bytes_below(&folder);
    let size = match attached::is_attached(run, subject) {
        true => String::new(),
        false => format!(", {} MiB", folder_bytes >> 20),
    };
    run.step(&format!(
        "loaded {label}: {} by {} in {:.1} s with {}, indexes {:.1} s, settled in {:.1} s{size}",
        counted(report.rows, "row"),
        report.method,
        report.rows_seconds,
        counted(report.threads, "thread"),
        report.index_seconds,
        settle_seconds
    ));
    if aged > 0 {
        run.step(&format!("aged {label} by {}", counted(aged, "operation")));
    }
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
    let loaded =
        Loaded { subject: label.clone(), load, report, aged, settle_seconds, left, folder_bytes };
    run.writer.note_state(&format!("load {load} {label}"), &loaded)?;
    match attached::is_attached(run, subject) {
        // A folder of nothing: whoever continues the run loads again.
        true => Ok(()),
        false => data::complete(&folder),
    }
}

/// The error of a load, or of the end of its server: a connection that breaks says nothing of that.
fn cause(run: &Run<'_>, subject: usize, instance: &Instance, error: Error) -> Error {
    let (about, server) = (run.subject(subject), instance.server.as_ref());
    match about.build.memory {
        Some(bytes) if server.is_some_and(|server| server.memory_kills() > 0) => {
            dbms::Error::OutOfMemory { subject: about.label.clone(), mib: bytes >> 20 }.into()
        }
        _ if server.is_some_and(|server| !server.is_alive()) => {
            Error::Driver(instance.reason(&error))
        }
        _ => error,
    }
}

/// Creates and fills the tables of every schema that the plan uses.
pub(crate) fn fill(
    run: &mut Run<'_>,
    subject: usize,
    load: u32,
    instance: &mut Instance,
) -> Result<LoadReport, Error> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut total = LoadReport::default();
    let now_seconds = load_time(run)?;
    for schema in &run.plan.schemas {
        let job = LoadJob {
            schema: schema.clone(),
            engine: engine(run, subject),
            threads: u32::try_from(cpus.min(LOAD_THREADS_MAX)).unwrap_or(1),
            seed: run.plan.experiment.seed.wrapping_add(u64::from(load)),
            indexes: indexes(run, &schema.name),
            now_seconds,
        };
        let report = send(instance, job)?;
        total.rows += report.rows;
        total.threads = total.threads.max(report.threads);
        total.rows_seconds += report.rows_seconds;
        total.index_seconds += report.index_seconds;
        total.method = report.method;
    }
    Ok(total)
}

/// Has the driver load the tables of a schema.
pub(super) fn send(instance: &mut Instance, job: LoadJob) -> Result<LoadReport, Error> {
    let place = format!("schema `{}`", job.schema.name);
    match instance.driver.ask(&Command::Load(job)).map_err(|error| error.at(&place))? {
        Reply::Loaded(report) => Ok(report),
        other => Err(unexpected("load", &other)),
    }
}

/// The storage engine of a subject's tables, or empty.
pub(super) fn engine(run: &Run<'_>, subject: usize) -> String {
    run.subject(subject).config.engine.clone().unwrap_or_default()
}

/// Key of the moment that `now` is in loaded rows, in a run's state.
const LOAD_TIME: &str = "load time";

/// The time of a run's first load, seconds since 1970: loads of other servers, and of this run when
/// it is resumed, fill in the same.
pub(super) fn load_time(run: &Run<'_>) -> Result<u64, Error> {
    if let Some(seconds) = run.writer.state(LOAD_TIME)? {
        return Ok(seconds);
    }
    let seconds = wall_us() / 1_000_000;
    run.writer.note_state(LOAD_TIME, &seconds)?;
    Ok(seconds)
}

/// A schema whose indexes are a phase of their own is loaded without them.
fn indexes(run: &Run<'_>, schema: &str) -> LoadIndexes {
    let phases = run.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Index);
    let mut schemas = phases.map(|phase| &phase.script.schema);
    if schemas.any(|name| name == schema) { LoadIndexes::LeftOut } else { LoadIndexes::Created }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::subject::{Build, Config, Subject};

    #[test]
    fn servers_that_are_there_already_have_no_configuration_to_write_into() {
        let differ = |attach: Option<Box<model::attach::Attach>>| {
            let subjects = ["old", "new"].map(|label| Subject {
                label: label.to_owned(),
                build: Build { attach: attach.clone(), ..Build::of("mysql", "") },
                config: Config::default(),
                levels: Levels::new(),
            });
            let name = "innodb_flush_log_at_trx_commit";
            let started = |(subject, value): (_, &str)| Started {
                subject,
                version: String::new(),
                settings: Levels::from([(name.to_owned(), value.to_owned())]),
            };
            let started: Vec<_> = subjects.iter().zip(["1", "2"]).map(started).collect();
            check_conditions(&started, &[]).unwrap_err().to_string()
        };
        let own = differ(None);
        assert!(
            own.contains("write `settings = {") && own.contains("both configurations"),
            "{own}"
        );
        let attached = differ(Some(Box::default()));
        assert!(attached.contains("same value on both servers"), "{attached}");
        assert!(!attached.contains("settings = "), "{attached}");
    }
}
