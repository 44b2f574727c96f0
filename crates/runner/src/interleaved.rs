//! The interleaved design: all compared servers up together, idle ones frozen, slices of fixed work
//! in balanced order, block after block of fresh starts.

use crate::{
    Error, Progress, calibrate, copy,
    discard::{self, Reads},
    ledger::Activity,
    maintenance, roles,
    run::{Run, slices_per_trial},
    slice::{self, After, Work},
    stepping, template,
    trial::Trial,
};
use model::{
    drive::StretchEnd,
    plan::{Block, PhaseKind},
    record::SliceState,
};

/// Number, beyond all rounds, of the stretch in single steps.
const STEPPED: usize = 1 << 20;

/// Executes every block that is not complete yet.
pub(crate) fn run(run: &mut Run<'_>) -> Result<(), Error> {
    run.writer.discard_incomplete()?;
    let complete = run.writer.complete_blocks()?;
    let kept = complete.len() as u64 * run.plan.subjects.len() as u64;
    run.keep_done(kept * slices_per_trial(run.plan));
    let plan = run.plan;
    let open: Vec<&Block> = plan.blocks.iter().filter(|b| !complete.contains(&b.index)).collect();
    if let Some(first) = open.first() {
        let all: Vec<usize> = (0..plan.subjects.len()).collect();
        template::prepare(run, first.load, &all)?;
    }
    for block in &open {
        for subject in 0..plan.subjects.len() {
            template::make(run, subject, block.load)?;
        }
    }
    if !open.is_empty() {
        run.calibration = calibrate::calibration(run)?;
    }
    for block in open {
        execute(run, block)?;
    }
    Ok(())
}

fn execute(run: &mut Run<'_>, block: &Block) -> Result<(), Error> {
    let mut trials = Vec::with_capacity(block.start_order.len());
    for &subject in &block.start_order {
        let data = template::copy_for_block(run, subject, block.load)?;
        trials.push(Trial::begin(run, subject, block.index, &data)?);
    }
    trials.sort_by_key(|trial| trial.subject);
    let headers: Vec<_> = trials.iter().map(|trial| trial.header.clone()).collect();
    run.observer.tell(&Progress::Ready { block: block.index, headers: &headers });
    copy::sync_file_system(run.place.data())?;
    for trial in &mut trials {
        run.during(Activity::WarmUp, |run| trial.warm(run))?;
    }
    let mut reads = Reads::default();
    for phase in 0..run.plan.phases.len() {
        match run.plan.phases[phase].kind {
            PhaseKind::Index => pieces(run, block, phase, &mut trials)?,
            PhaseKind::Measure if roles::end_themselves(run, phase) => {
                pieces(run, block, phase, &mut trials)?;
            }
            PhaseKind::Measure => rounds(run, (block, phase, &mut reads), &mut trials)?,
            PhaseKind::Settle => settle(run, block, phase, &mut trials)?,
            // Every measured phase discards a start of its own.
            PhaseKind::Warmup => {}
        }
    }
    for trial in trials {
        let data = trial.stand.data.clone();
        trial.end(run)?;
        copy::remove_folder(&data)?;
    }
    run.note_time()?;
    Ok(())
}

/// One server after the other, the others frozen.
fn settle(
    run: &mut Run<'_>,
    block: &Block,
    phase: usize,
    trials: &mut [Trial],
) -> Result<(), Error> {
    for &subject in block.orders.get(phase).into_iter().flatten().flatten() {
        run.stop.check()?;
        run.during(Activity::Maintenance, |run| {
            maintenance::phase(run, &mut trials[subject], phase)
        })?;
    }
    Ok(())
}

/// All slices of one phase in one block.
fn rounds(
    run: &mut Run<'_>,
    (block, phase, reads): (&Block, usize, &mut Reads),
    trials: &mut [Trial],
) -> Result<(), Error> {
    let about = &run.plan.phases[phase];
    let operations = run.calibration.operations.get(&about.name).copied().unwrap_or(1);
    let part =
        |share: f64| StretchEnd::Operations((operations as f64 * share).round().max(1.0) as u64);
    let warmup = part(run.plan.experiment.warmup_seconds / about.seconds.max(0.001));
    let assignment = calibrate::assignment(run, about)?;
    let connections = roles::connections(run, about)?;
    let orders = block.orders.get(phase).cloned().unwrap_or_default();
    for trial in trials.iter_mut() {
        trial.prepare(connections, &assignment)?;
        // What is discarded before the steps has no part in those of the phase before.
        trial.stepped.clear();
    }
    let first: Vec<usize> = orders.first().cloned().unwrap_or_default();
    let workload = &run.plan.workloads[about.workload];
    let after = After::of(workload);
    let all = operations.saturating_mul(u64::from(connections));
    let discard = reads.before(about, workload, all);
    reads.add(workload, (discard.slices + orders.len() as f64) * all as f64);
    if discard.short {
        for trial in trials.iter_mut().filter(|t| !t.marks.iter().any(|m| m == discard::SHORT)) {
            trial.marks.push(discard::SHORT.to_owned());
        }
    }
    let discarded = std::iter::once((0, first, part(discard.slices), SliceState::Discarded));
    let full = part(1.0);
    let measured = orders
        .into_iter()
        .enumerate()
        .map(|(round, order)| (round, order, full, SliceState::Measured));
    for (number, (round, order, end, state)) in discarded.chain(measured).enumerate() {
        let seed = stretch_seed(block.seed, phase, number);
        if number == 1 {
            for trial in trials.iter_mut() {
                stepping::of_trial(run, trial, phase, stretch_seed(block.seed, phase, STEPPED))?;
            }
        }
        for (place, subject) in order.into_iter().enumerate() {
            let work = Work {
                phase,
                round: u32::try_from(round).unwrap_or(u32::MAX),
                order: u32::try_from(place).unwrap_or(u32::MAX),
                warmup: Some(warmup),
                end,
                seed,
                state,
                after,
            };
            slice_of(run, &mut trials[subject], &work)?;
        }
    }
    Ok(())
}

/// A phase whose work is fixed by its roles, cut into as many pieces as there are rounds, so that
/// each piece of one subject has its pair at the same state of the tables; every piece counts.
/// Indexes are created at once.
fn pieces(
    run: &mut Run<'_>,
    block: &Block,
    phase: usize,
    trials: &mut [Trial],
) -> Result<(), Error> {
    let about = &run.plan.phases[phase];
    let workload = &run.plan.workloads[about.workload];
    let whole = calibrate::assignment(run, about)?;
    let connections = roles::connections(run, about)?;
    let mut orders = block.orders.get(phase).cloned().unwrap_or_default();
    if about.kind == PhaseKind::Index {
        orders.truncate(1);
    }
    let of = orders.len() as u64;
    for trial in trials.iter_mut() {
        trial.stepped.clear();
    }
    for (round, order) in orders.into_iter().enumerate() {
        let piece = roles::piece(&whole, round as u64, of)?;
        for (place, subject) in order.into_iter().enumerate() {
            let trial = &mut trials[subject];
            trial.prepare(connections, &piece)?;
            let work = Work {
                phase,
                round: u32::try_from(round).unwrap_or(u32::MAX),
                order: u32::try_from(place).unwrap_or(u32::MAX),
                warmup: None,
                end: StretchEnd::Roles,
                seed: stretch_seed(block.seed, phase, round),
                state: SliceState::Measured,
                after: After::of(workload),
            };
            slice_of(run, trial, &work)?;
        }
    }
    Ok(())
}

/// A slice, or for a broken subject a record that says why there is none.
fn slice_of(run: &mut Run<'_>, trial: &mut Trial, work: &Work) -> Result<(), Error> {
    run.stop.check()?;
    let workload = &run.plan.workloads[run.plan.phases[work.phase].workload];
    match trial.obstacle(workload) {
        None => slice::execute(run, trial, work),
        Some(reason) => slice::refuse(run, trial, work, &reason),
    }
}

/// The same for all subjects, another for every stretch of a block (splitmix64, Steele et al.
/// 2014).
fn stretch_seed(block: u64, phase: usize, number: usize) -> u64 {
    let mut z = block
        .wrapping_add((phase as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .wrapping_add((number as u64 + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_stretches_of_a_block_share_a_seed() {
        let seeds: BTreeSet<u64> =
            (0..50).flat_map(|phase| (0..50).map(move |n| stretch_seed(42, phase, n))).collect();
        assert_eq!(seeds.len(), 2500);
        assert_ne!(stretch_seed(1, 0, 0), stretch_seed(2, 0, 0));
    }
}
