//! What a run would refuse, found while it is planned: without a server.

use load::{engine, fill};
use model::{
    drive::{Assignment, LoadIndexes, LoadJob},
    plan::{Phase, Plan},
    schema::Schema,
};
use std::collections::BTreeSet;

/// Refuses what the runner and the load engine would refuse on any host: statements that cannot be
/// compiled for a server's dialect, tables that a dialect does not have, settings that are not the
/// user's.
pub(crate) fn check(plan: &Plan, places: &dbms::Places) -> anyhow::Result<()> {
    runner::check_plan(plan, places)?;
    let mut dialects = BTreeSet::new();
    for subject in &plan.subjects {
        let dialect = dbms::find(&subject.build.server)?.protocol();
        dialects.insert((dialect, subject.config.engine.as_deref().unwrap_or_default()));
    }
    let protocols: BTreeSet<&str> = dialects.iter().map(|(dialect, _)| *dialect).collect();
    for phase in &plan.phases {
        let Some(schema) = schema_of(plan, phase) else { continue };
        if !phase.kind.has_statements() {
            continue;
        }
        let assignment =
            Assignment { script: phase.script.clone(), schema: schema.clone(), mode: phase.mode };
        for dialect in &protocols {
            engine::check(&assignment, dialect)?;
        }
    }
    for schema in &plan.schemas {
        for (dialect, engine) in &dialects {
            let job = LoadJob {
                schema: schema.clone(),
                engine: (*engine).to_owned(),
                threads: 1,
                seed: plan.experiment.seed,
                indexes: LoadIndexes::Created,
                now_seconds: 0,
            };
            fill::check(dialect, &job)?;
        }
    }
    Ok(())
}

fn schema_of<'a>(plan: &'a Plan, phase: &Phase) -> Option<&'a Schema> {
    plan.schemas.iter().find(|schema| schema.name == phase.script.schema)
}
