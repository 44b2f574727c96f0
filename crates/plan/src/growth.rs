//! What phases take and leave that end when their work is done: loads and churns by roles, and
//! index builds.
//!
//! - In a closed loop a statement takes 150 us, and each row that it changes 6 us and 6 us more per
//!   secondary index; the connections of a role work at the same time, and so do the roles.
//! - In an open loop the rate says how long a number of operations takes.
//! - An index takes a second per 500,000 rows.
//! - A changed row is written twice to a log that is not of a fixed size.

use crate::estimate::bytes_per_row;
use model::{
    plan::{PhaseKind, Plan},
    schema::Table,
    script::{Effect, Op, Role, Script, Statement},
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
        let script = &phase.script;
        let schema = plan.schemas.iter().find(|schema| schema.name == script.schema);
        let Some(table) = schema.and_then(|schema| schema.tables.first()) else {
            growth.seconds.push(0.0);
            continue;
        };
        if phase.kind == PhaseKind::Index {
            // The rows that phases add are in the first table.
            let loaded = schema.iter().flat_map(|schema| &schema.tables);
            let loaded: f64 = loaded.map(|table| table.all_rows() * index_count(table)).sum();
            let all = rows * index_count(table) + loaded;
            growth.seconds.push(all / INDEX_ROWS_PER_SECOND);
            built = true;
            continue;
        }
        let runs = script.ends_by_itself() && phase.kind != PhaseKind::Settle;
        let effect = if runs {
            changes(script, if built { index_count(table) } else { 0.0 })
        } else {
            Changes::default()
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
struct Changes {
    seconds: f64,
    inserted: f64,
    deleted: f64,
}

/// What the roles of a phase do. A role without an own number of operations keeps up with its
/// partner, or else changes nothing that is known.
fn changes(script: &Script, indexes: f64) -> Changes {
    let operations = |role: &Role| {
        let partner = role.pairing.and_then(|pairing| script.roles.get(pairing.role));
        role.operations().or_else(|| partner.and_then(Role::operations)).unwrap_or(0) as f64
    };
    let mut changes = Changes::default();
    for role in &script.roles {
        let each = operations(role);
        let all = each * f64::from(role.clients);
        let count: f64 = role.ops.iter().map(|op| f64::from(op.weight)).sum::<f64>().max(1.0);
        let mut seconds = 0.0;
        for op in &role.ops {
            let (inserted, deleted) = changed_by(op);
            let share = f64::from(op.weight) / count;
            seconds += share
                * (each_time(op) * STATEMENT_SECONDS
                    + (inserted + deleted) * ROW_SECONDS * (1.0 + indexes));
            changes.inserted += all * inserted * share;
            changes.deleted += all * deleted * share;
        }
        let own = role.seconds().unwrap_or(each * seconds);
        changes.seconds = changes.seconds.max(own);
    }
    changes
}

/// Statements that every execution has.
fn each_time(op: &Op) -> f64 {
    op.statements.iter().filter(|statement| statement.every.is_none()).count() as f64
}

/// Rows that an operation inserts and deletes, at most.
fn changed_by(op: &Op) -> (f64, f64) {
    let rows = |of: fn(&Statement) -> u64| -> f64 {
        op.statements.iter().map(|one| of(one) as f64 * one.repeat as f64).sum()
    };
    let inserted = rows(|one| match one.effect {
        Effect::Insert(rows) | Effect::Merge(rows) => rows,
        _ => 0,
    });
    let deleted = rows(|one| match (one.effect, one.expect.changed) {
        (Effect::Delete, Some(changed)) => changed.high,
        _ => 0,
    });
    (inserted, deleted)
}
