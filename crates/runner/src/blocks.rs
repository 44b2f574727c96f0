//! Executes the schedule of a plan: block after block, step after step.

use crate::{
    Error, Progress,
    block::{calibrate, maintenance, template},
    host::files,
    intruders::intruders,
    judge::{Look, Pace},
    ledger::Activity,
    rounds::{self, Repeated},
    run::{PERMITTED_BLOCKS, Run, slices_per_trial},
    server::{
        Waiting, attached, data,
        side_by_side::{at_once, side_by_side},
    },
    slice::{
        self,
        intrusive::{self, Observed},
    },
    trial::{self, Trial, Trials},
};
use model::{
    experiment::Design,
    number::{counted, ordinal},
    plan::{Block, Phase, PhaseKind},
    schedule::{self, Prepare, SHORT, Step},
};

/// The subjects of a block that have no complete record yet, in their start order.
struct Open<'a> {
    block: &'a Block,
    subjects: Vec<usize>,
}

/// Executes every trial that is not complete yet.
pub(crate) fn run(run: &mut Run<'_>) -> Result<(), Error> {
    run.writer.discard_incomplete()?;
    // A budget is for loading too.
    let mut pace = Pace::begin();
    let open = open(run);
    if let Some(first) = open.first() {
        prepare(run, first, &open)?;
    }
    let mut repeated = Repeated::default();
    for (index, of_block) in open.iter().enumerate() {
        let blocks = of_block.block.index;
        if budget_is_spent(run, &pace, blocks)? || look(run, blocks, index)? == Next::End {
            break;
        }
        if !run.plan.experiment.looks.is_empty() {
            run.expect(open.len() - index);
        }
        pace.begin_block();
        repeated.begin_block();
        execute(run, of_block, &mut repeated)?;
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

/// What the last look found, in the state of a run.
const LAST_LOOK: &str = "last_look";

/// Judges `blocks` complete ones, where the plan has a look there; the phases that are decided are
/// measured no further. A run that is continued between two looks keeps what the last one found:
/// another look would spend error rate that belongs to the planned ones.
fn look(run: &mut Run<'_>, blocks: u32, index: usize) -> Result<Next, Error> {
    let Some(judge) = run.options.ending.judge.clone() else { return Ok(Next::Block) };
    let looks = &run.plan.experiment.looks;
    let found: Option<Look> = if looks.contains(&blocks) {
        let found = judge.look(run.writer.id()).map_err(Error::Judge)?;
        run.observer.tell(&Progress::Finding(&found.sentence));
        run.writer.note_state(LAST_LOOK, &found)?;
        Some(found)
    } else if index == 0 && looks.first().is_some_and(|first| blocks > *first) {
        run.writer.state(LAST_LOOK)?
    } else {
        None
    };
    let Some(found) = found else { return Ok(Next::Block) };
    if run.plan.phases.iter().all(|phase| !is_test(phase) || found.decided.contains(&phase.name)) {
        run.ended =
            Some(format!("the run ended after {}: no test is open", counted(blocks, "block")));
        return Ok(Next::End);
    }
    let plan = run.plan;
    let left = |decided| schedule::left(plan, decided);
    run.look =
        Look { decided: left(&found.decided), counted: left(&found.counted), ..Look::default() };
    Ok(Next::Block)
}

/// Whether a phase is compared: builds of indexes are, too.
fn is_test(phase: &Phase) -> bool {
    matches!(phase.kind, PhaseKind::Measure | PhaseKind::Index)
}

/// Blocks become shorter as phases are decided: a budget permits more of them than it seems.
const HEADROOM: f64 = 1.5;

/// Whether another block would take longer than the run may; never before there are enough for a
/// verdict. How many blocks the budget permits at most is noted at every look: what a look may
/// spend of the error rate depends on it, so it never grows, not even where the run is continued
/// without a budget.
fn budget_is_spent(run: &mut Run<'_>, pace: &Pace, blocks: u32) -> Result<bool, Error> {
    let looks = &run.plan.experiment.looks;
    if looks.first().is_none_or(|first| blocks < *first) {
        return Ok(false);
    }
    let budget = run.options.ending.budget;
    let has_time = budget.is_none_or(|budget| pace.has_time(budget));
    let permitted = budget.map(|budget| match has_time {
        true => blocks.saturating_add((f64::from(pace.most(budget)) * HEADROOM).ceil() as u32),
        false => blocks,
    });
    let known: Option<u32> = run.writer.state(PERMITTED_BLOCKS)?;
    let Some(permitted) = known.into_iter().chain(permitted).min() else { return Ok(false) };
    if looks.contains(&blocks) || permitted <= blocks {
        run.writer.note_state(PERMITTED_BLOCKS, &permitted)?;
    }
    if permitted > blocks {
        return Ok(false);
    }
    let why = match has_time {
        true => "its error rate was shared out for as many",
        false => "another one would take longer than the budget",
    };
    run.ended = Some(format!("the run ended after {}: {why}", counted(blocks, "block")));
    Ok(true)
}

/// What is left to do. In the interleaved design a block that is not whole is repeated as a whole.
fn open<'a>(run: &mut Run<'a>) -> Vec<Open<'a>> {
    let plan = run.plan;
    let complete = run.writer.complete_trials();
    run.keep_done(complete.len() as u64 * slices_per_trial(plan));
    let of_block = |block: &'a Block| {
        let is_open = |subject: &usize| {
            let label = &plan.subjects[*subject].label;
            !complete.iter().any(|trial| trial.block == block.index && trial.subject == *label)
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

fn execute(run: &mut Run<'_>, open: &Open<'_>, repeated: &mut Repeated) -> Result<(), Error> {
    let operations = run.calibration.slice_operations(run.plan);
    let mut trials = Trials::new();
    let is_open = |step: &Step| {
        !run.is_counted(step) && step.subject().is_none_or(|one| open.subjects.contains(&one))
    };
    let steps = schedule::steps(run.plan, open.block, &operations, &run.look.decided).into_iter();
    let steps: Vec<Step> = steps.filter(is_open).collect();
    for group in steps.chunk_by(|one, next| one.goes_beside(next) || one.is_same_round(next)) {
        // What has done all its slices ends in peace.
        if !matches!(group[0], Step::End(_)) {
            run.stop.check()?;
        }
        match &group[0] {
            Step::Start(_) => start(run, open.block, &mut trials, group)?,
            Step::Ready => ready(run, open.block, &trials)?,
            Step::Warm(_) | Step::Discard(_) => warm_up(run, &mut trials, group)?,
            Step::Intrusive(_) => observe(run, &mut trials, group)?,
            Step::Slice(_) => {
                rounds::execute(run, open.block, &mut trials, group, repeated)?;
            }
            Step::End(_) => end(run, &mut trials, group)?,
            step => execute_step(run, &mut trials, step)?,
        }
    }
    Ok(())
}

/// A step that nothing else is executed beside.
fn execute_step(run: &mut Run<'_>, trials: &mut Trials, step: &Step) -> Result<(), Error> {
    let Some(subject) = step.subject() else { return Ok(()) };
    let trial = trial::of(run, trials, subject)?;
    match step {
        Step::Prepare(prepare) => {
            if trial.audit.as_ref().is_some_and(|audit| audit.phase != prepare.phase) {
                audit(run, trial)?;
            }
            prepare_trial(run, trial, prepare)
        }
        Step::Settle { phase, .. } => {
            run.during(Activity::Maintenance, |run| maintenance::phase(run, trial, *phase))
        }
        // Executed in groups.
        Step::Start(_)
        | Step::Ready
        | Step::Warm(_)
        | Step::Discard(_)
        | Step::Intrusive(_)
        | Step::Slice(_)
        | Step::End(_) => Ok(()),
    }
}

/// The steps of a group, each with its trial, which is not among the others meanwhile.
fn taken<'a>(
    run: &Run<'_>,
    trials: &mut Trials,
    group: &'a [Step],
) -> Result<Vec<(&'a Step, Trial)>, Error> {
    let with_trial = |step: &'a Step| {
        let subject = step.subject()?;
        let trial = trials.remove(&subject).ok_or_else(|| trial::not_up(run, subject));
        Some(trial.map(|trial| (step, trial)))
    };
    group.iter().filter_map(with_trial).collect()
}

/// Brings subjects up, each on a copy of its template.
fn start(
    run: &mut Run<'_>,
    block: &Block,
    trials: &mut Trials,
    group: &[Step],
) -> Result<(), Error> {
    let mut waiting = Vec::new();
    for subject in group.iter().filter_map(Step::subject) {
        template::make(run, subject, block.load)?;
        waiting.push(Waiting::spawn(run, subject)?);
    }
    let labels: Vec<&str> =
        waiting.iter().map(|one| run.subject(one.subject).label.as_str()).collect();
    run.step(&format!("block {}: starting {}", ordinal(block.index), labels.join(", ")));
    let run = &*run;
    let started = side_by_side(waiting, at_once(1), |waiting| {
        let (subject, load) = (waiting.subject, block.load);
        let data = match run.plan.experiment.design {
            Design::Classic if intruders(run).is_empty() => {
                data::take_for_trial(run, subject, load)?
            }
            Design::Interleaved | Design::Classic => data::copy_for_block(run, subject, load)?,
        };
        let begun = Trial::begin(run, waiting, block.index, &data);
        begun.map_err(|error| error.of_subject(&run.subject(subject).label))
    })?;
    trials.extend(started.into_iter().map(|trial| (trial.subject, trial)));
    Ok(())
}

/// Fills the caches of subjects, or executes what is discarded before a phase's first round.
fn warm_up(run: &mut Run<'_>, trials: &mut Trials, group: &[Step]) -> Result<(), Error> {
    let connections = match &group[0] {
        Step::Discard(slice) => run.plan.phases[slice.phase].script.connections(),
        _ => 1,
    };
    let group = taken(run, trials, group)?;
    let warmed = run.during(Activity::WarmUp, |run| {
        let run = &*run;
        side_by_side(group, at_once(connections), |(step, mut trial)| {
            let record = match step {
                Step::Discard(slice) => slice::discard(run, &mut trial, slice).map(Some),
                _ => trial.warm(run).map(|()| None),
            };
            let label = &run.subject(trial.subject).label;
            record.map(|record| (trial, record)).map_err(|error| error.of_subject(label))
        })
    })?;
    for (trial, record) in warmed {
        if let Some(record) = record {
            run.slice_done(&record);
        }
        trials.insert(trial.subject, trial);
    }
    Ok(())
}

/// Lets instruments that disturb observe a phase on the subjects.
fn observe(run: &mut Run<'_>, trials: &mut Trials, group: &[Step]) -> Result<(), Error> {
    let observed = taken(run, trials, group)?.into_iter().filter_map(|(step, trial)| match step {
        Step::Intrusive(stretch) => Some(Observed { stretch, trial }),
        _ => None,
    });
    let observed = intrusive::execute(run, observed.collect())?;
    trials.extend(observed.into_iter().map(|one| (one.trial.subject, one.trial)));
    Ok(())
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

/// Ends the audit of the last phase. A phase that did not do what it should has a failed slice,
/// which leaves no number of it.
fn audit(run: &mut Run<'_>, trial: &mut Trial) -> Result<(), Error> {
    if let Some((last, reason)) = trial.end_audit(run)? {
        let slice = schedule::Slice { round: last.round + 1, ..last };
        slice::refuse(run, trial, &slice, &reason)?;
    }
    Ok(())
}

fn end(run: &mut Run<'_>, trials: &mut Trials, group: &[Step]) -> Result<(), Error> {
    for subject in group.iter().filter_map(Step::subject) {
        let trial = trial::of(run, trials, subject)?;
        audit(run, trial)?;
    }
    let shared = &*run;
    let group = taken(shared, trials, group)?;
    side_by_side(group, at_once(1), |(_, trial)| {
        let data = trial.instance.data.clone();
        let subject = trial.subject;
        trial.end(shared)?;
        attached::unmake(shared, subject);
        files::remove_folder(&data)
    })?;
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
    trial.begin_audit(run, prepare.phase)?;
    if prepare.short_discard {
        trial.of_phase.marks.push(SHORT.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_run_waits_for_builds_of_indexes_too() {
        let check = |kind: PhaseKind, expected: bool| {
            assert_eq!(is_test(&testing::phase(kind)), expected, "{kind:?}");
        };
        check(PhaseKind::Measure, true);
        check(PhaseKind::Index, true);
        check(PhaseKind::Warmup, false);
        check(PhaseKind::Settle, false);
    }
}
