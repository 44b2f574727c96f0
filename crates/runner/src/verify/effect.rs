//! What is left in the tables, beside what the server said that it changed.

use super::{Case, Discrepancy};
use crate::{
    Error,
    server::{Instance, tables},
    trial,
};
use model::{
    drive::TracedStatement,
    number::counted,
    script::{Effect, Script},
    workload::Check,
};

/// Rows of all tables of the phase together; none where its statements do not allow the check.
pub(super) fn counts(instance: &mut Instance, case: &Case<'_>) -> Result<Option<i64>, Error> {
    if !case.script().writes() || !countable(case.script()) {
        return Ok(None);
    }
    let mut total = 0;
    for name in tables::names(case.schema()) {
        let rows = instance.driver.query(&format!("SELECT COUNT(*) FROM {name}"))?;
        let count = rows.first().and_then(|row| row.first()?.as_deref()?.parse::<i64>().ok());
        let Some(count) = count else { return Ok(None) };
        total += count;
    }
    Ok(Some(total))
}

/// Whether each statement adds, takes away or leaves as many rows as it changes, so that all
/// servers count the same.
pub(super) fn countable(script: &Script) -> bool {
    script.statements().all(|one| !matches!(one.effect, Effect::Merge(_) | Effect::Other))
}

/// Whether a statement changes rows that are there.
pub(super) fn updates(script: &Script) -> bool {
    script.statements().any(|one| matches!(one.effect, Effect::Update))
}

/// The difference between the rows that are there and those that should be.
pub(super) fn check(
    instance: &mut Instance,
    case: &Case<'_>,
    before: Option<i64>,
    told: &[TracedStatement],
) -> Result<Option<Discrepancy>, Error> {
    let (Some(before), Some(after)) = (before, counts(instance, case)?) else { return Ok(None) };
    let grown: i64 = told.iter().map(|one| growth(case, one)).sum();
    if after - before == grown {
        return Ok(None);
    }
    let text = format!(
        "the tables have {} rows more than before, but the server reported {grown}{}",
        after - before,
        tables::BY_TRIGGERS
    );
    Ok(Some(case.discrepancy(Some(Check::Effect), text)))
}

fn growth(case: &Case<'_>, one: &TracedStatement) -> i64 {
    let changed = i64::try_from(one.changed).unwrap_or(i64::MAX);
    match case.statement(one.origin).map(|statement| statement.effect) {
        Some(Effect::Insert(_)) => changed,
        Some(Effect::Delete) => -changed,
        _ => 0,
    }
}

/// The conditions of the schema that do not hold.
pub(super) fn conditions(
    instance: &mut Instance,
    case: &Case<'_>,
) -> Result<Vec<Discrepancy>, Error> {
    let mut found = Vec::new();
    for condition in &case.schema().checks {
        let violations = trial::number(instance, &condition.sql)?;
        if violations != 0 {
            let many = counted(violations.unsigned_abs(), "violation");
            let text = format!("{} ({many})", condition.name);
            found.push(case.discrepancy(Some(Check::Effect), text));
        }
    }
    Ok(found)
}
