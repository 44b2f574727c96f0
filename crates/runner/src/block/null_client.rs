//! Cost of the load engine: every phase with a client that has no server.
//!
//! An embedded engine works inside the driver, so its cost is the driver's less this one.

use crate::{
    Driver, Error,
    calibration::{Calibration, Costs},
    intruders::emulation,
    run::{Counts, Run},
    server::unexpected,
};
use model::{
    drive::{Command, Connection, Reply, StretchEnd, StretchReport, Target},
    plan::{Phase, PhaseKind},
    reading::{Reading, Scope},
    script::Script,
    subject::Subject,
};
use probe::Meter;
use std::collections::BTreeMap;

/// Operations that tell the cost.
const OPERATIONS: u64 = 20_000;
/// The same for each role: one of its operations may insert a hundred rows.
const ROLE_OPERATIONS: u64 = 4_000;
/// Operations under emulation.
const EMULATED: u64 = 2_000;

/// Executes every measured phase with the null client and keeps its counters per operation.
pub(crate) fn costs(run: &mut Run<'_>, found: &mut Calibration) -> Result<(), Error> {
    let mut driver = Driver::spawn(&run.options.exe, run.stop)?;
    run.keeper.adopt(driver.pid())?;
    let embedded = embedded(&run.plan.subjects).is_some();
    // A script needs answers.
    let asked = |phase: &&Phase| phase.kind == PhaseKind::Measure && phase.script.lua.is_none();
    for phase in run.plan.phases.iter().filter(asked) {
        // Only an embedded engine's cost is the driver's less the null client's.
        if !phase.script.has_named_roles() {
            let mut costs = of_phase(run, &mut driver, phase)?;
            if embedded && run.counts == Counts::Emulated {
                costs.insert(emulation::INSTRUCTIONS.to_owned(), emulated(run, phase)?);
            }
            found.null.insert(phase.name.clone(), costs);
        } else if embedded {
            let roles = of_roles(run, &mut driver, phase)?;
            found.null_roles.insert(phase.name.clone(), roles);
        }
    }
    Ok(())
}

/// Connects as many null clients as a phase has connections, and compiles its script: they execute
/// it as fast as they can, because nothing is known of how long a schedule would take.
fn prepare(run: &Run<'_>, driver: &mut Driver, phase: &Phase) -> Result<Vec<Connection>, Error> {
    let clients = phase.script.connections();
    let command = Command::Connect { target: Target::null(), clients };
    let connections = match driver.ask(&command)? {
        Reply::Connected { connections, .. } => connections,
        other => return Err(unexpected("connect", &other)),
    };
    let mut assignment = run.assignment(phase)?;
    as_in(&mut assignment.script, dialect(run)?);
    assignment.script = assignment.script.without_waits();
    driver.ask(&Command::Compile(Box::new(assignment)))?;
    Ok(connections)
}

/// The dialect whose modes count: the embedded engine's, because its costs are the driver's less
/// these; without one, the first subject's.
fn dialect(run: &Run<'_>) -> Result<&'static str, Error> {
    let subject = embedded(&run.plan.subjects).unwrap_or_default();
    Ok(dbms::find(&run.subject(subject).build.server)?.protocol())
}

/// The first subject whose engine works in the driver. Servers that are there already have no build
/// either.
fn embedded(subjects: &[Subject]) -> Option<usize> {
    subjects.iter().position(|subject| dbms::is_embedded(&subject.build.server))
}

/// Sends each statement in the mode that it has in a dialect: the null client has none of its own.
fn as_in(script: &mut Script, dialect: &str) {
    for statement in script.statements_mut() {
        statement.mode = statement.mode_on(dialect);
        statement.mode_for.clear();
    }
}

/// Costs of a workload without named roles.
fn of_phase(run: &Run<'_>, driver: &mut Driver, phase: &Phase) -> Result<Costs, Error> {
    let connections = prepare(run, driver, phase)?;
    let mut about = probe::Target::new(run.place.data());
    about.client_pids = vec![driver.pid()];
    let end = StretchEnd::Operations(per_connection(OPERATIONS, &connections));
    let (readings, report) = window(driver, &about, end)?;
    Ok(per_operation(&readings, Scope::Client, report.succeeded))
}

/// Costs by role: counters of the tasks that play it, per operation of its own. Counters that no
/// task has are those of the process.
fn of_roles(
    run: &Run<'_>,
    driver: &mut Driver,
    phase: &Phase,
) -> Result<BTreeMap<String, Costs>, Error> {
    let connections = prepare(run, driver, phase)?;
    let end = StretchEnd::Operations(per_connection(ROLE_OPERATIONS, &connections));
    let mut found = BTreeMap::new();
    for (role, tasks) in tasks_by_role(&phase.script, &connections) {
        let mut about = probe::Target::new(run.place.data());
        about.client_pids = vec![driver.pid()];
        about.foreground = tasks;
        let (readings, report) = window(driver, &about, end)?;
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
fn tasks_by_role(script: &Script, connections: &[Connection]) -> Vec<(String, Vec<u32>)> {
    let roles = script.role_of_connections();
    let tasks = |role: usize| {
        let own = roles.iter().zip(connections).filter(|(of, _)| **of == role);
        own.map(|(_, connection)| connection.driver_task).collect()
    };
    let names = script.roles.iter().enumerate();
    names.map(|(place, role)| (role.name.clone(), tasks(place))).collect()
}

/// The counters of a stretch that follows one of the same length.
fn window(
    driver: &mut Driver,
    about: &probe::Target,
    end: StretchEnd,
) -> Result<(Vec<Reading>, StretchReport), Error> {
    let mut meter = Meter::open(about)?;
    driver.stretch(end, 1)?;
    let before = meter.snapshot()?;
    let report = driver.stretch(end, 2)?;
    Ok((Meter::readings(&before, &meter.snapshot()?), report))
}

fn per_operation(readings: &[Reading], scope: Scope, operations: u64) -> Costs {
    let own = readings.iter().filter(|reading| reading.scope == scope);
    own.map(|reading| (reading.counter.clone(), reading.delta() / operations.max(1) as f64))
        .collect()
}

/// User instructions per operation of the null client, under emulation.
fn emulated(run: &Run<'_>, phase: &Phase) -> Result<f64, Error> {
    let (wrapper, counters) = emulation::driver_alone(run)?;
    let mut driver = Driver::spawn_as(&run.options.exe, &wrapper, run.stop)?;
    run.keeper.adopt(driver.pid())?;
    let connections = prepare(run, &mut driver, phase)?;
    let tasks: Vec<u32> = connections.iter().map(|connection| connection.driver_task).collect();
    let end = StretchEnd::Operations(per_connection(EMULATED, &connections));
    driver.stretch(end, 1)?;
    let before = counters.read()?;
    let report = driver.stretch(end, 2)?;
    let counted = emulation::instructions_of(&counters.read()?.since(&before), &tasks);
    Ok(counted as f64 / report.succeeded.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{decimal, op, script};
    use model::{
        Levels,
        attach::Attach,
        script::Role,
        subject::{Build, Config},
        workload::Mode,
    };

    #[test]
    fn statements_are_sent_as_the_embedded_engine_gets_them() {
        let mut script = script();
        let mut statement = decimal();
        statement.mode = Mode::Prepared;
        statement.mode_for = BTreeMap::from([("sqlite".to_owned(), Mode::Text)]);
        script.roles[0].ops = vec![op("o", vec![statement])];
        for (dialect, mode) in [("sqlite", Mode::Text), ("postgres", Mode::Prepared)] {
            let mut script = script.clone();
            as_in(&mut script, dialect);
            assert_eq!(script.roles[0].ops[0].statements[0].mode_on("null"), mode);
        }
    }

    #[test]
    fn a_server_that_is_there_already_is_no_embedded_engine() {
        let subject = |server: &str, attach: Option<Box<Attach>>| {
            let build = Build { attach, ..Build::of(server, "") };
            let (label, config) = (server.to_owned(), Config::default());
            Subject { label, build, config, levels: Levels::new() }
        };
        let attached = subject("postgres", Some(Box::default()));
        let all = [attached, subject("mysql", None), subject("sqlite", None)];
        assert_eq!((embedded(&all), embedded(&all[..2])), (Some(2), None));
    }

    #[test]
    fn tasks_belong_to_roles_in_the_order_of_the_connections() {
        let role = |name: &str, clients| Role { name: name.to_owned(), clients, ..Role::default() };
        let roles = vec![role("write", 2), role("none", 0), role("read", 1)];
        let connections: Vec<_> =
            (70..73).map(|driver_task| Connection { driver_task, server_id: 0 }).collect();
        let expected = [("write", vec![70, 71]), ("none", vec![]), ("read", vec![72])];
        let expected = expected.map(|(name, tasks)| (name.to_owned(), tasks));
        assert_eq!(tasks_by_role(&Script { roles, ..script() }, &connections), expected);
    }
}
