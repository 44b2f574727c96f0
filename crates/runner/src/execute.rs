//! One execution of a plan, from the first check to the last record.

use crate::{
    Error, Observer, Progress, Stop, blocks,
    clock::wall_us,
    explanation,
    host::{others, preflight},
    ledger::{Activity, Ledger},
    run::{Builds, COMMAND, FAILURE, Options, Outcome, Parts, Resume, Run},
    server::attached,
};
use dbms::{Installed, Places, Source, Trees, Watch};
use model::{plan::Plan, subject::Subject};
use std::path::Path;
use store::{Results, RunWriter};

/// Executes `plan` and leaves its records in `options.results`. Errors keep what was measured.
pub fn execute(
    plan: &Plan,
    places: &Places,
    options: &Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<Outcome, Error> {
    probe::raise_file_limit();
    probe::stay_on_fast_processors();
    let mut ledger = Ledger::default();
    attached::check(plan, options)?;
    let results = preflight::results(plan, &options.results)?;
    let resumed = match options.resume {
        Resume::No => None,
        Resume::Yes => Some(unfinished(plan, &results)?),
    };
    let left = resumed.as_ref().map(|writer| places.runs().join(writer.id()));
    let left = left.map_or(0, |folder| dbms::bytes_below(&folder));
    preflight::check(plan, places, plan.estimate.disk_bytes.saturating_sub(left))?;
    for warning in preflight::scarce(plan) {
        observer.tell(&Progress::Warning(&warning));
    }
    if let Some(warning) = others::warning(Path::new("/proc"))? {
        observer.tell(&Progress::Warning(&warning));
    }
    let host = Host { places, stop, observer };
    let builds = ledger.during(Activity::Install, || install(plan, &host))?;
    let environment = probe::environment(&places.root);
    if let Some(warning) = preflight::remote(plan, &places.root, &environment.filesystem) {
        observer.tell(&Progress::Warning(&warning));
    }
    let writer = match resumed {
        Some(writer) => writer,
        None => results.start_run(plan, &environment)?,
    };
    writer.note_state(COMMAND, &options.command)?;
    let place = places.new_run(writer.id())?;
    let parts = Parts { place, writer, builds, environment, ledger };
    let mut run = Run::new(plan, options, stop, observer, parts)?;
    let measured = measure_and_explain(&mut run);
    attached::unmake_all(&run);
    run.agents.end();
    match measured {
        Ok(()) => run.finish(),
        Err(error) => {
            run.abandon(&error);
            Err(error)
        }
    }
}

fn measure_and_explain(run: &mut Run<'_>) -> Result<(), Error> {
    // From here on another failure is noted: an execution that cannot begin leaves the last one.
    run.writer.note_state(FAILURE, &"")?;
    check_builds(run)?;
    let emulator = explanation::emulator(run);
    if !explanation::is_measured(run)? {
        blocks::run(run)?;
    }
    emulator.map_or(Ok(()), |emulator| explanation::explain_changes(run, emulator))
}

/// Fails where a build is another program than in the complete records of an earlier execution.
fn check_builds(run: &Run<'_>) -> Result<(), Error> {
    let complete = run.writer.complete_trials();
    for (index, Subject { label, .. }) in run.plan.subjects.iter().enumerate() {
        let Some(build) = run.build(index) else { continue };
        let mut own = complete.iter().filter(|trial| trial.subject == *label);
        // Earlier versions of dbdyno did not note it of a library.
        let is_other = |sha256: &str| !sha256.is_empty() && sha256 != build.binary_sha256;
        if own.any(|trial| is_other(&trial.binary_sha256)) {
            let (label, path) = (label.clone(), build.binary.clone());
            return Err(Error::OtherProgram { label, path });
        }
    }
    Ok(())
}

/// The run that is to be continued.
fn unfinished(plan: &Plan, results: &Results) -> Result<RunWriter, Error> {
    let found = results.unfinished(&plan.hash)?;
    found.ok_or_else(|| {
        let (experiment, dir) = (plan.experiment.name.clone(), results.dir().to_owned());
        Error::NothingToResume { experiment, dir }
    })
}

/// Where builds are made ready, and who follows that.
struct Host<'a> {
    places: &'a Places,
    stop: &'a Stop,
    observer: &'a dyn Observer,
}

/// Makes every build of the plan ready on this host.
fn install(plan: &Plan, host: &Host<'_>) -> Result<Builds, Error> {
    let (mut builds, mut trees) = (Builds::default(), Trees::default());
    for subject in &plan.subjects {
        host.stop.check()?;
        // Ctrl-C ends the clients of registries too.
        let build = host.stop.unless_raised(made_ready(subject, host));
        let build = build.map_err(|error| error.of_subject(&subject.label))?;
        if let Some(build) = &build {
            // No fault of one subject.
            let checked = trees.check(&subject.build, build);
            checked.map_err(|error| Error::Preflight(error.to_string()))?;
        }
        let is_embedded = dbms::is_embedded(&subject.build.server);
        let (server, library) = if is_embedded { (None, build) } else { (build, None) };
        let mut extension = Vec::new();
        if let Some(server) = &server {
            let protocol = dbms::find(&server.server)?.protocol();
            if let Some(name) = plan.extension(protocol) {
                let mut progress = |text: &str| host.observer.tell(&Progress::Step(text));
                let stopped = || host.stop.is_raised();
                let mut watch = Watch { progress: &mut progress, stopped: &stopped };
                let found = dbms::provide_extension(&name, server, host.places, &mut watch);
                let found = host.stop.unless_raised(found);
                extension = found.map_err(|error| error.of_subject(&subject.label))?;
            }
        }
        builds.extensions.push(extension);
        builds.installed.push(server);
        builds.libraries.push(library);
    }
    Ok(builds)
}

/// The build of a subject; none where it is a part of dbdyno.
fn made_ready(subject: &Subject, host: &Host<'_>) -> Result<Option<Installed>, Error> {
    let resolved = dbms::resolve(&subject.build, host.places)?;
    let mut progress = |text: &str| host.observer.tell(&Progress::Step(text));
    let stopped = || host.stop.is_raised();
    let mut watch = Watch { progress: &mut progress, stopped: &stopped };
    dbms::provide_allocators(&subject.build, host.places, &mut watch)?;
    match resolved.source {
        Source::Embedded(None) | Source::Attached => Ok(None),
        Source::Embedded(Some(library)) => {
            Ok(Some(dbms::installed_library(&resolved.server, &library)?))
        }
        _ => Ok(Some(dbms::install_while(&resolved, host.places, &mut watch)?)),
    }
}

/// A look at the subjects of a plan, without measuring.
pub(crate) struct Look<'a> {
    pub(crate) plan: &'a Plan,
    /// Data folders that are there at the same time.
    pub(crate) folders: u64,
}

/// A run whose records are removed with its data.
pub(crate) fn without_records<'a>(
    look: &Look<'a>,
    places: &Places,
    options: &'a Options,
    stop: &'a Stop,
    observer: &'a dyn Observer,
) -> Result<Run<'a>, Error> {
    let plan = look.plan;
    probe::stay_on_fast_processors();
    attached::check_look(plan)?;
    preflight::check(plan, places, plan.estimate.of_folders(look.folders))?;
    let builds = install(plan, &Host { places, stop, observer })?;
    let environment = probe::environment(&places.root);
    let now = wall_us();
    let place = places.new_run(&format!("look-{now}-{}", std::process::id()))?;
    let results = Results::open_or_create(place.data().join("records"))?;
    let writer = results.start_run(plan, &environment)?;
    let parts = Parts { place, writer, builds, environment, ledger: Ledger::default() };
    Run::new(plan, options, stop, observer, parts)
}
