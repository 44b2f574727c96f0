//! User instructions per operation where the host has no hardware counters: a short stretch in
//! single steps.
//!
//! The serving task of connection 0 and the driver's thread of connection 0 are stepped through a
//! fixed number of operations, apart from every measured window. The count is exact, of user mode
//! only, and of these two tasks only.

use crate::{
    Error,
    ledger::Activity,
    run::Run,
    slice::run_stretch,
    trial::{Stand, Trial, is_embedded},
};
use model::{
    drive::{StretchEnd, StretchReport},
    plan::Phase,
    reading::{Reading, Scope},
};
use probe::{Permission, Stepper};
use std::time::Duration;

/// A workload of which one operation would take longer is not stepped.
const SECONDS_AFFORDABLE: f64 = 12.0;
/// After as much time a stretch is given up: it says nothing then, and the slices go on.
const SECONDS_MAX: Duration = Duration::from_secs(45);
/// The same for the one operation that tells how many fit: twice what is affordable, because a busy
/// host steps more slowly.
const SECONDS_FINDING: Duration = Duration::from_secs(24);
/// More operations than this add nothing to the precision of the mean.
const OPERATIONS_MAX: f64 = 100.0;

/// Counter of the steps of a task, and of the operations that they belong to.
pub(crate) const STEPPED: [&str; 2] = ["stepped_user_instructions", "stepped_operations"];

/// What is stepped through.
struct Stretch {
    operations: u64,
    seed: u64,
    /// After as much time it is given up.
    limit: Duration,
}

/// Whether this host needs single steps and permits them.
pub(crate) fn wanted() -> bool {
    probe::permission() == Permission::None && probe::stepping_permitted()
}

/// What a stretch in single steps gave: the readings for the slices of its phase, or why there are
/// none.
pub(crate) type Counted = Result<Vec<Reading>, String>;

/// How many operations of a workload are stepped, found by stepping one of the base's, none if that
/// one was given up; or why it tells nothing.
pub(crate) fn operations(
    stand: &mut Stand,
    phase: &Phase,
    seed: u64,
) -> Result<Result<u64, String>, Error> {
    let one = Stretch { operations: 1, seed, limit: SECONDS_FINDING };
    Ok(count(stand, phase, &one)?.map(|readings| {
        let steps = readings.iter().filter(|reading| reading.counter == STEPPED[0]);
        let most = steps.map(|reading| reading.end).reduce(f64::max);
        let budget = phase.stepping_seconds();
        most.map_or(0, |steps| fitting(steps / probe::stepping_rate(), budget))
    }))
}

/// How many operations fit into a budget of seconds, if one takes as many; none if that is too
/// long, or not a number.
fn fitting(seconds: f64, budget: f64) -> u64 {
    let affordable = seconds <= SECONDS_AFFORDABLE;
    if affordable { (budget / seconds).clamp(1.0, OPERATIONS_MAX) as u64 } else { 0 }
}

fn driver_tasks(stand: &Stand) -> Vec<u32> {
    stand.connections.iter().map(|connection| connection.driver_task).collect()
}

/// Steps through a stretch of the compiled workload; without readings if it was given up.
fn count(stand: &mut Stand, phase: &Phase, stretch: &Stretch) -> Result<Counted, Error> {
    let operations = stretch.operations;
    let serving = stand.foreground.tasks.first().copied();
    let driving = driver_tasks(stand).first().copied();
    let scopes = [(Scope::Foreground, serving), (Scope::Client, driving)];
    let tasks: Vec<u32> = scopes.iter().filter_map(|(_, task)| *task).collect();
    if operations == 0 || tasks.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    let stepper = Stepper::attach_within(&tasks, stretch.limit)?;
    let end = StretchEnd::Operations(operations);
    let report = run_stretch(&mut stand.driver, phase, end, stretch.seed);
    let counts = match stepper.stop() {
        Err(probe::Error::StepsTooMany { .. }) => Vec::new(),
        Err(strayed @ probe::Error::Strayed { .. }) => {
            report?;
            return Ok(Err(strayed.to_string()));
        }
        other => other?,
    };
    let done = match done(&report?) {
        Ok(done) => done,
        Err(reason) => return Ok(Err(reason)),
    };
    let mut readings = Vec::new();
    for (scope, task) in scopes {
        let Some(found) = counts.iter().find(|count| Some(count.task) == task) else { continue };
        for (counter, end) in STEPPED.iter().zip([found.instructions, done]) {
            let counter = (*counter).to_owned();
            readings.push(Reading { scope, counter, start: 0.0, end: end as f64 });
        }
    }
    Ok(Ok(readings))
}

/// Operations that the stepped connection did, the first one; or why its steps are not those of the
/// workload: what fails or finds other rows than expected costs something else.
fn done(report: &StretchReport) -> Result<u64, String> {
    if report.failed > 0 {
        let first = report.errors.first();
        let words = first.map_or_else(String::new, |e| format!(" ({}: {})", e.code, e.message));
        return Err(format!("{} of {} operations failed{words}", report.failed, report.scheduled));
    }
    if report.unexpected > 0 {
        return Err(format!(
            "{} statements met other rows than the workload expects",
            report.unexpected
        ));
    }
    match report.shares.first().map(|share| share.succeeded) {
        None | Some(0) => Err("the first connection did no operation".to_owned()),
        Some(done) => Ok(done),
    }
}

/// Steps a trial through the phase's stretch, thawed for as long, and keeps the readings for its
/// slices.
pub(crate) fn of_trial(
    run: &mut Run<'_>,
    trial: &mut Trial,
    phase: usize,
    seed: u64,
) -> Result<(), Error> {
    let before = run.ledger.enter(Activity::SingleSteps);
    let stepped = step(run, trial, phase, seed);
    run.ledger.enter(before);
    stepped
}

fn step(run: &Run<'_>, trial: &mut Trial, phase: usize, seed: u64) -> Result<(), Error> {
    trial.stepped.clear();
    let phase = &run.plan.phases[phase];
    let operations = run.calibration.stepped.get(&phase.name).copied().unwrap_or(0);
    let workload = &run.plan.workloads[phase.workload];
    if trial.obstacle(workload).is_some() || operations == 0 {
        return Ok(());
    }
    let stretch = Stretch { operations, seed, limit: SECONDS_MAX };
    let counted = trial.stand.thawed(|stand| count(stand, phase, &stretch));
    match trial.keep_apart(counted)? {
        None => return Ok(()),
        Some(Ok(readings)) => trial.stepped = readings,
        Some(Err(reason)) => return not_counted(trial, phase, &reason),
    }
    if is_embedded(&trial.stand.target) {
        trial.stepped.retain(|reading| reading.scope == Scope::Client);
    }
    Ok(())
}

/// Notes in the record that a phase has no instructions by single steps, and why.
pub(crate) fn not_counted(trial: &mut Trial, phase: &Phase, reason: &str) -> Result<(), Error> {
    let message = format!("`{}` is not counted by single steps: {reason}", phase.name);
    trial.event("warning", &message, None)
}

#[cfg(test)]
mod tests {
    use super::{done, fitting};
    use model::drive::{ClientShare, ErrorCount, StretchReport};

    #[test]
    fn only_operations_that_did_what_they_should_are_divided_by() {
        let shares: Vec<ClientShare> =
            [7, 9].map(|succeeded| ClientShare { succeeded, service_seconds: 0.1 }).into();
        let report = StretchReport { scheduled: 18, succeeded: 16, shares, ..Default::default() };
        assert_eq!(done(&report), Ok(7));
        let unexpected = StretchReport { unexpected: 1, ..report.clone() };
        assert!(done(&unexpected).unwrap_err().contains("1 statements"));
        let error = ErrorCount { code: "1062".into(), message: "twice".into(), count: 2 };
        let failed = StretchReport { failed: 2, errors: vec![error], ..report.clone() };
        assert_eq!(done(&failed).unwrap_err(), "2 of 18 operations failed (1062: twice)");
        assert!(done(&StretchReport { shares: Vec::new(), ..report }).is_err());
    }

    #[test]
    fn the_stretch_is_as_long_as_the_time_allows() {
        assert_eq!(fitting(0.01, 4.0), 100);
        assert_eq!(fitting(0.1, 1.0), 10);
        assert_eq!(fitting(1.0, 4.0), 4);
        assert_eq!(fitting(6.0, 4.0), 1);
        assert_eq!(fitting(12.0, 8.0), 1);
        assert_eq!(fitting(13.0, 8.0), 0);
        assert_eq!(fitting(30.0, 4.0), 0);
        assert_eq!(fitting(0.0, 4.0), 100);
        assert_eq!(fitting(f64::NAN, 4.0), 0);
        assert_eq!(fitting(f64::INFINITY, 4.0), 0);
    }
}
