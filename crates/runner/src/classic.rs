//! The classic design: one server at a time, all phases in the suite's order, by duration.

use crate::{
    Error, Progress, calibrate, copy,
    ledger::Activity,
    maintenance, roles,
    run::{Run, slices_per_trial},
    slice::{self, After, Work, run_stretch},
    stepping, template,
    trial::{Stand, Trial},
};
use model::{
    drive::StretchEnd,
    plan::{Block, PhaseKind},
    record::SliceState,
};

/// Executes every trial that is not complete yet.
pub(crate) fn run(run: &mut Run<'_>) -> Result<(), Error> {
    run.writer.discard_incomplete()?;
    let complete = run.writer.complete_trials()?;
    run.keep_done(complete.len() as u64 * slices_per_trial(run.plan));
    let plan = run.plan;
    let is_open = |block: &Block, subject: usize| {
        !complete.contains(&(block.index, plan.subjects[subject].label.clone()))
    };
    for block in &plan.blocks {
        let all = block.start_order.iter().copied();
        let open: Vec<usize> = all.filter(|subject| is_open(block, *subject)).collect();
        if !open.is_empty() {
            template::prepare(run, block.load, &open)?;
            break;
        }
    }
    run.calibration = calibrate::null_calibration(run)?;
    for block in &plan.blocks {
        for &subject in &block.start_order {
            if is_open(block, subject) {
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
                run.during(Activity::Maintenance, |run| {
                    maintenance::phase(run, &mut trial, phase)
                })?;
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
    match trial.obstacle(workload) {
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
    let about = &run.plan.phases[phase];
    let workload = &run.plan.workloads[about.workload];
    if !run.steps() || trial.obstacle(workload).is_some() {
        return Ok(());
    }
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
