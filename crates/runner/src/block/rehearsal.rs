//! The tables and statements of a plan, tried on each server before anything is loaded.

use super::template;
use crate::{
    Error,
    run::Run,
    server::{Instance, unexpected},
};
use model::{
    drive::{Assignment, Command, LoadIndexes, LoadJob, Reply, Trace},
    plan::Phase,
    schema::Schema,
};

/// Creates the tables with a row each and prepares the statements of every phase, so that a wrong
/// name is refused with its file and line before the load. Statements that travel as text are not
/// prepared: the server sees those in their first slice.
pub(super) fn prepare_all(
    run: &Run<'_>,
    subject: usize,
    instance: &mut Instance,
) -> Result<(), Error> {
    let (plan, label) = (run.plan, run.subject(subject).label.clone());
    let now_seconds = template::load_time(run)?;
    // A script makes all its data or none, and its statements need them.
    for schema in plan.schemas.iter().filter(|schema| schema.lua.is_none()) {
        let job = LoadJob {
            schema: with_few_rows(schema),
            engine: template::engine(run, subject),
            threads: 1,
            seed: plan.experiment.seed,
            indexes: LoadIndexes::Created,
            now_seconds,
        };
        template::send(instance, job).map_err(|error| error.at(&label))?;
    }
    let declared = |phase: &&Phase| phase.kind.has_statements() && phase.script.lua.is_none();
    for phase in plan.phases.iter().filter(declared) {
        run.stop.check()?;
        let assignment: Assignment = run.assignment(phase)?;
        let trace = Trace { assignment, operations: 0, seed: plan.experiment.seed };
        match instance.driver.ask(&Command::Trace(Box::new(trace))) {
            Ok(Reply::Traced(_)) => {}
            Ok(other) => return Err(unexpected("trace", &other)),
            Err(error) => return Err(error.at(&label)),
        }
    }
    Ok(())
}

/// A schema of which as little is loaded as shows that its columns fit, or nothing where one row
/// may need others.
fn with_few_rows(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    let most = u64::from(schema.constraints.is_empty());
    schema.tables.iter_mut().for_each(|table| table.rows = table.rows.min(most));
    schema
}
