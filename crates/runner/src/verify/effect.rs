//! What is left in the tables, beside what the server said that it changed.

use super::{Case, Discrepancy};
use crate::{Error, rows, trial::Stand};
use model::{
    drive::TracedStatement,
    workload::{Check, Workload},
};

/// Rows of all tables of the phase together; none where its statements do not allow the check.
pub(super) fn counts(stand: &mut Stand, case: &Case<'_>) -> Result<Option<i64>, Error> {
    if !case.workload().writes() || !countable(case.workload()) {
        return Ok(None);
    }
    let mut total = 0;
    for name in rows::names(case.schema(), &case.assignment.parameters) {
        let rows = stand.driver.query(&format!("SELECT COUNT(*) FROM {name}"))?;
        let count = rows.first().and_then(|row| row.first()?.as_deref()?.parse::<i64>().ok());
        let Some(count) = count else { return Ok(None) };
        total += count;
    }
    Ok(Some(total))
}

/// Whether each statement adds, takes away or leaves as many rows as it changes.
fn countable(workload: &Workload) -> bool {
    let statements = workload.ops.iter().flat_map(|op| &op.statements);
    let mut texts =
        statements.flat_map(|one| std::iter::once(&one.sql).chain(one.sql_for.values()));
    texts.all(|sql| {
        let upper = sql.to_ascii_uppercase();
        let known = ["SELECT", "INSERT", "DELETE", "UPDATE"].contains(&verb(&upper));
        let merges = upper.contains("ON CONFLICT") || upper.contains("ON DUPLICATE");
        known && !merges && !upper.contains(" IGNORE ")
    })
}

fn verb(sql: &str) -> &str {
    sql.split_whitespace().next().unwrap_or_default()
}

/// The difference between the rows that are there and those that should be.
pub(super) fn check(
    stand: &mut Stand,
    case: &Case<'_>,
    (before, told): (&Option<i64>, &[TracedStatement]),
) -> Result<Option<Discrepancy>, Error> {
    let (Some(before), Some(after)) = (*before, counts(stand, case)?) else { return Ok(None) };
    let grown: i64 = told.iter().map(growth).sum();
    if after - before == grown {
        return Ok(None);
    }
    let text = format!(
        "the tables have {} rows more than before, but the server reported {grown}",
        after - before
    );
    Ok(Some(case.discrepancy(Some(Check::Effect), text)))
}

fn growth(one: &TracedStatement) -> i64 {
    let changed = i64::try_from(one.changed).unwrap_or(i64::MAX);
    match verb(&one.pieces.concat()).to_ascii_uppercase().as_str() {
        "INSERT" => changed,
        "DELETE" => -changed,
        _ => 0,
    }
}
