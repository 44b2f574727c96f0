//! Stretches of their own for instruments that disturb, outside all measured windows.

use crate::{
    Error,
    calibration::STATE,
    instruments::{self, Findings, Instrument, Intruder},
    ledger::Activity,
    run::Run,
    server::{Instance, OwnServer, data, tables},
    trial::Trial,
};
use model::{drive::StretchEnd, plan::Phase, schedule::Intrusive};

/// Lets each instrument that disturbs observe a stretch of the phase, and keeps what it finds for
/// the phase's slices. The stretch has as many operations for every subject as for the first.
pub(crate) fn execute(
    run: &mut Run<'_>,
    trial: &mut Trial,
    stretch: &Intrusive,
) -> Result<(), Error> {
    let used = instruments::intrusive(run);
    let phase = &run.plan.phases[stretch.phase];
    if used.is_empty() || trial.obstacle(&phase.script).is_some() {
        return Ok(());
    }
    if let Some(warmup) = stretch.warmup {
        let end = run.calibration.end(phase, warmup);
        let warmed = run.during(Activity::WarmUp, |_| {
            trial.instance.thawed(|instance| instance.driver.stretch(end, stretch.seeds.warmup))
        });
        if trial.keep_apart(warmed)?.is_none() {
            return Ok(());
        }
    }
    used.into_iter().try_for_each(|used| {
        run.during(used.activity, |run| match operations(run, trial, stretch, used)? {
            0 => Ok(()),
            operations => observe(run, trial, stretch, used, operations),
        })
    })
}

/// How many operations the stretch has; none where the instrument can observe none.
fn operations(
    run: &mut Run<'_>,
    trial: &mut Trial,
    stretch: &Intrusive,
    used: Intruder,
) -> Result<u64, Error> {
    let phase = &run.plan.phases[stretch.phase];
    if let Some(known) = run.calibration.intrusive(used.name()).get(&phase.name) {
        return Ok(*known);
    }
    let find = |instance: &mut Instance| {
        used.instrument.operations(instance, phase, stretch.seeds.finding)
    };
    let found = observed(run, trial, stretch.phase, used).and_then(|it| it.thawed(find));
    let found = found.or_else(|error| without_copy(trial, used, error).map(Err));
    match trial.keep_apart(found)? {
        None => Ok(0),
        Some(Err(reason)) => not_counted(trial, phase, used, &reason).map(|()| 0),
        Some(Ok(operations)) => {
            run.calibration.intrusive(used.name()).insert(phase.name.clone(), operations);
            run.writer.note_state(STATE, &run.calibration)?;
            Ok(operations)
        }
    }
}

fn observe(
    run: &mut Run<'_>,
    trial: &mut Trial,
    stretch: &Intrusive,
    used: Intruder,
    operations: u64,
) -> Result<(), Error> {
    let phase = &run.plan.phases[stretch.phase];
    let end = StretchEnd::Operations(operations);
    let observe = |instance: &mut Instance| {
        if used.instrument.own_server().is_some() {
            // Nothing else has warmed it up.
            instance.driver.stretch(end, stretch.seeds.finding)?;
        }
        observe_on(instance, used.instrument, end, stretch.seeds.observed)
    };
    let found = observed(run, trial, stretch.phase, used).and_then(|it| it.thawed(observe));
    let found = found.or_else(|error| {
        let nothing = Some(without_copy(trial, used, error)?);
        Ok(Findings { nothing, ..Findings::default() })
    });
    match trial.keep_apart(found)? {
        None => Ok(()),
        Some(Findings { nothing: Some(reason), .. }) => not_counted(trial, phase, used, &reason),
        Some(found) => trial.keep_for_phase(found),
    }
}

/// Whose work an instrument observes: the trial's server, or the instrument's own.
fn observed<'a>(
    run: &mut Run<'_>,
    trial: &'a mut Trial,
    phase: usize,
    used: Intruder,
) -> Result<&'a mut Instance, Error> {
    match used.instrument.own_server() {
        None => Ok(&mut trial.instance),
        Some(own) => on_copy(run, trial, phase, used, own),
    }
}

/// Executes a stretch on an instance that is thawed.
fn observe_on(
    instance: &mut Instance,
    instrument: &dyn Instrument,
    end: StretchEnd,
    seed: u64,
) -> Result<Findings, Error> {
    let mut found = Findings::default();
    let mut opened = [instrument.open(instance)?];
    instruments::observe(&mut opened, &mut found, |_| instance.driver.stretch(end, seed))?;
    Ok(found)
}

/// The copy of a trial's server that an instrument has for itself, frozen and with the workload of
/// the phase: started from the template when it is first asked for, and ended with the trial.
fn on_copy<'a>(
    run: &mut Run<'_>,
    trial: &'a mut Trial,
    phase: usize,
    used: Intruder,
    own: OwnServer,
) -> Result<&'a mut Instance, Error> {
    let about = &run.plan.phases[phase];
    let mut assignment = run.assignment(about)?;
    if !about.script.has_named_roles() {
        // Threads that wait for each other would wait longer than on a processor.
        assignment.script.roles.iter_mut().for_each(|role| role.clients = 1);
    }
    let clients = assignment.script.connections();
    if !trial.copies.contains_key(used.name()) {
        let block = run.plan.blocks.iter().find(|block| block.index == trial.header.block);
        let load = block.map_or(0, |block| block.load);
        let folder = data::copy_for(run, trial.subject, load, used.name())?;
        let mut copy = Instance::start_as(run, trial.subject, &folder, used.name(), own)?;
        copy.connect(clients)?;
        tables::warm(run, &mut copy)?;
        copy.freeze()?;
        trial.copies.insert(used.name(), copy);
    }
    let copy = trial.copies.get_mut(used.name());
    let copy = copy.ok_or_else(|| Error::Driver("a copy of the server is gone".to_owned()))?;
    copy.thawed(|copy| {
        if copy.connections.len() != clients as usize {
            copy.connect(clients)?;
        }
        copy.compile(&assignment)
    })?;
    Ok(copy)
}

/// The trial goes on without a copy that broke, and says why.
fn without_copy(trial: &mut Trial, used: Intruder, error: Error) -> Result<String, Error> {
    let of_copy = error.is_of_one_subject() || matches!(error, Error::Dbms(_));
    if used.instrument.own_server().is_none() || !of_copy {
        return Err(error);
    }
    trial.copies.remove(used.name());
    Ok(error.to_string())
}

/// Notes in the record that an instrument found nothing of a phase, and why.
fn not_counted(
    trial: &mut Trial,
    phase: &Phase,
    used: Intruder,
    reason: &str,
) -> Result<(), Error> {
    let message = format!("`{}` is not counted by {}: {reason}", phase.name, used.name());
    trial.event("warning", &message, None)
}
