//! The classic design: one server at a time, all phases in the suite's order, by duration.

use crate::{
    Error, Progress, calibrate,
    run::{Run, slices_per_trial},
    slice::{self, Work},
    template,
    trial::Trial,
};
use model::{
    drive::StretchEnd,
    plan::{Block, PhaseKind},
    record::SliceState,
};
use std::time::{Duration, Instant};

/// Floor of the wait for maintenance, seconds, as published: `min(1200, 60 + rows / 1e6)`.
const SETTLE_FLOOR_SECONDS_MAX: f64 = 1200.0;
/// The ceiling is as many floors.
const SETTLE_CEILING_FLOORS: f64 = 4.0;

/// Executes every trial that is not complete yet.
pub(crate) fn run(run: &mut Run<'_>) -> Result<(), Error> {
    run.writer.discard_incomplete()?;
    let complete = run.writer.complete_trials()?;
    run.keep_done(complete.len() as u64 * slices_per_trial(run.plan));
    run.calibration = calibrate::null_calibration(run)?;
    let plan = run.plan;
    for block in &plan.blocks {
        for &subject in &block.start_order {
            if !complete.contains(&(block.index, plan.subjects[subject].label.clone())) {
                execute(run, block, subject)?;
            }
        }
    }
    Ok(())
}

fn execute(run: &mut Run<'_>, block: &Block, subject: usize) -> Result<(), Error> {
    template::make(run, subject, block.load)?;
    let data = template::copy_for_block(run, subject, block.load)?;
    let mut trial = Trial::begin(run, subject, block.index, &data)?;
    let headers = [trial.header.clone()];
    run.observer.tell(&Progress::Ready { block: block.index, headers: &headers });
    for phase in 0..run.plan.phases.len() {
        run.stop.check()?;
        match run.plan.phases[phase].kind {
            PhaseKind::Settle => settle(run, &mut trial, phase)?,
            PhaseKind::Measure => step(run, &mut trial, phase, SliceState::Measured)?,
            PhaseKind::Warmup => step(run, &mut trial, phase, SliceState::Discarded)?,
        }
    }
    trial.end()?;
    crate::copy::remove_folder(&data)
}

/// One step by duration.
fn step(
    run: &mut Run<'_>,
    trial: &mut Trial,
    phase: usize,
    state: SliceState,
) -> Result<(), Error> {
    let about = &run.plan.phases[phase];
    let assignment = calibrate::assignment(run, about)?;
    trial.prepare(about.clients, &assignment)?;
    let work = Work {
        phase,
        round: 0,
        order: 0,
        warmup: StretchEnd::Seconds(run.plan.experiment.warmup_seconds),
        end: StretchEnd::Seconds(about.seconds),
        seed: run.plan.experiment.seed.wrapping_add(phase as u64 + 1),
        state,
    };
    match trial.obstacle() {
        None => slice::execute(run, trial, &work),
        Some(reason) => slice::refuse(run, trial, &work, &reason),
    }
}

/// Maintenance after writes: waits for the condition, with a floor and a ceiling; both are
/// recorded.
fn settle(run: &mut Run<'_>, trial: &mut Trial, phase: usize) -> Result<(), Error> {
    if trial.broken.is_some() {
        return Ok(());
    }
    let parameters = &run.plan.phases[phase].parameters;
    let parameter = |name: &str| parameters.get(name).copied().unwrap_or(0) as f64;
    let rows = parameter("rows") * parameter("tables");
    let published = (60.0 + rows / 1e6).min(SETTLE_FLOOR_SECONDS_MAX);
    let floor = parameters.get("settle_floor_seconds").map_or(published, |s| *s as f64);
    let ceiling = Duration::from_secs_f64(published.max(floor) * SETTLE_CEILING_FLOORS);
    let label = trial.header.subject.clone();
    run.step(&format!("{label}: maintenance, at least {floor:.0} s"));
    let start = Instant::now();
    trial.stand.thaw()?;
    let left = template::settle(run, trial.subject, &mut trial.stand, ceiling)?;
    let condition = start.elapsed();
    run.stop.sleep(Duration::from_secs_f64(floor).saturating_sub(condition))?;
    trial.stand.freeze()?;
    let how = match left.as_slice() {
        [] => "all debts paid".to_owned(),
        left => format!("the ceiling was hit with debts left ({})", left.join(", ")),
    };
    let message = format!("{how} after {:.1} s; floor {floor:.0} s", condition.as_secs_f64());
    trial.event("settled", &message, Some(start.elapsed().as_secs_f64()))
}
