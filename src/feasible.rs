//! What a run would refuse, found while it is planned: without a server.

use load::{fill, program::Cast};
use model::{
    drive::{Assignment, LoadIndexes, LoadJob},
    plan::{Phase, PhaseKind, Plan},
    schema::Schema,
};
use std::collections::BTreeSet;

/// Refuses what the runner and the load engine would refuse on any host: statements that cannot be
/// compiled for a server's dialect, tables that a dialect does not have, settings that are not the
/// user's.
pub(crate) fn check(plan: &Plan) -> anyhow::Result<()> {
    runner::check_plan(plan)?;
    let mut dialects = BTreeSet::new();
    for subject in &plan.subjects {
        let dialect = dbms::find(&subject.build.server)?.protocol();
        dialects.insert((dialect, subject.config.engine.as_deref().unwrap_or_default()));
    }
    let protocols: BTreeSet<&str> = dialects.iter().map(|(dialect, _)| *dialect).collect();
    for phase in &plan.phases {
        let Some(schema) = schema_of(plan, phase) else { continue };
        if matches!(phase.kind, PhaseKind::Settle | PhaseKind::Index) {
            continue;
        }
        let assignment = Assignment {
            workload: plan.workloads[phase.workload].clone(),
            schema: schema.clone(),
            parameters: phase.parameters.clone(),
            mode: phase.mode,
        };
        for dialect in &protocols {
            Cast::compile(&assignment, dialect)?;
        }
    }
    for schema in &plan.schemas {
        let uses = |phase: &&Phase| plan.workloads[phase.workload].schema == schema.name;
        let Some(phase) = plan.phases.iter().find(uses) else { continue };
        for (dialect, engine) in &dialects {
            let job = LoadJob {
                schema: schema.clone(),
                parameters: phase.parameters.clone(),
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
    let name = &plan.workloads[phase.workload].schema;
    plan.schemas.iter().find(|schema| schema.name == *name)
}
