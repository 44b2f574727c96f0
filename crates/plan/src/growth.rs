//! What phases take and leave that end when their work is done: loads and churns by roles, and
//! index builds.
//!
//! - In a closed loop a statement takes 150 us, and each row that it changes 6 us and 6 us more per
//!   secondary index; the connections of a role work at the same time, and so do the roles.
//! - In an open loop the rate says how long a number of operations takes.
//! - An index takes a second per 500,000 rows.
//! - A changed row is written twice to a log that is not of a fixed size.

use crate::{
    estimate::bytes_per_row,
    loads::{Load, loads, rows_of},
    tables::counted,
};
use model::{
    Parameters,
    plan::{Phase, PhaseKind, Plan},
    schema::Table,
    workload::{Op, Workload},
};

const STATEMENT_SECONDS: f64 = 150e-6;
const ROW_SECONDS: f64 = 6e-6;
const INDEX_ROWS_PER_SECOND: f64 = 500_000.0;
const LOG_COPIES: f64 = 2.0;

/// What the phases of one subject do to time and disk, beside the load.
#[derive(Debug, Default)]
pub(crate) struct Growth {
    /// For each phase: seconds, or 0 where it has a length of its own.
    pub(crate) seconds: Vec<f64>,
    /// Largest growth of all rows over what was loaded, bytes.
    pub(crate) peak_bytes: f64,
    /// Log written by the phases, bytes.
    pub(crate) log_bytes: f64,
}

/// Follows the phases in order.
pub(crate) fn growth(plan: &Plan) -> Growth {
    let mut growth = Growth::default();
    let (mut rows, mut bytes) = (0.0, 0.0);
    let mut built = !plan.phases.iter().any(|phase| phase.kind == PhaseKind::Index);
    for phase in &plan.phases {
        let workload = &plan.workloads[phase.workload];
        let schema = plan.schemas.iter().find(|schema| schema.name == workload.schema);
        let Some(table) = schema.and_then(|schema| schema.tables.first()) else {
            growth.seconds.push(0.0);
            continue;
        };
        if phase.kind == PhaseKind::Index {
            // The rows that phases add are in the first table.
            let loaded =
                schema.map(|schema| counted(schema, &phase.parameters).unwrap_or_default());
            let loaded = loaded.into_iter().flatten();
            let loaded: f64 = loaded.map(|one| one.all_rows() * index_count(one.table)).sum();
            let all = rows * index_count(table) + loaded;
            growth.seconds.push(all / INDEX_ROWS_PER_SECOND);
            built = true;
            continue;
        }
        let runs = workload.ends_by_roles() && phase.kind != PhaseKind::Settle;
        let effect = if runs {
            effect(workload, phase, if built { index_count(table) } else { 0.0 })
        } else {
            Effect::default()
        };
        growth.seconds.push(effect.seconds);
        rows += effect.inserted - effect.deleted;
        bytes += (effect.inserted - effect.deleted) * bytes_per_row(table);
        growth.peak_bytes = growth.peak_bytes.max(bytes);
        let changed = effect.inserted + effect.deleted;
        growth.log_bytes += changed * bytes_per_row(table) * LOG_COPIES;
    }
    growth
}

fn index_count(table: &Table) -> f64 {
    table.indexes.values().map(Vec::len).max().unwrap_or(0) as f64
}

#[derive(Debug, Default)]
struct Effect {
    seconds: f64,
    inserted: f64,
    deleted: f64,
}

/// What the roles of a phase do. A role without an own number of operations keeps up with its
/// partner, or else changes nothing that is known.
fn effect(workload: &Workload, phase: &Phase, indexes: f64) -> Effect {
    // A plan is made of roles that have values.
    let loads = loads(workload, &phase.parameters).unwrap_or_default();
    let operations = |load: &Load<'_>| {
        let partner = load.role.pair.as_ref();
        let partner = partner.and_then(|pair| loads.iter().find(|l| l.role.name == pair.role));
        load.operations().or_else(|| partner.and_then(Load::operations)).unwrap_or(0) as f64
    };
    let mut effect = Effect::default();
    for load in &loads {
        let each = operations(load);
        let all = each * load.connections as f64;
        let ops = workload.ops.iter().filter(|op| load.role.ops.contains(&op.name));
        let (mut seconds, mut count) = (0.0, 0.0);
        for op in ops {
            let (inserted, deleted) = changes(op, &phase.parameters);
            let weight = f64::from(op.weight);
            count += weight;
            seconds += weight
                * (each_time(op) * STATEMENT_SECONDS
                    + (inserted + deleted) * ROW_SECONDS * (1.0 + indexes));
            effect.inserted += all * inserted * weight / total_weight(workload, load);
            effect.deleted += all * deleted * weight / total_weight(workload, load);
        }
        let closed = each * seconds / f64::max(count, 1.0);
        let own = load.seconds().unwrap_or(closed);
        effect.seconds = effect.seconds.max(own);
    }
    effect
}

fn total_weight(workload: &Workload, load: &Load<'_>) -> f64 {
    let ops = workload.ops.iter().filter(|op| load.role.ops.contains(&op.name));
    ops.map(|op| f64::from(op.weight)).sum::<f64>().max(1.0)
}

/// Statements that every execution has.
fn each_time(op: &Op) -> f64 {
    op.statements.iter().filter(|statement| statement.every.is_none()).count() as f64
}

/// Rows that an operation inserts and deletes.
fn changes(op: &Op, parameters: &Parameters) -> (f64, f64) {
    let (mut inserted, mut deleted) = (0.0, 0.0);
    for statement in &op.statements {
        let verb = statement.sql.split_whitespace().next().unwrap_or_default();
        let rows = rows_of(statement, parameters).unwrap_or(0) as f64;
        match verb.to_ascii_uppercase().as_str() {
            "INSERT" | "REPLACE" => inserted += rows,
            "DELETE" => deleted += rows,
            _ => {}
        }
    }
    (inserted, deleted)
}
