//! Where the instructions of an operation are spent: one phase on a few subjects, each under the
//! emulator, with the calls of the task that serves its one connection.

use crate::{
    Error, Observer, Options, Stop,
    block::{maintenance, template},
    execute,
    host::files,
    instruments::emulation::{self, Serving},
    run::Run,
    server::{Instance, initialise, tables},
    verify,
};
use dbms::Places;
use emulator::{Emulator, Names};
use model::{
    drive::{Assignment, StretchEnd},
    explanation::{Function, Side, WarmUp},
    number::counted,
    plan::{Phase, PhaseKind, Plan},
};

/// What is explained.
#[derive(Debug, Clone, Copy)]
pub struct Explaining<'a> {
    /// The plan that a run executed.
    pub plan: &'a Plan,
    /// Name of the phase.
    pub phase: &'a str,
    /// Labels of the subjects.
    pub subjects: &'a [&'a str],
    /// Operations that are counted.
    pub operations: u64,
}

/// The sides of an explanation, without areas, and what counted them.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The emulator.
    pub emulator: String,
    /// One per subject.
    pub sides: Vec<Side>,
}

/// Operations of the first batch of a warm-up.
const FIRST_BATCH: u64 = 500;
/// Operations of a warm-up, at most.
pub const WARM_UP_MAX: u64 = 260_000;
/// Rows of the tables for each operation of a warm-up, at most: a page has tens of rows, and is met
/// several times then. Before that, what builds up page by page may not have begun at all: two
/// batches are equal, and both cold.
const ROWS: u64 = 5;
/// Two batches differ by less when a server is warm.
const STEADY: f64 = 0.005;

/// Loads the tables of a phase on each subject as the run did, starts it under the emulator, warms
/// it up, and counts. Nothing of it stays.
pub fn explain(
    what: &Explaining<'_>,
    places: &Places,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Explained, Error> {
    // Before anything is installed.
    let emulator = Emulator::find()?.about();
    let plan = narrowed(what)?;
    let mut run = execute::without_records(&plan, places, options, stop, observer)?;
    let mut sides = Vec::new();
    let mut done = Ok(());
    for subject in 0..plan.subjects.len() {
        match side(&mut run, subject, what.operations) {
            Ok(side) => sides.push(side),
            Err(error) => {
                done = Err(error);
                break;
            }
        }
    }
    let left = run.leave();
    done.and(left).map(|()| Explained { emulator, sides })
}

/// The plan with the subjects and the phase alone, and the tables that it uses.
fn narrowed(what: &Explaining<'_>) -> Result<Plan, Error> {
    let mut plan = verify::filled(what.plan);
    plan.phases.retain(|phase| phase.name == what.phase && phase.kind == PhaseKind::Measure);
    let Some(phase) = plan.phases.first() else {
        return Err(Error::Preflight(format!("the plan has no phase `{}`", what.phase)));
    };
    let schema = phase.script.schema.clone();
    plan.schemas.retain(|known| known.name == schema);
    let subjects = what
        .subjects
        .iter()
        .filter_map(|label| plan.subjects.iter().find(|subject| subject.label == **label).cloned());
    plan.subjects = subjects.collect();
    // They name subjects by their places.
    plan.blocks.clear();
    plan.experiment.require.clear();
    Ok(plan)
}

fn side(run: &mut Run<'_>, subject: usize, operations: u64) -> Result<Side, Error> {
    let plan = run.plan;
    let (label, phase) = (&plan.subjects[subject].label, &plan.phases[0]);
    run.step(&format!("loading {label}"));
    let data = run.place.data().join(format!("explain-{subject}"));
    initialise(run, subject, &data)?;
    let mut instance = Instance::start(run, subject, &data, 0)?;
    template::fill(run, subject, 0, &mut instance)?;
    maintenance::settle_now(run, subject, &mut instance, template::SETTLE)?;
    instance.end()?;
    run.stop.check()?;
    run.step(&format!("starting {label} under emulation"));
    let own = emulation::own_server_with_calls;
    let mut instance = Instance::start_as(run, subject, &data, "explain", own)?;
    let counted = counts(run, &mut instance, &Asked { label, phase, operations });
    let counted = counted.map_err(|error| explained(&instance, label, error));
    if counted.is_ok() {
        instance.end()?;
    }
    files::remove_folder(&data)?;
    counted
}

/// What broke a count, with the server's own words where it is gone.
fn explained(instance: &Instance, label: &str, error: Error) -> Error {
    match error {
        Error::Sql { .. } | Error::Driver(_) => {
            let reason = instance.reason(&error);
            Error::Driver(format!(
                "`{label}` cannot be explained, because it broke under emulation: {reason}"
            ))
        }
        other => other,
    }
}

struct Asked<'a> {
    label: &'a str,
    phase: &'a Phase,
    operations: u64,
}

fn counts(run: &mut Run<'_>, instance: &mut Instance, asked: &Asked<'_>) -> Result<Side, Error> {
    let schema = run.schema_of(asked.phase)?.clone();
    let script = asked.phase.script.alone();
    instance.connect(1)?;
    tables::warm(run, instance)?;
    instance.compile(&Assignment { script, schema, mode: asked.phase.mode })?;
    let serving = Serving::of(instance)?;
    let seed = run.plan.experiment.seed;
    let batch = |instance: &mut Instance, operations: u64, seed: u64| {
        let before = serving.read()?;
        let report = instance.driver.stretch(StretchEnd::Operations(operations), seed)?;
        emulation::all_done(asked.label, &report)?;
        Ok::<_, Error>(serving.read()?.since(before))
    };
    run.step(&format!("warming up {}", asked.label));
    let mut warm_up = WarmUp { operations: 0, batches: Vec::new(), steady: false };
    let mut next = FIRST_BATCH;
    let tables = run.schema_of(asked.phase)?.tables.iter();
    let rows: u64 = tables.map(|table| table.rows * table.copy_names().count() as u64).sum();
    let is_warm =
        |warm_up: &WarmUp| is_steady(&warm_up.batches) && warm_up.operations >= rows / ROWS;
    while !is_warm(&warm_up) && warm_up.operations + next <= WARM_UP_MAX {
        let done = batch(instance, next, seed.wrapping_add(next))?;
        warm_up.operations += next;
        warm_up.batches.push(done.instructions as f64 / next as f64);
        next *= 2;
    }
    warm_up.steady = is_warm(&warm_up);
    let operations = asked.operations;
    run.step(&format!("counting {} of {}", counted(operations, "operation"), asked.label));
    serving.calls.begin()?;
    let done = batch(instance, operations, seed)?;
    serving.calls.end()?;
    let tree = serving.calls.read(serving.task)?;
    let mut names = Names::of(done.process)?;
    let functions = emulator::frames(&tree, &mut names).into_iter().map(|frame| Function {
        caller: frame.parent,
        name: frame.name.to_string(),
        instructions: frame.instructions,
        calls: frame.calls,
    });
    Ok(Side {
        subject: asked.label.to_owned(),
        server_version: instance.server_version.clone(),
        warm_up,
        operations,
        instructions: done.instructions,
        unplaced: done.unplaced,
        functions: functions.collect(),
        areas: Vec::new(),
    })
}

/// Whether the last two batches are equal. Each is twice as long as the one before, so what changes
/// slowly is seen too.
fn is_steady(batches: &[f64]) -> bool {
    match batches {
        [.., before, last] => (last - before).abs() < STEADY * before,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_warm_when_two_batches_are_equal() {
        let check = |batches: &[f64], expected| assert_eq!(is_steady(batches), expected);
        check(&[], false);
        check(&[1000.0], false);
        check(&[43_187.0, 39_000.0], false);
        check(&[43_187.0, 35_100.0, 35_000.0], true);
        check(&[1000.0, 1004.9], true);
        check(&[1000.0, 1005.1], false);
    }
}
