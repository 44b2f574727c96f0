//! Stretches of their own for instruments that disturb, outside all measured windows.

use super::indexes;
use crate::{
    Error,
    calibration::STATE,
    instruments::{self, Findings},
    intruders::{Intruder, Sought, Warming, intruders},
    run::{COUNTS, Counts, Run},
    server::{
        Instance, Waiting, data,
        side_by_side::{at_once, side_by_side},
        tables,
    },
    trial::{Copied, Trial},
};
use model::{
    drive::{Assignment, StretchEnd},
    experiment::Design,
    number::ordinal,
    plan::Phase,
    schedule::Intrusive,
    script::{End, Role, Script},
};
use std::collections::BTreeMap;

/// A stretch of one subject.
pub(crate) struct Observed<'a> {
    pub(crate) stretch: &'a Intrusive,
    pub(crate) trial: Trial,
}

/// Lets each instrument that disturbs observe stretches of one phase, and keeps what it finds for
/// the phase's slices. A stretch has as many operations for every subject as for the first.
pub(crate) fn execute<'a>(
    run: &mut Run<'_>,
    mut observed: Vec<Observed<'a>>,
) -> Result<Vec<Observed<'a>>, Error> {
    let Some(phase) = observed.first().map(|one| one.stretch.phase) else { return Ok(observed) };
    let phase = &run.plan.phases[phase];
    if let Some(reason) = unlike(run, phase) {
        for used in intruders(run) {
            for one in &mut observed {
                not_counted(run, &mut one.trial, phase, used, &reason)?;
            }
        }
        return Ok(observed);
    }
    let able = |one: &Observed<'_>| one.trial.obstacle(&phase.script).is_none();
    let (mut able, unable): (Vec<_>, Vec<_>) = observed.into_iter().partition(able);
    for used in intruders(run) {
        able = run.during(used.activity(), |run| with_copies(run, able, used))?;
    }
    // Without copies there may be none.
    for used in intruders(run) {
        able = run.during(used.activity(), |run| of_instrument(run, able, used))?;
    }
    able.extend(unable);
    Ok(able)
}

/// Why a copy does not do what a phase does, if it does not: it finds other tables, or its roles
/// execute other shares of the operations.
fn unlike(run: &Run<'_>, phase: &Phase) -> Option<String> {
    if let Some(other) = tables::filling(run.plan, phase) {
        return Some(format!(
            "`{}` fills its tables, and a copy that is loaded again has no rows",
            other.name
        ));
    }
    go_by_speed(run.plan.experiment.design, &phase.script).then(|| {
        "how many operations each of its roles does depends on their speeds, and those are others \
         here"
            .to_owned()
    })
}

/// Whether roles do as many operations in a slice as their speeds permit. On a copy each has as
/// many on a connection as the others.
fn go_by_speed(design: Design, script: &Script) -> bool {
    let follows = |role: &Role| role.pairing.is_some_and(|pair| role.end == End::With(pair.role));
    let by_speed = |role: &Role| match design {
        Design::Interleaved => role.end != End::Stretch && !follows(role),
        Design::Classic => role.pairing.is_none(),
    };
    script.roles.len() > 1 && script.roles.iter().any(by_speed)
}

/// Observes those that it does not know from a phase with fewer or more clients: the copy has one
/// client in either.
fn of_instrument<'a>(
    run: &mut Run<'_>,
    observed: Vec<Observed<'a>>,
    used: &dyn Intruder,
) -> Result<Vec<Observed<'a>>, Error> {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for mut one in observed {
        match take_known(run, &mut one, used) {
            true => known.push(one),
            false => unknown.push(one),
        }
    }
    known.extend(of_stretches(run, unknown, used)?);
    Ok(known)
}

fn take_known(run: &Run<'_>, observed: &mut Observed<'_>, used: &dyn Intruder) -> bool {
    let phases = &run.plan.phases;
    let own = &phases[observed.stretch.phase];
    let trial = &mut observed.trial;
    let copy = trial.copies.get(used.name());
    let mut found = copy.iter().flat_map(|copy| &copy.found);
    let same = found.find(|(phase, _)| phases[**phase].differs_in_clients(own));
    same.map(|(_, found)| trial.of_phase.add(found)).is_some()
}

fn of_stretches<'a>(
    run: &mut Run<'_>,
    mut observed: Vec<Observed<'a>>,
    used: &dyn Intruder,
) -> Result<Vec<Observed<'a>>, Error> {
    let Some(first) = observed.first_mut() else { return Ok(observed) };
    let (block, phase) = (first.trial.header.block, &run.plan.phases[first.stretch.phase].name);
    run.step(&format!("block {}: {}", ordinal(block), used.doing(phase)));
    let operations = operations(run, first, used)?;
    if operations == 0 {
        return Ok(observed);
    }
    let run = &*run;
    side_by_side(observed, at_once(1), |mut one| {
        observe(run, &mut one, used, operations)?;
        Ok(one)
    })
}

/// How many operations the stretch has; none where the instrument can observe none.
fn operations(
    run: &mut Run<'_>,
    observed: &mut Observed<'_>,
    used: &dyn Intruder,
) -> Result<u64, Error> {
    let Observed { stretch, trial } = observed;
    let phase = &run.plan.phases[stretch.phase];
    if let Some(known) = run.calibration.intrusive(used.name()).get(&phase.name) {
        return Ok(*known);
    }
    let rate = run.calibration.rate(phase).filter(|_| !waits(&phase.script));
    let rate = rate.map(|rate| rate * room(&phase.script));
    let seed = stretch.seeds.finding;
    let sought = Sought { phase, rate, seed };
    let find = |instance: &mut Instance| used.operations(instance, &sought);
    let found = ready(run, trial, phase, used).and_then(|copy| {
        let found = copy.instance.thawed(find)?;
        copy.executed = found.as_ref().map_or(0, |found| found.executed);
        Ok(found.map(|found| found.operations))
    });
    let found = found.or_else(|error| without_copy(trial, used, error).map(Err));
    match trial.keep_apart(found)? {
        None => Ok(0),
        Some(Err(reason)) => not_counted(run, trial, phase, used, &reason).map(|()| 0),
        Some(Ok(operations)) => {
            run.calibration.intrusive(used.name()).insert(phase.name.clone(), operations);
            run.writer.note_state(STATE, &run.calibration)?;
            Ok(operations)
        }
    }
}

/// Whether a connection waits for what a copy does not, so that its rate says nothing of it.
fn waits(script: &Script) -> bool {
    script.of_one_client().most_per_connection() != script.most_per_connection()
}

/// How many times as fast as one of a phase's connections that of a copy is at least: it has to
/// share no processor with others.
fn room(script: &Script) -> f64 {
    if script.has_named_roles() {
        return 1.0;
    }
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
    (f64::from(script.connections()) / processors).max(1.0)
}

fn observe(
    run: &Run<'_>,
    observed: &mut Observed<'_>,
    used: &dyn Intruder,
    operations: u64,
) -> Result<(), Error> {
    let Observed { stretch, trial } = observed;
    let phase = &run.plan.phases[stretch.phase];
    let found = ready(run, trial, phase, used).and_then(|copy| {
        let Copied { instance, searched, executed, .. } = copy;
        // All servers have executed as many before they are observed.
        let missing = operations.saturating_sub(std::mem::take(executed));
        instance.thawed(|instance| {
            let schema = run.schema_of(phase)?;
            let enough = tables::operations_to_warm(schema, &phase.script, *searched);
            let seed = stretch.seeds.finding;
            let warming = Warming { phase, enough, operations: missing, seed };
            let read = used.warm_up(instance, &warming)? as f64;
            *searched += read * phase.script.lookups().searches;
            observe_on(instance, used, stretch, operations)
        })
    });
    let found = found.or_else(|error| {
        let missing = Some(without_copy(trial, used, error)?);
        Ok(Findings { missing, ..Findings::default() })
    });
    match trial.keep_apart(found)? {
        None => Ok(()),
        Some(mut found) => {
            let missing = found.missing.take();
            let kept = trial.keep(found)?;
            trial.of_phase.add(&kept);
            if let Some(reason) = missing {
                not_counted(run, trial, phase, used, &reason)?;
            } else if let Some(copy) = trial.copies.get_mut(used.name()) {
                copy.found.insert(stretch.phase, kept);
            }
            Ok(())
        }
    }
}

/// The server of an instrument, with the workload of the phase.
fn ready<'a>(
    run: &Run<'_>,
    trial: &'a mut Trial,
    phase: &Phase,
    used: &dyn Intruder,
) -> Result<&'a mut Copied, Error> {
    let Some(copy) = trial.copies.get_mut(used.name()) else {
        return Err(Error::Driver(trial.not_copied.clone().unwrap_or_default()));
    };
    let assignment = of_copy(run, phase)?;
    let clients = assignment.script.connections() as usize;
    copy.instance.thawed(|copy| {
        if copy.connections.len() != clients {
            copy.connect(clients as u32)?;
        }
        copy.compile(&assignment)
    })?;
    Ok(copy)
}

/// What a copy executes in a phase.
fn of_copy(run: &Run<'_>, phase: &Phase) -> Result<Assignment, Error> {
    let mut assignment = run.assignment(phase)?;
    // Threads that wait for each other would wait longer than on a processor.
    assignment.script = assignment.script.of_one_client();
    Ok(assignment)
}

/// Executes a stretch on an instance that is thawed.
fn observe_on(
    instance: &mut Instance,
    used: &dyn Intruder,
    stretch: &Intrusive,
    operations: u64,
) -> Result<Findings, Error> {
    let mut found = Findings::default();
    let mut opened = [used.open(instance)?];
    let end = StretchEnd::Operations(operations);
    instruments::observe(&mut opened, &mut found, |_| {
        instance.driver.stretch(end, stretch.seeds.observed)
    })?;
    Ok(found)
}

/// Starts the servers of an instrument where they are not up yet: frozen, and each ended with its
/// trial.
fn with_copies<'a>(
    run: &mut Run<'_>,
    observed: Vec<Observed<'a>>,
    used: &dyn Intruder,
) -> Result<Vec<Observed<'a>>, Error> {
    let with_driver = |mut one: Observed<'a>| {
        forget_older(run, &mut one, used);
        let trial = &one.trial;
        let is_known = trial.copies.contains_key(used.name()) || trial.not_copied.is_some();
        let driver = || Waiting::spawn_beside(run, trial.subject, used.name(), used.own_server());
        let driver = (!is_known).then(driver);
        (one, driver)
    };
    // By this thread, which outlives them.
    let with_drivers: Vec<_> = observed.into_iter().map(with_driver).collect();
    let shared = &*run;
    let mut observed = side_by_side(with_drivers, at_once(1), |(mut one, driver)| {
        let Some(driver) = driver else { return Ok(one) };
        let phase = &shared.plan.phases[one.stretch.phase];
        let started = driver.and_then(|driver| copied(shared, &one.trial, driver, phase, used));
        match started {
            Ok(instance) => {
                let indexes = indexes::before(&shared.plan.phases, phase).count();
                let copy = Copied {
                    instance,
                    indexes,
                    searched: 0.0,
                    executed: 0,
                    found: BTreeMap::new(),
                };
                one.trial.copies.insert(used.name(), copy);
            }
            Err(error) => {
                one.trial.not_copied = Some(without_copy(&mut one.trial, used, error)?);
            }
        }
        Ok(one)
    })?;
    // What an interrupt has ended says nothing of the emulator.
    run.stop.check()?;
    let broken = observed.iter().find_map(|one| one.trial.not_copied.as_deref());
    let is_first = run.calibration.intrusive(used.name()).is_empty();
    if let (Some(reason), None, true) = (broken, run.options.counts, is_first) {
        // Counts of some servers compare with nothing.
        run.warn(&format!("no instructions are counted: {reason}"));
        run.counts = Counts::None;
        // Whoever continues the run counts none either.
        run.writer.note_state(COUNTS, &run.counts)?;
        observed.iter_mut().for_each(|one| one.trial.copies.clear());
    }
    Ok(observed)
}

/// Ends the server of an instrument that was started before phases built indexes, which its tables
/// lack.
fn forget_older(run: &Run<'_>, observed: &mut Observed<'_>, used: &dyn Intruder) {
    let phases = &run.plan.phases;
    let indexes = indexes::before(phases, &phases[observed.stretch.phase]).count();
    let copies = &mut observed.trial.copies;
    if copies.get(used.name()).is_some_and(|copy| copy.indexes < indexes) {
        copies.remove(used.name());
    }
}

/// A server for an instrument on a copy of the template, with the indexes that the trial's own
/// tables have by now.
fn copied(
    run: &Run<'_>,
    trial: &Trial,
    waiting: Waiting,
    phase: &Phase,
    used: &dyn Intruder,
) -> Result<Instance, Error> {
    let block = run.plan.blocks.iter().find(|block| block.index == trial.header.block);
    let load = block.map_or(0, |block| block.load);
    let folder = data::copy_for(run, trial.subject, load, used.name())?;
    indexes::build_in(run, trial.subject, &folder, phase)?;
    let mut copy = Instance::launch(run, waiting, &folder)?;
    copy.connect(of_copy(run, phase)?.script.connections())?;
    tables::warm(run, &mut copy)?;
    copy.freeze()?;
    Ok(copy)
}

/// The trial goes on without a copy that broke, and says why.
fn without_copy(trial: &mut Trial, used: &dyn Intruder, error: Error) -> Result<String, Error> {
    if !is_of_copy(&error) {
        return Err(error);
    }
    trial.copies.remove(used.name());
    Ok(error.to_string())
}

/// Whether a copy is at fault, and neither the run nor its host.
fn is_of_copy(error: &Error) -> bool {
    let is_its_own = match error {
        Error::Dbms(dbms::Error::KeeperGone { .. }) => false,
        Error::Dbms(_) => true,
        other => other.is_of_one_subject(),
    };
    is_its_own && !dbms::is_full_disk(&error.to_string())
}

/// Says and notes in the record that an instrument did not find all of a phase, and why.
fn not_counted(
    run: &Run<'_>,
    trial: &mut Trial,
    phase: &Phase,
    used: &dyn Intruder,
    reason: &str,
) -> Result<(), Error> {
    let (subject, phase) = (&trial.header.subject, &phase.name);
    let message = format!("`{phase}` of `{subject}` is not counted by {}: {reason}", used.name());
    trial.of_phase.marks.push(format!("not counted by {}, see the events", used.name()));
    run.warn(&message);
    trial.event("warning", &message, None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::script::Pairing;

    #[test]
    fn roles_that_go_by_their_speeds_are_not_alike_on_a_copy() {
        let check = |roles: &[(End, Option<usize>)], expected: [bool; 2]| {
            let role = |(end, partner): &(End, Option<usize>)| {
                let pairing = partner.map(|role| Pairing { role, lead: 8 });
                Role { end: *end, pairing, ..Role::default() }
            };
            let roles = roles.iter().map(role).collect();
            let script = Script { roles, ..crate::testing::script() };
            let found = [Design::Interleaved, Design::Classic].map(|one| go_by_speed(one, &script));
            assert_eq!(found, expected, "{script:?}");
        };
        let stretch = (End::Stretch, None);
        check(&[stretch], [false, false]);
        // By the clock, the faster one does more.
        check(&[stretch, stretch], [false, true]);
        check(&[stretch, (End::With(0), None)], [true, true]);
        check(&[(End::Stretch, Some(1)), (End::With(0), Some(0))], [false, false]);
    }

    #[test]
    fn what_the_host_has_ended_is_no_fault_of_a_copy() {
        let gone = dbms::Error::KeeperGone { reason: "it was killed".to_owned() };
        let full = std::io::Error::other("No space left on device: `data`");
        assert!(!is_of_copy(&gone.into()) && !is_of_copy(&dbms::Error::File(full).into()));
        assert!(!is_of_copy(&Error::Interrupted));
        assert!(is_of_copy(&Error::Driver("the driver ended".to_owned())));
        assert!(is_of_copy(&dbms::Error::NoCache.into()));
    }
}
