//! Writes before the first block: tables that were just loaded have full pages, and the first
//! changes of each page cost several times what later ones do.

use crate::{
    Error,
    intruders::emulation::all_done,
    run::Run,
    server::{Instance, tables},
};
use model::drive::{Assignment, StretchEnd};

/// Lets one connection execute the tests of the plan that change rows in place, as often for each
/// row as the experiment says. Gives the number of operations.
pub(super) fn age(run: &mut Run<'_>, instance: &mut Instance) -> Result<u64, Error> {
    let plan = run.plan;
    if plan.experiment.age <= 0.0 {
        return Ok(0);
    }
    let mut done: Vec<&str> = Vec::new();
    let mut all = 0;
    for phase in plan.phases.iter().filter(|phase| phase.is_aged()) {
        // Numbers of clients, or modes, of one workload write the same.
        if done.contains(&phase.script.workload.as_str()) {
            continue;
        }
        done.push(&phase.script.workload);
        let schema = run.schema_of(phase)?.clone();
        let operations = (tables::rows(&schema) * plan.experiment.age).ceil() as u64;
        run.now(&format!("aging: {operations} operations of {}", phase.name));
        if all == 0 {
            instance.connect(1)?;
        }
        let script = phase.script.alone();
        instance.compile(&Assignment { script, schema, mode: phase.mode })?;
        let seed = plan.experiment.seed.wrapping_add(all);
        let report = instance.driver.stretch(StretchEnd::Operations(operations), seed)?;
        all_done(&phase.name, &report)?;
        all += operations;
    }
    Ok(all)
}
