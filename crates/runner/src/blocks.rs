//! Executes the schedule of a plan: block after block, step after step.

use crate::{
    Error, Progress,
    block::{calibrate, maintenance, template},
    host::files,
    instruments,
    judge::Pace,
    ledger::Activity,
    run::{BUDGET_SPENT, Run, slices_per_trial},
    server::data,
    slice::{self, intrusive},
    trial::Trial,
};
use model::{
    experiment::Design,
    number::counted,
    plan::{Block, PhaseKind},
    schedule::{self, Prepare, SHORT, Slice, Step},
};
use std::collections::BTreeMap;

/// The subjects of a block that have no complete record yet, in their start order.
struct Open<'a> {
    block: &'a Block,
    subjects: Vec<usize>,
}

/// The trials that are up, by subject.
type Trials = BTreeMap<usize, Trial>;

/// Executes every trial that is not complete yet.
pub(crate) fn run(run: &mut Run<'_>) -> Result<(), Error> {
    run.writer.discard_incomplete()?;
    let open = open(run);
    if let Some(first) = open.first() {
        prepare(run, first, &open)?;
    }
    let mut pace = Pace::begin();
    for (index, of_block) in open.iter().enumerate() {
        let blocks = of_block.block.index;
        if look(run, blocks, index)? == Next::End || budget_is_spent(run, &pace, blocks)? {
            break;
        }
        if !run.plan.experiment.looks.is_empty() {
            run.expect(open.len() - index);
        }
        pace.begin_block();
        execute(run, of_block)?;
        pace.end_block();
    }
    Ok(())
}

/// Whether there is anything left to do.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Block,
    End,
}

/// Judges `blocks` complete ones, where the plan has a look there, or where an earlier execution
/// has left them; the phases that are decided are measured no further.
fn look(run: &mut Run<'_>, blocks: u32, index: usize) -> Result<Next, Error> {
    let (ending, looks) = (&run.options.ending, &run.plan.experiment.looks);
    let Some(judge) = ending.judge.clone() else { return Ok(Next::Block) };
    let resumed = index == 0 && looks.first().is_some_and(|first| blocks > *first);
    if !looks.contains(&blocks) && !resumed {
        return Ok(Next::Block);
    }
    let found = judge.look(run.writer.id()).map_err(Error::Judge)?;
    run.step(&found.sentence);
    let mut measured = run.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    if measured.all(|phase| found.decided.contains(&phase.name)) {
        return Ok(Next::End);
    }
    if schedule::may_leave(run.plan) {
        run.look = found;
    }
    Ok(Next::Block)
}

/// Whether another block would take longer than the run may; never before there are enough for a
/// verdict.
fn budget_is_spent(run: &mut Run<'_>, pace: &Pace, blocks: u32) -> Result<bool, Error> {
    let Some(budget) = run.options.ending.budget else { return Ok(false) };
    let enough = run.plan.experiment.looks.first().is_some_and(|first| blocks >= *first);
    if !enough || pace.fits(budget) {
        return Ok(false);
    }
    run.writer.note_state(BUDGET_SPENT, &blocks)?;
    run.step(&format!(
        "ends after {}: another one would take longer than the budget",
        counted(blocks, "block")
    ));
    Ok(true)
}

/// What is left to do. In the interleaved design a block that is not whole is repeated as a whole.
fn open<'a>(run: &mut Run<'a>) -> Vec<Open<'a>> {
    let plan = run.plan;
    let complete = run.writer.complete_trials();
    run.keep_done(complete.len() as u64 * slices_per_trial(plan));
    let of_block = |block: &'a Block| {
        let is_open = |subject: &usize| {
            !complete.contains(&(block.index, plan.subjects[*subject].label.clone()))
        };
        Open { block, subjects: block.start_order.iter().copied().filter(is_open).collect() }
    };
    let blocks = plan.blocks.iter().map(of_block);
    blocks.filter(|of_block| !of_block.subjects.is_empty()).collect()
}

/// Loads what has to be there before the first block, and calibrates. The classic design has one
/// data folder at a time where it can, and loads each subject when its turn comes.
fn prepare(run: &mut Run<'_>, first: &Open<'_>, open: &[Open<'_>]) -> Result<(), Error> {
    template::prepare(run, first.block.load, &first.subjects)?;
    match run.plan.experiment.design {
        Design::Interleaved => {
            for of_block in open {
                for subject in 0..run.plan.subjects.len() {
                    template::make(run, subject, of_block.block.load)?;
                }
            }
            run.calibration = calibrate::calibration(run)?;
        }
        Design::Classic => run.calibration = calibrate::null_calibration(run)?,
    }
    Ok(())
}

fn execute(run: &mut Run<'_>, open: &Open<'_>) -> Result<(), Error> {
    let operations = run.calibration.slice_operations(run.plan);
    let mut trials = Trials::new();
    for step in schedule::steps(run.plan, open.block, &operations) {
        if !run.is_decided(&step)
            && step.subject().is_none_or(|subject| open.subjects.contains(&subject))
        {
            execute_step(run, open.block, &mut trials, &step)?;
        }
    }
    Ok(())
}

fn execute_step(
    run: &mut Run<'_>,
    block: &Block,
    trials: &mut Trials,
    step: &Step,
) -> Result<(), Error> {
    if let Step::Start(subject) = step {
        let trial = start(run, block, *subject)?;
        trials.insert(*subject, trial);
        return Ok(());
    }
    let Some(subject) = step.subject() else { return ready(run, block, trials) };
    if let Step::End(_) = step {
        return trials.remove(&subject).map_or(Ok(()), |trial| end(run, trial));
    }
    let trial = trials.get_mut(&subject);
    let trial = trial.ok_or_else(|| {
        Error::Driver(format!(
            "`{}` is not up: report this as a defect",
            run.subject(subject).label
        ))
    })?;
    run.stop.check()?;
    match step {
        Step::Warm(_) => run.during(Activity::WarmUp, |run| trial.warm(run)),
        Step::Prepare(prepare) => prepare_trial(run, trial, prepare),
        Step::Intrusive(stretch) => intrusive::execute(run, trial, stretch),
        Step::Slice(slice) => slice_of(run, trial, slice),
        Step::Settle { phase, .. } => {
            run.during(Activity::Maintenance, |run| maintenance::phase(run, trial, *phase))
        }
        Step::Start(_) | Step::Ready | Step::End(_) => Ok(()),
    }
}

/// Brings a subject up on a copy of its template.
fn start(run: &mut Run<'_>, block: &Block, subject: usize) -> Result<Trial, Error> {
    template::make(run, subject, block.load)?;
    let data = match run.plan.experiment.design {
        Design::Classic if !instruments::start_copies(run) => {
            data::take_for_trial(run, subject, block.load)?
        }
        Design::Interleaved | Design::Classic => data::copy_for_block(run, subject, block.load)?,
    };
    Trial::begin(run, subject, block.index, &data)
}

/// All servers of a block, or the only one, are up.
fn ready(run: &mut Run<'_>, block: &Block, trials: &Trials) -> Result<(), Error> {
    let headers: Vec<_> = trials.values().map(|trial| trial.header.clone()).collect();
    if !headers.is_empty() {
        run.observer.tell(&Progress::Ready { block: block.index, headers: &headers });
        // Else the first slices pay for the load or the copies.
        files::sync_file_system(run.place.data())?;
    }
    Ok(())
}

fn end(run: &mut Run<'_>, trial: Trial) -> Result<(), Error> {
    let data = trial.instance.data.clone();
    trial.end(run)?;
    files::remove_folder(&data)?;
    run.note_time().map(drop)
}

fn prepare_trial(run: &Run<'_>, trial: &mut Trial, prepare: &Prepare) -> Result<(), Error> {
    // What is discarded before instruments that disturb has no part in what they found before.
    trial.of_phase = Default::default();
    let phase = &run.plan.phases[prepare.phase];
    let mut assignment = run.assignment(phase)?;
    if let Some(piece) = prepare.piece {
        assignment.script = assignment.script.piece(piece.index, piece.of);
    }
    trial.prepare(phase.script.connections(), &assignment)?;
    if prepare.short_discard && !trial.marks.iter().any(|mark| mark == SHORT) {
        trial.marks.push(SHORT.to_owned());
    }
    Ok(())
}

/// A slice, or for a broken subject a record that says why there is none.
fn slice_of(run: &mut Run<'_>, trial: &mut Trial, planned: &Slice) -> Result<(), Error> {
    match trial.obstacle(&run.plan.phases[planned.phase].script) {
        None => slice::execute(run, trial, planned),
        Some(reason) => slice::refuse(run, trial, planned, &reason),
    }
}
