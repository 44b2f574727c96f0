//! User instructions per operation where the host has no hardware counters: a short stretch in
//! single steps.
//!
//! The serving task of connection 0 and the driver's thread of connection 0 are stepped through a
//! fixed number of operations, apart from every measured window. The count is exact, of user mode
//! only, and of these two tasks only.

use crate::{
    Error,
    run::Run,
    slice::run_stretch,
    trial::{Stand, Trial, is_embedded},
};
use model::{
    drive::StretchEnd,
    plan::Phase,
    reading::{Reading, Scope},
};
use probe::{Permission, Stepper};

/// Steps that one stretch may take, about; a step costs tens of microseconds in a virtual machine.
const STEPS: f64 = 4e5;
/// Instructions in a nanosecond of CPU time of a server, about: enough to choose the length of a
/// stretch.
const INSTRUCTIONS_PER_NS: f64 = 1.2;
/// More operations than this add nothing to the precision of the mean.
const OPERATIONS_MAX: f64 = 100.0;
/// Fewer operations than this say nothing; such a workload is not stepped.
const OPERATIONS_MIN: f64 = 2.0;

/// Counter of the steps of a task, and of the operations that they belong to.
pub(crate) const STEPPED: [&str; 2] = ["stepped_user_instructions", "stepped_operations"];

/// Whether this host needs single steps and permits them.
pub(crate) fn wanted() -> bool {
    probe::permission() == Permission::None && probe::stepping_permitted()
}

/// How many operations fit, if one takes `cpu_ns` of CPU time of the serving task.
pub(crate) fn operations(cpu_ns: f64) -> u64 {
    let fitting = (STEPS / (cpu_ns * INSTRUCTIONS_PER_NS).max(1.0)).min(OPERATIONS_MAX);
    if fitting < OPERATIONS_MIN { 0 } else { fitting as u64 }
}

/// CPU time so far of the tasks that serve the connections, nanoseconds.
pub(crate) fn serving_cpu_ns(stand: &Stand) -> u64 {
    let (process, tasks) = match &stand.server {
        Some(server) => (server.pid(), stand.foreground.tasks.clone()),
        None => (stand.driver.pid(), driver_tasks(stand)),
    };
    let found = probe::task_cpu(&[process]).into_iter();
    found.filter(|task| tasks.contains(&task.tid)).map(|task| task.cpu_ns).sum()
}

fn driver_tasks(stand: &Stand) -> Vec<u32> {
    stand.connections.iter().map(|connection| connection.driver_task).collect()
}

/// Steps through `operations` operations of the compiled workload; gives the readings for the
/// phase's slices.
pub(crate) fn count(
    stand: &mut Stand,
    phase: &Phase,
    operations: u64,
    seed: u64,
) -> Result<Vec<Reading>, Error> {
    let serving = stand.foreground.tasks.first().copied();
    let driving = driver_tasks(stand).first().copied();
    let scopes = [(Scope::Foreground, serving), (Scope::Client, driving)];
    let tasks: Vec<u32> = scopes.iter().filter_map(|(_, task)| *task).collect();
    if operations == 0 || tasks.is_empty() {
        return Ok(Vec::new());
    }
    let stepper = Stepper::attach(&tasks)?;
    let report = run_stretch(&mut stand.driver, phase, StretchEnd::Operations(operations), seed);
    let counts = stepper.stop()?;
    report?;
    let mut readings = Vec::new();
    for (scope, task) in scopes {
        let Some(found) = counts.iter().find(|count| Some(count.task) == task) else { continue };
        for (counter, end) in STEPPED.iter().zip([found.instructions, operations]) {
            let counter = (*counter).to_owned();
            readings.push(Reading { scope, counter, start: 0.0, end: end as f64 });
        }
    }
    Ok(readings)
}

/// Steps a trial through the phase's stretch, thawed for as long, and keeps the readings for its
/// slices.
pub(crate) fn of_trial(
    run: &mut Run<'_>,
    trial: &mut Trial,
    phase: usize,
    seed: u64,
) -> Result<(), Error> {
    trial.stepped.clear();
    let phase = &run.plan.phases[phase];
    let operations = run.calibration.stepped.get(&phase.name).copied().unwrap_or(0);
    if trial.broken.is_some() || operations == 0 {
        return Ok(());
    }
    let counted = trial.stand.thaw().and_then(|()| {
        let readings = count(&mut trial.stand, phase, operations, seed)?;
        trial.stand.freeze()?;
        Ok(readings)
    });
    trial.stepped = trial.keep_apart(counted)?.unwrap_or_default();
    if is_embedded(&trial.stand.target) {
        trial.stepped.retain(|reading| reading.scope == Scope::Client);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::operations;

    #[test]
    fn the_stretch_is_as_long_as_the_steps_allow() {
        assert_eq!(operations(1_000.0), 100);
        assert_eq!(operations(20_000.0), 16);
        assert_eq!(operations(1e6), 0);
        assert_eq!(operations(0.0), 100);
    }
}
