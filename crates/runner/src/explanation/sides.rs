//! One subject under the emulator, with the calls of the task that serves its one connection.

use super::{Amount, OPERATIONS, fitting};
use crate::{
    Error,
    block::template,
    host::files,
    intruders::emulation::{self, Serving},
    run::Run,
    server::{Instance, Waiting, data, tables},
    warm_up::warm_up,
};
use emulator::Names;
use model::{
    drive::{Assignment, StretchEnd},
    explanation::{Function, Side},
    number::counted,
    plan::Phase,
};
use std::time::Duration;

/// Counted operations take about as long as this, where nobody says how many there are.
pub(super) const SECONDS: f64 = 30.0;

/// A warm-up takes no longer than this, about.
const WARM_UP: Duration = Duration::from_secs(120);

/// One phase, and how many of its operations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) operations: Amount,
}

/// Counts phases on a subject, whose tables are loaded as in a run. Phases that only read share a
/// server; each that writes has one of its own, on the tables as they were loaded. Gives each side
/// behind the name of its phase.
pub(crate) fn sides(
    run: &mut Run<'_>,
    subject: usize,
    asked: &[Asked<'_>],
) -> Result<Vec<(String, Side)>, Error> {
    template::make(run, subject, 0)?;
    let (writing, reading): (Vec<Asked<'_>>, Vec<Asked<'_>>) =
        asked.iter().partition(|one| one.phase.script.writes());
    let mut found = Vec::new();
    for (number, group) in [reading.as_slice()].into_iter().chain(writing.chunks(1)).enumerate() {
        if !group.is_empty() {
            found.extend(of_server(run, subject, &format!("explain-{number}"), group)?);
        }
    }
    Ok(found)
}

/// The same on one server; `name` tells it from others.
fn of_server(
    run: &mut Run<'_>,
    subject: usize,
    name: &str,
    asked: &[Asked<'_>],
) -> Result<Vec<(String, Side)>, Error> {
    let label = &run.plan.subjects[subject].label;
    run.stop.check()?;
    run.step(&format!("starting {label} under emulation"));
    let data = data::copy_for(run, subject, 0, name)?;
    let own = emulation::WITH_CALLS;
    let started = Waiting::spawn_beside(run, subject, name, own)
        .and_then(|waiting| Instance::launch(run, waiting, &data));
    let counted = match started {
        Ok(mut instance) => {
            let counted = all(run, &mut instance, label, asked);
            let counted =
                counted.map_err(|error| broken(label, error, |error| instance.reason(error)));
            counted.and_then(|sides| instance.end().map(|()| sides))
        }
        Err(error) => Err(broken(label, error, |error| error.to_string())),
    };
    files::remove_folder(&data)?;
    counted
}

/// What broke a count, with the server's own words where it is gone.
fn broken(label: &str, error: Error, reason: impl Fn(&Error) -> String) -> Error {
    match error {
        Error::Sql { .. } | Error::Driver(_) | Error::Dbms(_) => Error::Driver(format!(
            "`{label}` cannot be explained, because it broke under emulation: {}",
            reason(&error)
        )),
        other => other,
    }
}

fn all(
    run: &mut Run<'_>,
    instance: &mut Instance,
    label: &str,
    asked: &[Asked<'_>],
) -> Result<Vec<(String, Side)>, Error> {
    instance.connect(1)?;
    tables::warm(run, instance)?;
    let serving = Serving::of(instance)?;
    let mut sides = Vec::with_capacity(asked.len());
    for one in asked {
        run.stop.check()?;
        let schema = run.schema_of(one.phase)?.clone();
        let script = one.phase.script.alone();
        instance.compile(&Assignment { script, schema, mode: one.phase.mode })?;
        let mut serving = Served { label, phase: &one.phase.name, serving: &serving, instance };
        sides.push((one.phase.name.clone(), serving.counts(run, one)?));
    }
    Ok(sides)
}

/// A phase on a server that is up, for which it is compiled.
struct Served<'a> {
    label: &'a str,
    phase: &'a str,
    serving: &'a Serving,
    instance: &'a mut Instance,
}

impl Served<'_> {
    fn counts(&mut self, run: &mut Run<'_>, asked: &Asked<'_>) -> Result<Side, Error> {
        let (label, phase, seed) = (self.label, self.phase, run.plan.experiment.seed);
        run.step(&format!("warming up {label} for {phase}"));
        let enough = tables::operations_to_warm(run.schema_of(asked.phase)?);
        let mut before = 0;
        let mut batch = |operations: u64| {
            before += 1;
            Ok(self.batch(operations, seed.wrapping_add(before))?.instructions)
        };
        let warmed = warm_up(enough, WARM_UP, &mut batch)?;
        let operations = match asked.operations {
            Amount::Exactly(operations) => operations,
            Amount::Usual => fitting(SECONDS, warmed.seconds, OPERATIONS),
        };
        run.step(&format!("counting {} of {phase} on {label}", counted(operations, "operation")));
        let serving = self.serving;
        let earlier = serving.calls.read(serving.task)?;
        serving.calls.begin()?;
        let done = self.batch(operations, seed)?;
        serving.calls.end()?;
        let tree = serving.calls.read(serving.task)?.since(&earlier);
        let mut names = Names::of(done.process)?;
        let functions = emulator::frames(&tree, &mut names).into_iter().map(|frame| Function {
            caller: frame.parent,
            name: frame.name.to_string(),
            instructions: frame.instructions,
            calls: frame.calls,
        });
        Ok(Side {
            subject: label.to_owned(),
            server_version: self.instance.server_version.clone(),
            warm_up: warmed.warm_up,
            operations,
            instructions: done.instructions,
            unplaced: done.unplaced,
            functions: functions.collect(),
            areas: Vec::new(),
        })
    }

    fn batch(&mut self, operations: u64, seed: u64) -> Result<emulation::Done, Error> {
        let before = self.serving.read()?;
        let report = self.instance.driver.stretch(StretchEnd::Operations(operations), seed)?;
        emulation::all_done(self.label, &report)?;
        Ok(self.serving.read()?.since(before))
    }
}
