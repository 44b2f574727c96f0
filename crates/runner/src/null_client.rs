//! Cost of the load engine: every phase with a client that has no server.
//!
//! An embedded engine works inside the driver, so its cost is the driver's less this one.

use crate::{
    Driver, Error,
    calibrate::{Calibration, assignment},
    driver::unexpected,
    roles,
    run::Run,
    slice::run_stretch,
    stepping,
};
use model::{
    drive::{Command, Connection, Reply, StretchEnd, StretchReport, Target},
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
    workload::{Arrival, RoleArrival, Workload},
};
use probe::{Meter, Stepper};
use std::collections::BTreeMap;

/// Operations that tell the cost.
const OPERATIONS: u64 = 20_000;
/// The same for each role: one of its operations may insert a hundred rows.
const ROLE_OPERATIONS: u64 = 4_000;
/// Operations that are stepped, at most.
const STEPPED_MAX: f64 = 100.0;
/// Seconds that stepping through one phase may take, about.
const STEPPED_SECONDS: f64 = 0.5;

/// Costs per operation by counter.
pub(crate) type Costs = BTreeMap<String, f64>;

/// Executes every measured phase with the null client and keeps its counters per operation.
pub(crate) fn costs(run: &mut Run<'_>, found: &mut Calibration) -> Result<(), Error> {
    let mut driver = Driver::spawn(&run.options.exe, run.stop)?;
    run.keeper.adopt(driver.pid())?;
    let embedded = run.installed.iter().any(Option::is_none);
    for phase in run.plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure) {
        let workload = &run.plan.workloads[phase.workload];
        // Only an embedded engine's cost is the driver's less the null client's.
        if workload.roles.is_empty() {
            let (mut costs, connections) = of_phase(run, &mut driver, phase)?;
            let task = connections.first().map(|connection| connection.driver_task);
            if let Some(task) = task.filter(|_| embedded && run.steps()) {
                costs.insert(stepping::STEPPED[0].to_owned(), steps(&mut driver, phase, task)?);
            }
            found.null.insert(phase.name.clone(), costs);
        } else if embedded {
            let roles = of_roles(run, &mut driver, phase)?;
            found.null_roles.insert(phase.name.clone(), roles);
        }
    }
    Ok(())
}

/// A phase that the null client executes as fast as it can: nothing waits for a schedule, and
/// nothing is known of how long it would take.
fn closed(phase: &Phase) -> Phase {
    Phase { arrival: Arrival::Closed, ..phase.clone() }
}

/// Connects as many null clients as a phase has connections, and compiles its workload.
fn prepare(run: &Run<'_>, driver: &mut Driver, phase: &Phase) -> Result<Vec<Connection>, Error> {
    let clients = roles::connections(run, phase)?;
    let command = Command::Connect { target: Target::null(), clients };
    let connections = match driver.ask(&command)? {
        Reply::Connected { connections, .. } => connections,
        other => return Err(unexpected("connect", &other)),
    };
    let mut assignment = assignment(run, phase)?;
    as_in(&mut assignment.workload, dialect(run)?);
    for role in &mut assignment.workload.roles {
        role.arrival = RoleArrival::Closed;
    }
    driver.ask(&Command::Compile(Box::new(assignment)))?;
    Ok(connections)
}

/// The dialect whose modes count: the embedded engine's, because its costs are the driver's less
/// these; without one, the first subject's.
fn dialect(run: &Run<'_>) -> Result<&'static str, Error> {
    let subject = run.installed.iter().position(Option::is_none).unwrap_or_default();
    Ok(dbms::find(&run.subject(subject).build.server)?.protocol())
}

/// Sends each statement in the mode that it has in a dialect: the null client has none of its own.
fn as_in(workload: &mut Workload, dialect: &str) {
    for statement in workload.ops.iter_mut().flat_map(|op| &mut op.statements) {
        statement.mode = statement.mode_on(dialect);
        statement.mode_for.clear();
    }
}

/// Costs of a workload without roles, and the connections that told them.
fn of_phase(
    run: &Run<'_>,
    driver: &mut Driver,
    phase: &Phase,
) -> Result<(Costs, Vec<Connection>), Error> {
    let phase = &closed(phase);
    let connections = prepare(run, driver, phase)?;
    let mut about = probe::Target::new(run.place.data());
    about.client_pids = vec![driver.pid()];
    let end = StretchEnd::Operations(per_connection(OPERATIONS, &connections));
    let (readings, report) = window(driver, phase, (&about, end))?;
    Ok((per_operation(&readings, Scope::Client, report.succeeded), connections))
}

/// Costs by role: counters of the tasks that play it, per operation of its own. Counters that no
/// task has are those of the process.
fn of_roles(
    run: &Run<'_>,
    driver: &mut Driver,
    phase: &Phase,
) -> Result<BTreeMap<String, Costs>, Error> {
    let workload = &run.plan.workloads[phase.workload];
    let phase = &closed(phase);
    let connections = prepare(run, driver, phase)?;
    let end = StretchEnd::Operations(per_connection(ROLE_OPERATIONS, &connections));
    let mut found = BTreeMap::new();
    for (role, tasks) in tasks_by_role(workload, phase, &connections) {
        let mut about = probe::Target::new(run.place.data());
        about.client_pids = vec![driver.pid()];
        about.foreground = tasks;
        let (readings, report) = window(driver, phase, (&about, end))?;
        let mut costs = per_operation(&readings, Scope::Client, report.succeeded);
        let own = report.ops.iter().filter(|op| op.role == role).map(|op| op.count).sum();
        costs.extend(per_operation(&readings, Scope::Foreground, own));
        found.insert(role, costs);
    }
    Ok(found)
}

fn per_connection(operations: u64, connections: &[Connection]) -> u64 {
    (operations / (connections.len() as u64).max(1)).max(1)
}

/// The tasks of the driver that play each role, in the order of the connections.
fn tasks_by_role(
    workload: &Workload,
    phase: &Phase,
    connections: &[Connection],
) -> Vec<(String, Vec<u32>)> {
    let players = roles::players(workload, &phase.parameters);
    let tasks = |role: usize| {
        let own = players.iter().zip(connections).filter(|(player, _)| **player == role);
        own.map(|(_, connection)| connection.driver_task).collect()
    };
    let roles = workload.roles.iter().enumerate();
    roles.map(|(index, role)| (role.name.clone(), tasks(index))).collect()
}

/// The counters of a stretch that follows one of the same length.
fn window(
    driver: &mut Driver,
    phase: &Phase,
    (about, end): (&probe::Target, StretchEnd),
) -> Result<(Vec<Reading>, StretchReport), Error> {
    let mut meter = Meter::open(about)?;
    run_stretch(driver, phase, end, 1)?;
    let before = meter.snapshot()?;
    let report = run_stretch(driver, phase, end, 2)?;
    Ok((Meter::readings(&before, &meter.snapshot()?), report))
}

fn per_operation(readings: &[Reading], scope: Scope, operations: u64) -> Costs {
    let own = readings.iter().filter(|reading| reading.scope == scope);
    own.map(|reading| (reading.counter.clone(), reading.delta() / operations.max(1) as f64))
        .collect()
}

/// User instructions per operation of the null client, by single steps.
fn steps(driver: &mut Driver, phase: &Phase, task: u32) -> Result<f64, Error> {
    let phase = &closed(phase);
    let mut step = |operations: u64| -> Result<f64, Error> {
        let stepper = Stepper::attach(&[task])?;
        let report = run_stretch(driver, phase, StretchEnd::Operations(operations), 3);
        let counts = stepper.stop()?;
        report?;
        let steps: u64 = counts.iter().map(|count| count.instructions).sum();
        Ok(steps as f64 / operations as f64)
    };
    let seconds = step(1)? / probe::stepping_rate();
    step((STEPPED_SECONDS / seconds).clamp(1.0, STEPPED_MAX) as u64)
}

/// Costs of a mean operation of a stretch, whose roles have executed theirs as often as it says;
/// `None` if it did nothing, or if the costs of a role are not known.
fn mixed(roles: &BTreeMap<String, Costs>, report: &StretchReport) -> Option<Costs> {
    let mut sums = Costs::new();
    for op in report.ops.iter().filter(|op| op.count > 0) {
        for (counter, cost) in roles.get(&op.role)? {
            *sums.entry(counter.clone()).or_default() += cost * op.count as f64;
        }
    }
    let operations = report.succeeded as f64;
    sums.values_mut().for_each(|sum| *sum /= operations);
    (operations > 0.0).then_some(sums)
}

impl Calibration {
    /// The null client's costs in a slice of `phase`, as readings whose end is the cost per
    /// operation; none where they are not known. `measured` are the readings of the slice itself.
    pub(crate) fn null_readings(
        &self,
        phase: &Phase,
        measured: &[Reading],
        report: Option<&StretchReport>,
    ) -> Vec<Reading> {
        let costs = match (phase.kind, self.null_roles.get(&phase.name)) {
            // The driver does nothing there but to send a few statements.
            (PhaseKind::Index, _) => {
                let own = measured.iter().filter(|reading| reading.scope == Scope::Client);
                Some(own.map(|reading| (reading.counter.clone(), 0.0)).collect())
            }
            (_, Some(roles)) => report.and_then(|report| mixed(roles, report)),
            (_, None) => self.null.get(&phase.name).cloned(),
        };
        let reading = |(counter, cost): (String, f64)| Reading {
            scope: Scope::Client,
            counter: format!("null_{counter}_per_op"),
            start: 0.0,
            end: cost,
        };
        costs.into_iter().flatten().map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{decimal, phase, workload};
    use model::{drive::OpReport, expression::Expression, workload::Mode};

    fn told(
        calibration: &Calibration,
        phase: &Phase,
        report: &StretchReport,
    ) -> Vec<(String, f64)> {
        let cpu = Reading { scope: Scope::Client, counter: "cpu_ns".into(), start: 3.0, end: 90.0 };
        let readings = calibration.null_readings(phase, &[cpu], Some(report));
        readings.into_iter().map(|reading| (reading.counter, reading.end)).collect()
    }

    #[test]
    fn roles_cost_as_often_as_they_executed_their_operations() {
        let costs = |cpu: f64| Costs::from([("cpu_ns".to_owned(), cpu)]);
        let roles =
            BTreeMap::from([("insert".into(), costs(9000.0)), ("query".into(), costs(500.0))]);
        let mut calibration = Calibration::default();
        calibration.null_roles.insert("qr".into(), roles);
        let op = |name: &str, role: &str, count| OpReport {
            name: name.into(),
            role: role.into(),
            count,
            ..Default::default()
        };
        let ops = vec![op("insert", "insert", 1), op("market", "query", 6), op("pdc", "query", 3)];
        let mut report = StretchReport { succeeded: 10, ops, ..Default::default() };
        let measured = phase(PhaseKind::Measure);
        let expected = vec![("null_cpu_ns_per_op".to_owned(), 1350.0)];
        assert_eq!(told(&calibration, &measured, &report), expected);
        // A role of which nothing is known.
        report.ops.push(op("delete", "delete", 1));
        assert_eq!(told(&calibration, &measured, &report), []);
        assert_eq!(told(&calibration, &measured, &StretchReport::default()), []);
    }

    #[test]
    fn statements_are_sent_as_the_embedded_engine_gets_them() {
        let mut workload = workload();
        let mut statement = decimal();
        statement.mode = Mode::Prepared;
        statement.mode_for = BTreeMap::from([("sqlite".to_owned(), Mode::Text)]);
        let op = model::workload::Op {
            name: "o".to_owned(),
            weight: 1,
            transaction: false.into(),
            draws: Vec::new(),
            statements: vec![statement],
        };
        workload.ops = vec![op];
        for (dialect, mode) in [("sqlite", Mode::Text), ("postgres", Mode::Prepared)] {
            let mut workload = workload.clone();
            as_in(&mut workload, dialect);
            assert_eq!(workload.ops[0].statements[0].mode_on("null"), mode);
        }
    }

    #[test]
    fn tasks_belong_to_roles_in_the_order_of_the_connections() {
        let role = |name: &str, clients: &str| model::workload::Role {
            name: name.to_owned(),
            ops: Vec::new(),
            clients: Expression::new(clients),
            arrival: RoleArrival::Closed,
            end: model::workload::RoleEnd::With(String::new()),
            pair: None,
        };
        let workload = Workload {
            roles: vec![role("write", "2"), role("none", "0"), role("read", "1")],
            ..workload()
        };
        let connections: Vec<_> =
            (70..73).map(|driver_task| Connection { driver_task, server_id: 0 }).collect();
        let expected = [("write", vec![70, 71]), ("none", vec![]), ("read", vec![72])];
        let expected = expected.map(|(name, tasks)| (name.to_owned(), tasks));
        let phase = phase(PhaseKind::Measure);
        assert_eq!(tasks_by_role(&workload, &phase, &connections), expected);
    }

    #[test]
    fn where_indexes_are_built_the_driver_costs_nothing() {
        let expected = vec![("null_cpu_ns_per_op".to_owned(), 0.0)];
        let report = StretchReport { succeeded: 3, ..Default::default() };
        assert_eq!(told(&Calibration::default(), &phase(PhaseKind::Index), &report), expected);
    }
}
