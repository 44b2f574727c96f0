//! How much work a slice is, and what the load engine itself costs.
//!
//! Both are found once per run and kept in its state, so that a resumed run repeats exactly the
//! same work.

use crate::{
    Driver, Error, driver::unexpected, run::Run, slice::run_stretch, stepping, template,
    trial::Stand,
};
use model::{
    drive::{Assignment, Command, Reply, StretchEnd, Target},
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
};
use probe::{Meter, Stepper};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Stretches of this length tell the rate of the base, seconds: one to warm up, one that counts.
const PROBE_SECONDS: f64 = 1.0;
/// Operations of the null client that tell its cost.
const NULL_OPERATIONS: u64 = 20_000;
/// Operations of the null client that are stepped, at most.
const NULL_STEPPED_MAX: f64 = 100.0;
/// Seconds that stepping the null client through one phase may take, about.
const NULL_STEPPED_SECONDS: f64 = 0.5;

/// Key of the calibration in a run's state.
pub(crate) const STATE: &str = "calibration";

/// What calibration found, by phase name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    /// Operations per connection in a measured slice.
    pub(crate) operations: BTreeMap<String, u64>,
    /// Operations of a stretch in single steps; none where there are hardware counters.
    #[serde(default)]
    pub(crate) stepped: BTreeMap<String, u64>,
    /// Costs of the null client per operation, by counter.
    pub(crate) null: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Reads the calibration from the run's state, or makes it.
pub(crate) fn calibration(run: &mut Run<'_>) -> Result<Calibration, Error> {
    if let Some(known) = run.writer.state(STATE)? {
        return Ok(known);
    }
    run.step("calibrating: the rate of the base, and the cost of the load engine itself");
    let mut found = Calibration::default();
    null_costs(run, &mut found)?;
    rates(run, &mut found)?;
    run.writer.note_state(STATE, &found)?;
    Ok(found)
}

/// The load engine's own cost only: what the classic design needs, whose steps have durations.
pub(crate) fn null_calibration(run: &mut Run<'_>) -> Result<Calibration, Error> {
    if let Some(known) = run.writer.state(STATE)? {
        return Ok(known);
    }
    let mut found = Calibration::default();
    null_costs(run, &mut found)?;
    run.writer.note_state(STATE, &found)?;
    Ok(found)
}

/// Whether the length of a phase's slices follows from a rate: its roles do not say it themselves.
fn by_rate(run: &Run<'_>, phase: &Phase) -> bool {
    phase.kind == PhaseKind::Measure && !run.plan.workloads[phase.workload].ends_by_roles()
}

/// Runs every phase for a moment on a throw-away copy of the base's data, so that no measured state
/// is touched. A phase whose statements the base refuses is tried on the next subject.
fn rates(run: &mut Run<'_>, found: &mut Calibration) -> Result<(), Error> {
    let is_base = |label: &String| run.plan.base.contains(label);
    let base = run.plan.subjects.iter().position(|s| is_base(&s.label)).unwrap_or(0);
    let others = (0..run.plan.subjects.len()).filter(|subject| *subject != base);
    for subject in std::iter::once(base).chain(others) {
        let plan = run.plan;
        let measured = plan.phases.iter().filter(|phase| by_rate(run, phase));
        let open: Vec<&Phase> =
            measured.filter(|phase| !found.operations.contains_key(&phase.name)).collect();
        if open.is_empty() {
            break;
        }
        rates_of(run, subject, &open, found)?;
    }
    Ok(())
}

/// The rates of these phases on one subject, as far as it executes them.
fn rates_of(
    run: &mut Run<'_>,
    subject: usize,
    phases: &[&Phase],
    found: &mut Calibration,
) -> Result<(), Error> {
    let data = template::copy_for_block(run, subject, 0)?;
    let mut stand = Stand::start(run, subject, &data, 1)?;
    template::warm(run, &mut stand)?;
    for phase in phases {
        if stand.connections.len() != phase.clients as usize {
            stand.connect(phase.clients)?;
        }
        match stand.compile(&assignment(run, phase)?) {
            // Its slices will say so.
            Err(Error::Sql { lost: false, .. }) => continue,
            other => other?,
        }
        let seed = run.plan.experiment.seed ^ 0xca1b;
        run_stretch(&mut stand.driver, phase, StretchEnd::Seconds(PROBE_SECONDS), seed)?;
        let report =
            run_stretch(&mut stand.driver, phase, StretchEnd::Seconds(PROBE_SECONDS), seed + 1)?;
        if report.succeeded == 0 && report.failed > 0 {
            continue;
        }
        let seconds = report.end_ns.saturating_sub(report.start_ns).max(1) as f64 / 1e9;
        let per_client = report.succeeded as f64 / seconds / f64::from(phase.clients.max(1));
        let operations = (per_client * phase.seconds).round().max(1.0) as u64;
        found.operations.insert(phase.name.clone(), operations);
        if run.steps() {
            match stepping::operations(&mut stand, phase, seed + 2)? {
                Ok(stepped) => drop(found.stepped.insert(phase.name.clone(), stepped)),
                Err(reason) => {
                    let name = &phase.name;
                    run.warn(&format!("`{name}` is not counted by single steps: {reason}"));
                }
            }
        }
    }
    stand.end()
}

/// Executes every phase with the null client and keeps its counters per operation.
fn null_costs(run: &mut Run<'_>, found: &mut Calibration) -> Result<(), Error> {
    let mut driver = Driver::spawn(&run.options.exe, run.stop)?;
    run.keeper.adopt(driver.pid())?;
    for phase in run.plan.phases.iter().filter(|phase| by_rate(run, phase)) {
        let command = Command::Connect { target: Target::null(), clients: phase.clients };
        let task = match driver.ask(&command)? {
            Reply::Connected { connections, .. } => connections.first().map(|c| c.driver_task),
            other => return Err(unexpected("connect", &other)),
        };
        driver.ask(&Command::Compile(Box::new(assignment(run, phase)?)))?;
        let mut about = probe::Target::new(run.place.data());
        about.client_pids = vec![driver.pid()];
        let mut meter = Meter::open(&about)?;
        let per_client = (NULL_OPERATIONS / u64::from(phase.clients.max(1))).max(1);
        run_stretch(&mut driver, phase, StretchEnd::Operations(per_client), 1)?;
        let before = meter.snapshot()?;
        let report = run_stretch(&mut driver, phase, StretchEnd::Operations(per_client), 2)?;
        let readings = Meter::readings(&before, &meter.snapshot()?);
        let operations = report.succeeded.max(1) as f64;
        let costs = readings.iter().filter(|reading| reading.scope == Scope::Client);
        let costs = costs.map(|reading| (reading.counter.clone(), reading.delta() / operations));
        let mut costs: BTreeMap<String, f64> = costs.collect();
        // Only an embedded engine's cost is the driver's less the null client's.
        let embedded = run.installed.iter().any(Option::is_none);
        if let Some(task) = task.filter(|_| embedded && run.steps()) {
            costs.insert(stepping::STEPPED[0].to_owned(), null_steps(&mut driver, phase, task)?);
        }
        found.null.insert(phase.name.clone(), costs);
    }
    Ok(())
}

/// User instructions per operation of the null client, by single steps.
fn null_steps(driver: &mut Driver, phase: &Phase, task: u32) -> Result<f64, Error> {
    let mut step = |operations: u64| -> Result<f64, Error> {
        let stepper = Stepper::attach(&[task])?;
        let report = run_stretch(driver, phase, StretchEnd::Operations(operations), 3);
        let counts = stepper.stop()?;
        report?;
        let steps: u64 = counts.iter().map(|count| count.instructions).sum();
        Ok(steps as f64 / operations as f64)
    };
    let seconds = step(1)? / probe::steps_per_second();
    step((NULL_STEPPED_SECONDS / seconds).clamp(1.0, NULL_STEPPED_MAX) as u64)
}

/// The workload of a phase with everything needed to compile it.
pub(crate) fn assignment(run: &Run<'_>, phase: &Phase) -> Result<Assignment, Error> {
    Ok(Assignment {
        workload: run.plan.workloads[phase.workload].clone(),
        schema: run.schema_of(phase)?.clone(),
        parameters: phase.parameters.clone(),
    })
}

impl Run<'_> {
    /// The null client's costs in one phase, as readings whose end is the cost per operation.
    pub(crate) fn null_readings(&self, phase: usize) -> Vec<Reading> {
        let costs = self.calibration.null.get(&self.plan.phases[phase].name);
        let reading = |(counter, cost): (&String, &f64)| Reading {
            scope: Scope::Client,
            counter: format!("null_{counter}_per_op"),
            start: 0.0,
            end: *cost,
        };
        costs.into_iter().flatten().map(reading).collect()
    }
}
