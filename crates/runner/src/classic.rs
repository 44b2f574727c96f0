//! The classic design: one server at a time, all phases in the suite's order, by duration.

use crate::{
    Error, Progress, calibrate,
    ledger::Activity,
    roles,
    run::{Run, slices_per_trial},
    slice::{self, After, Work},
    stepping, template,
    trial::Trial,
};
use model::{
    drive::StretchEnd,
    plan::{Block, Phase, PhaseKind, Settle},
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
    let data = template::take_for_trial(run, subject, block.load)?;
    let mut trial = Trial::begin(run, subject, block.index, &data)?;
    let headers = [trial.header.clone()];
    run.observer.tell(&Progress::Ready { block: block.index, headers: &headers });
    for phase in 0..run.plan.phases.len() {
        run.stop.check()?;
        match run.plan.phases[phase].kind {
            PhaseKind::Settle => {
                run.during(Activity::Maintenance, |run| settle(run, &mut trial, phase))?;
            }
            PhaseKind::Measure | PhaseKind::Index => {
                step(run, &mut trial, phase, SliceState::Measured)?
            }
            PhaseKind::Warmup => step(run, &mut trial, phase, SliceState::Discarded)?,
        }
    }
    trial.end(run)?;
    crate::copy::remove_folder(&data)?;
    run.note_time()?;
    Ok(())
}

/// One step by duration.
fn step(
    run: &mut Run<'_>,
    trial: &mut Trial,
    phase: usize,
    state: SliceState,
) -> Result<(), Error> {
    let about = &run.plan.phases[phase];
    let workload = &run.plan.workloads[about.workload];
    let assignment = calibrate::assignment(run, about)?;
    trial.prepare(roles::connections(run, about)?, &assignment)?;
    let seed = run.plan.experiment.seed.wrapping_add(phase as u64 + 1);
    trial.stepped.clear();
    let by_duration = !workload.ends_by_roles() && about.kind != PhaseKind::Index;
    if state == SliceState::Measured && by_duration {
        steps(run, trial, phase, seed ^ STEPPED_SEED)?;
    }
    let work = Work {
        phase,
        round: 0,
        order: 0,
        warmup: by_duration.then_some(StretchEnd::Seconds(run.plan.experiment.warmup_seconds)),
        end: roles::end(workload, StretchEnd::Seconds(about.seconds)),
        seed,
        state,
        // The design lets the next step pay, as published; its maintenance is a phase.
        after: After::Freeze,
    };
    match trial.obstacle() {
        None => slice::execute(run, trial, &work),
        Some(reason) => slice::refuse(run, trial, &work, &reason),
    }
}

/// Single steps draw from a stream of their own.
const STEPPED_SEED: u64 = 0x5eed_0000_0000_0002;

/// Counts instructions by single steps, over as many operations for every subject as fit for the
/// first. A warm-up comes before, because the first operations on cold rows cost more.
fn steps(run: &mut Run<'_>, trial: &mut Trial, phase: usize, seed: u64) -> Result<(), Error> {
    if !run.steps() || trial.obstacle().is_some() {
        return Ok(());
    }
    let about = &run.plan.phases[phase];
    let warmup = StretchEnd::Seconds(run.plan.experiment.warmup_seconds);
    let warmed = run.during(Activity::WarmUp, |_| {
        trial.stand.thaw()?;
        slice::stretch(trial, about, warmup, seed)?;
        trial.stand.freeze()
    });
    if trial.keep_apart(warmed)?.is_none() {
        return Ok(());
    }
    if !run.calibration.stepped.contains_key(&about.name) {
        let fitting = run.during(Activity::SingleSteps, |_| {
            trial.stand.thaw()?;
            let fitting = stepping::operations(&mut trial.stand, about, seed)?;
            trial.stand.freeze()?;
            Ok(fitting)
        });
        let Some(fitting) = trial.keep_apart(fitting)? else { return Ok(()) };
        run.calibration.stepped.insert(about.name.clone(), fitting);
        run.writer.note_state(calibrate::STATE, &run.calibration)?;
    }
    stepping::of_trial(run, trial, phase, seed)
}

/// Maintenance after writes: waits for the condition, with a floor and a ceiling; both are
/// recorded.
fn settle(run: &mut Run<'_>, trial: &mut Trial, phase: usize) -> Result<(), Error> {
    let clients = u32::try_from(trial.stand.connections.len()).unwrap_or(1);
    if !trial.recover(clients)? {
        return Ok(());
    }
    let settled = maintain(run, trial, phase);
    trial.keep_apart(settled).map(drop)
}

fn maintain(run: &mut Run<'_>, trial: &mut Trial, phase: usize) -> Result<(), Error> {
    let about = &run.plan.phases[phase];
    let settle = about.settle.unwrap_or_else(|| published_wait(about));
    let floor = settle.floor_seconds.max(0.0);
    let ceiling = Duration::from_secs_f64(settle.ceiling_seconds.max(floor));
    let label = trial.header.subject.clone();
    run.step(&format!("{label}: maintenance, at least {floor:.0} s"));
    let start = Instant::now();
    trial.stand.thaw()?;
    let before = trial.stand.owed()?;
    let left = template::settle(run, trial.subject, &mut trial.stand, ceiling)?;
    let condition = start.elapsed();
    run.stop.sleep(Duration::from_secs_f64(floor).saturating_sub(condition))?;
    let after = trial.stand.owed()?;
    trial.stand.freeze()?;
    let how = match left.as_slice() {
        [] => "all debts paid".to_owned(),
        left => {
            trial.marks.push(format!("debts left after `{}`", about.name));
            format!("the server stopped paying with debts left ({})", left.join(", "))
        }
    };
    let message = format!(
        "{how} after {:.1} s; floor {floor:.0} s, ceiling {:.0} s; owed before: {}; owed after: {}",
        condition.as_secs_f64(),
        ceiling.as_secs_f64(),
        before.join(", "),
        after.join(", ")
    );
    trial.event("settled", &message, Some(start.elapsed().as_secs_f64()))
}

/// The published wait, for plans that say nothing: `min(1200, 60 + rows / 1e6)` seconds.
fn published_wait(phase: &Phase) -> Settle {
    let parameter = |name: &str| phase.parameters.get(name).copied().unwrap_or(0) as f64;
    let rows = parameter("rows") * parameter("tables");
    let floor_seconds = (60.0 + rows / 1e6).min(SETTLE_FLOOR_SECONDS_MAX);
    Settle { floor_seconds, ceiling_seconds: floor_seconds * SETTLE_CEILING_FLOORS }
}
