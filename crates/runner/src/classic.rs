//! The classic design: one server at a time, all phases in the suite's order, by duration.

use crate::{
    Error, Progress, calibrate, copy,
    ledger::Activity,
    roles,
    run::{Run, slices_per_trial},
    slice::{self, After, Work, run_stretch},
    stepping, template,
    trial::{Stand, Trial},
};
use model::{
    drive::StretchEnd,
    plan::{Block, PhaseKind, Settle},
    record::SliceState,
};
use std::time::{Duration, Instant};

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
    // Else the first steps pay for the load or the copy.
    copy::sync_file_system(&data)?;
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
    copy::remove_folder(&data)?;
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
        steps(run, trial, phase, seed)?;
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

/// The stretches before a step draw from streams of their own: the warm-up, the search for the
/// number of operations, and the single steps. Those that repeat operations would delete what is
/// gone and write what is there.
const STEPPED_SEEDS: [u64; 3] =
    [0x5eed_0002_0000_0000, 0x5eed_0003_0000_0000, 0x5eed_0004_0000_0000];

/// Counts instructions by single steps, over as many operations for every subject as fit for the
/// first. A warm-up comes before, because the first operations on cold rows cost more.
fn steps(run: &mut Run<'_>, trial: &mut Trial, phase: usize, seed: u64) -> Result<(), Error> {
    if !run.steps() || trial.obstacle().is_some() {
        return Ok(());
    }
    let about = &run.plan.phases[phase];
    let [warming, finding, stepped] = STEPPED_SEEDS.map(|stream| seed ^ stream);
    let warmup = StretchEnd::Seconds(run.plan.experiment.warmup_seconds);
    let warmed = run.during(Activity::WarmUp, |_| {
        let work = |stand: &mut Stand| run_stretch(&mut stand.driver, about, warmup, warming);
        trial.stand.thawed(work)
    });
    if trial.keep_apart(warmed)?.is_none() {
        return Ok(());
    }
    if !run.calibration.stepped.contains_key(&about.name) {
        let fitting = run.during(Activity::SingleSteps, |_| {
            trial.stand.thawed(|stand| stepping::operations(stand, about, finding))
        });
        match trial.keep_apart(fitting)? {
            None => return Ok(()),
            Some(Err(reason)) => return stepping::not_counted(trial, about, &reason),
            Some(Ok(fitting)) => run.calibration.stepped.insert(about.name.clone(), fitting),
        };
        run.writer.note_state(calibrate::STATE, &run.calibration)?;
    }
    stepping::of_trial(run, trial, phase, stepped)
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
    let as_long = Settle { floor_seconds: about.seconds, ceiling_seconds: about.seconds };
    let settle = about.settle.unwrap_or(as_long);
    let floor = settle.floor_seconds.max(0.0);
    let ceiling = Duration::from_secs_f64(settle.ceiling_seconds.max(floor));
    let label = trial.header.subject.clone();
    run.step(&format!("{label}: maintenance, at least {floor:.0} s"));
    let start = Instant::now();
    let subject = trial.subject;
    let (before, left, condition, after) = trial.stand.thawed(|stand| {
        let before = stand.owed()?;
        let left = template::settle(run, subject, stand, ceiling)?;
        let condition = start.elapsed();
        run.stop.sleep(Duration::from_secs_f64(floor).saturating_sub(condition))?;
        Ok((before, left, condition, stand.owed()?))
    })?;
    let how = match left.as_slice() {
        [] => "all debts paid".to_owned(),
        left => {
            trial.marks.push(format!("debts left after `{}`", about.name));
            let why = if condition < ceiling { "stopped paying" } else { "was not done" };
            format!("the server {why} with debts left ({})", left.join(", "))
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

#[cfg(test)]
mod tests {
    use super::STEPPED_SEEDS;
    use std::collections::BTreeSet;

    #[test]
    fn no_stretch_before_a_step_repeats_the_operations_of_another() {
        // The measured stretches have the seeds themselves.
        let streams = STEPPED_SEEDS.into_iter().chain([0]);
        let seeds: BTreeSet<u64> = streams
            .flat_map(|stream| (0..100_u64).map(move |phase| (42 + phase) ^ stream))
            .collect();
        assert_eq!(seeds.len(), 400);
    }
}
