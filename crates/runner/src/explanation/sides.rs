//! Subjects, under the emulator or at full speed, and what the task that serves the one connection
//! of each spends by function.

use super::{
    OPERATIONS,
    attribution::{Observed, Spent},
    fitting,
};
use crate::{
    Error,
    block::template,
    host::files,
    intruders::emulation,
    run::Run,
    server::{
        Instance, Waiting, data,
        side_by_side::{at_once, side_by_side},
        tables,
    },
    warm_up::{Batch, EXACT, Limits, TIMED, Warmed, warm_up, warm_up_by},
};
use model::{
    drive::{Assignment, StretchEnd},
    explanation::{Quantity, Side},
    number::counted,
    plan::Phase,
};
use std::{
    sync::{Mutex, OnceLock, PoisonError},
    time::Duration,
};

/// Counted operations take about as long as this, where nobody says how many there are.
pub(super) const SECONDS: f64 = 30.0;

/// So do those whose time is sampled: where that is all CPU time, a part of 1 % is known to within
/// 10 % of it.
const SAMPLED_SECONDS: f64 = 10.0;

/// More operations are never sampled.
const SAMPLED: u64 = 10_000_000;

/// A warm-up takes no longer than this, about.
const WARM_UP: Limits = Limits { few: Duration::from_secs(36), all: Duration::from_secs(120) };

/// One phase, and what is the same on all subjects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) phase: &'a Phase,
    pub(crate) agreed: &'a Agreed,
}

/// How many operations of a phase its subjects execute.
#[derive(Debug, Default)]
pub(crate) struct Agreed {
    /// Before they are observed, where they write: their tables are to be equal. The first subject
    /// that warms up says it.
    warm_up: Mutex<Option<u64>>,
    /// Observed ones. Where nobody says it, the first subject that is warm does.
    operations: OnceLock<u64>,
}

impl Agreed {
    /// With so many observed operations, if they are known.
    pub(crate) fn on(operations: Option<u64>) -> Self {
        let operations = operations.map_or_else(OnceLock::new, OnceLock::from);
        Self { warm_up: Mutex::default(), operations }
    }

    /// Warms up a server that writes: the first until it is steady, others by as much.
    fn warm_up(&self, enough: u64, steady: f64, batch: &mut Batch<'_>) -> Result<Warmed, Error> {
        let mut agreed = self.warm_up.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(operations) = *agreed {
            return warm_up_by(operations, steady, batch);
        }
        let warmed = warm_up(enough, WARM_UP, steady, batch)?;
        *agreed = Some(warmed.warm_up.operations);
        Ok(warmed)
    }
}

/// Phases on a subject.
pub(crate) struct Wanted<'a> {
    pub(crate) subject: usize,
    pub(crate) asked: Vec<Asked<'a>>,
}

/// The sides of a subject, each behind the name of its phase.
pub(crate) type Sides = Vec<(String, Side)>;

/// Observes phases on subjects whose tables are loaded as in a run: side by side where instructions
/// are counted, one after the other where time is. Gives what came of each subject, in their order.
///
/// # Errors
/// What concerns no subject alone.
pub(crate) fn sides(
    run: &mut Run<'_>,
    wanted: Vec<Wanted<'_>>,
    by: Quantity,
) -> Result<Vec<Result<Sides, Error>>, Error> {
    for one in &wanted {
        template::make(run, one.subject, 0)?;
    }
    let together = match by {
        Quantity::Instructions => at_once(1),
        Quantity::CpuTime => 1,
    };
    let run = &*run;
    // A terminal interrupts drivers too, and that says nothing of their subjects.
    let of_one = |one: &Wanted<'_>| run.stop.unless_raised(of_subject(run, one, by));
    side_by_side(wanted, together, |one| match of_one(&one) {
        Err(error @ (Error::Interrupted | Error::Store(_) | Error::Files(_))) => Err(error),
        found => Ok(found),
    })
}

/// Phases that only read share a server; each that writes has one of its own, on the tables as they
/// were loaded.
fn of_subject(run: &Run<'_>, wanted: &Wanted<'_>, by: Quantity) -> Result<Sides, Error> {
    let (writing, reading): (Vec<Asked<'_>>, Vec<Asked<'_>>) =
        wanted.asked.iter().partition(|one| one.phase.script.writes());
    let mut found = Vec::new();
    for (number, group) in [reading.as_slice()].into_iter().chain(writing.chunks(1)).enumerate() {
        if !group.is_empty() {
            let name = format!("explain-{number}");
            found.extend(of_server(run, wanted.subject, &name, group, by)?);
        }
    }
    // Those of the source are tried first.
    let source = run.options.source.get(&run.subject(wanted.subject).build.server);
    for (_, side) in &mut found {
        side.areas.splice(..0, source.into_iter().flat_map(|source| source.areas.clone()));
    }
    Ok(found)
}

/// The same on one server; `name` tells it from others.
fn of_server(
    run: &Run<'_>,
    subject: usize,
    name: &str,
    asked: &[Asked<'_>],
    by: Quantity,
) -> Result<Sides, Error> {
    let label = &run.subject(subject).label;
    run.stop.check()?;
    let how = match by {
        Quantity::Instructions => " under emulation",
        Quantity::CpuTime => "",
    };
    run.step(&format!("starting {label}{how}"));
    let data = data::copy_for(run, subject, 0, name)?;
    let waiting = match by {
        Quantity::Instructions => Waiting::spawn_beside(run, subject, name, emulation::WITH_CALLS),
        Quantity::CpuTime => Waiting::spawn(run, subject),
    };
    let started = waiting.and_then(|waiting| Instance::launch(run, waiting, &data));
    let counted = match started {
        Ok(mut instance) => {
            let counted = all(run, &mut instance, label, asked, by);
            let counted =
                counted.map_err(|error| broken(label, how, error, |error| instance.reason(error)));
            counted.and_then(|sides| instance.end().map(|()| sides))
        }
        Err(error) => Err(broken(label, how, error, |error| error.to_string())),
    };
    files::remove_folder(&data)?;
    counted
}

/// What broke a count, with the server's own words where it is gone.
fn broken(label: &str, how: &str, error: Error, reason: impl Fn(&Error) -> String) -> Error {
    match error {
        Error::Sql { .. } | Error::Driver(_) | Error::Dbms(_) => Error::Driver(format!(
            "`{label}` cannot be explained, because it broke{how}: {}",
            reason(&error)
        )),
        other => other,
    }
}

fn all(
    run: &Run<'_>,
    instance: &mut Instance,
    label: &str,
    asked: &[Asked<'_>],
    by: Quantity,
) -> Result<Sides, Error> {
    instance.connect(1)?;
    tables::warm(run, instance)?;
    let observed = Observed::of(instance, by)?;
    let mut sides = Vec::with_capacity(asked.len());
    for one in asked {
        run.stop.check()?;
        let schema = run.schema_of(one.phase)?.clone();
        let script = one.phase.script.alone();
        instance.compile(&Assignment { script, schema, mode: one.phase.mode })?;
        let mut served = Served { label, phase: &one.phase.name, observed: &observed, instance };
        sides.push((one.phase.name.clone(), served.side(run, one)?));
    }
    Ok(sides)
}

/// A phase on a server that is up, for which it is compiled.
struct Served<'a> {
    label: &'a str,
    phase: &'a str,
    observed: &'a Observed,
    instance: &'a mut Instance,
}

impl Served<'_> {
    fn side(&mut self, run: &Run<'_>, asked: &Asked<'_>) -> Result<Side, Error> {
        let (label, phase, seed) = (self.label, self.phase, run.plan.experiment.seed);
        run.step(&format!("warming up {label} for {phase}"));
        let schema = run.schema_of(asked.phase)?;
        let enough = tables::operations_to_warm(schema, &asked.phase.script, 0.0);
        let (steady, seconds, most, does) = match self.observed {
            Observed::Counted(_) => (EXACT, SECONDS, OPERATIONS, "counting"),
            Observed::Sampled(_) => (TIMED, SAMPLED_SECONDS, SAMPLED, "sampling"),
        };
        let mut before = 0;
        let mut batch = |operations: u64| {
            before += 1;
            Ok(self.batch(operations, seed.wrapping_add(before))?.cost)
        };
        let warmed = match asked.phase.script.writes() {
            true => asked.agreed.warm_up(enough, steady, &mut batch)?,
            false => warm_up(enough, WARM_UP, steady, &mut batch)?,
        };
        let operations = &asked.agreed.operations;
        let operations = *operations.get_or_init(|| fitting(seconds, warmed.seconds, most));
        run.step(&format!("{does} {} of {phase} on {label}", counted(operations, "operation")));
        let found = self.observed.attributed(|| stretch(self.instance, label, operations, seed))?;
        Ok(Side {
            subject: label.to_owned(),
            server_version: self.instance.server_version.clone(),
            warm_up: warmed.warm_up,
            operations,
            cost: found.spent.cost,
            samples: found.samples,
            unplaced: found.spent.unplaced,
            functions: found.functions,
            areas: found.areas,
        })
    }

    fn batch(&mut self, operations: u64, seed: u64) -> Result<Spent, Error> {
        self.observed.spent(|| stretch(self.instance, self.label, operations, seed))
    }
}

/// Executes operations, all of which must do what their workload says.
fn stretch(instance: &mut Instance, label: &str, operations: u64, seed: u64) -> Result<(), Error> {
    let report = instance.driver.stretch(StretchEnd::Operations(operations), seed)?;
    emulation::all_done(label, &report)
}
