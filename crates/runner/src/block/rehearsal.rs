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
    for table in &mut schema.tables {
        let lists = [&mut table.indexes, &mut table.finish].into_iter();
        let lists = lists.flat_map(|by_dialect| by_dialect.values_mut().flatten());
        // Statements tell the number of the load: no sequence goes on from 0.
        for text in table.create.values_mut().chain(lists) {
            *text = text.replace("{rows}", &table.rows.to_string());
        }
        table.rows = table.rows.min(most);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::schema::Table;

    #[test]
    fn few_rows_are_loaded_and_statements_tell_the_number_of_all() {
        let next = ("postgres".to_owned(), vec!["SELECT setval('s', {rows})".to_owned()]);
        let table = Table { rows: 1000, finish: [next].into(), ..Table::default() };
        let mut schema = Schema { tables: vec![table], ..Schema::default() };
        let check = |schema: &Schema, rows: u64| {
            let few = with_few_rows(schema);
            assert_eq!(few.tables[0].rows, rows);
            assert_eq!(few.tables[0].finish["postgres"], ["SELECT setval('s', 1000)"]);
        };
        check(&schema, 1);
        schema.constraints.insert("any".to_owned(), vec!["ALTER TABLE t".to_owned()]);
        check(&schema, 0);
    }
}
