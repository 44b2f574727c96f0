//! Whether the expressions of a workload have values that make sense in a phase.

use crate::error::{Error, Place};
use model::{
    Parameters,
    expression::{Condition, Expression},
    workload::{Bounds, Generator, Statement, Workload},
};
use std::ops::RangeInclusive;

/// Values in one statement, at most: no protocol takes more placeholders, and no text is longer
/// for a reason.
const VALUES_MAX: i64 = 65_535;
/// Values in all rows of one statement, at most.
const TEXT_VALUES_MAX: i64 = 1_000_000;
/// Executions in a row, at most.
const REPEAT_MAX: i64 = 1_000_000;
/// Any value.
const ANY: RangeInclusive<i64> = i64::MIN..=i64::MAX;

/// Every expression has a value, and every interval a member, under the phase's own parameters.
pub(crate) fn check_values(workload: &Workload, parameters: &Parameters) -> Result<(), Error> {
    for op in &workload.ops {
        if let Condition::When(when) = &op.transaction {
            check("transaction", Some(when), 0..=1, parameters)?;
        }
        for draw in &op.draws {
            check_value(&draw.value, parameters)?;
        }
        for statement in &op.statements {
            check_statement(statement, parameters).map_err(|error| {
                let line = statement.line.and_then(|line| usize::try_from(line).ok());
                error.at(Place { file: workload.source.clone(), line })
            })?;
        }
    }
    Ok(())
}

fn check_statement(statement: &Statement, parameters: &Parameters) -> Result<(), Error> {
    for draw in statement.draws.iter().chain(&statement.row_draws) {
        check_value(&draw.value, parameters)?;
    }
    let mut values = 0_i64;
    for arg in &statement.args {
        check_value(&arg.value, parameters)?;
        check("list", arg.list.as_ref(), 1..=VALUES_MAX, parameters)?;
        let list = arg.list.as_ref().map(|list| value(list, parameters)).transpose()?;
        values += list.unwrap_or(1);
    }
    let rows = statement.rows_per_statement.as_ref();
    check("rows_per_statement", rows, 1..=VALUES_MAX, parameters)?;
    let rows = rows.map(|rows| value(rows, parameters)).transpose()?.unwrap_or(1);
    let all = values.saturating_mul(rows);
    if values > VALUES_MAX || all > TEXT_VALUES_MAX {
        let reason = format!(
            "the statement has {all} values; at most {VALUES_MAX} in a row and \
             {TEXT_VALUES_MAX} in all rows are possible"
        );
        return Err(Error::Invalid { place: Place::default(), reason });
    }
    check("every", statement.every.as_ref(), 1..=i64::MAX, parameters)?;
    check("advance.by", statement.advance.as_ref().map(|advance| &advance.by), ANY, parameters)?;
    check("repeat", Some(&statement.repeat), 0..=REPEAT_MAX, parameters)?;
    for Bounds { low, high } in statement.expect.rows.iter().chain(&statement.expect.changed) {
        check_pair("expect", (low, high), parameters)?;
        check("expect", Some(high), 0..=i64::MAX, parameters)?;
    }
    check("expect.keys", statement.expect.keys.as_ref(), 0..=i64::MAX, parameters)
}

pub(crate) fn check_value(value: &Generator, parameters: &Parameters) -> Result<(), Error> {
    let any = |key: &str, value: &Expression| check(key, Some(value), ANY, parameters);
    match value {
        Generator::Uniform { low, high } => check_pair("uniform", (low, high), parameters),
        Generator::Zipf { low, high, .. } => check_pair("zipf", (low, high), parameters),
        Generator::Consecutive { first } => any("consecutive", first),
        Generator::Sequence { first } => any("sequence", first),
        Generator::Integer { value } => any("integer", value),
        Generator::Draw { plus, .. } | Generator::Captured { plus, .. } => any("plus", plus),
        Generator::Filler { low, high, .. } => {
            check("filler", Some(low), 0..=VALUES_MAX, parameters)?;
            check("filler", Some(high), 0..=VALUES_MAX, parameters)?;
            check_pair("filler", (low, high), parameters)
        }
        Generator::Template { .. }
        | Generator::Text { .. }
        | Generator::Now
        | Generator::Timestamp { .. }
        | Generator::Decimal { .. }
        | Generator::Between { .. } => Ok(()),
    }
}

fn check_pair(
    key: &str,
    (low, high): (&Expression, &Expression),
    parameters: &Parameters,
) -> Result<(), Error> {
    let (least, most) = (value(low, parameters)?, value(high, parameters)?);
    if least <= most {
        return Ok(());
    }
    let reason =
        format!("`{key}`: from `{low}` to `{high}` is from {least} to {most}, which holds nothing");
    Err(Error::Invalid { place: Place::default(), reason })
}

/// Refuses a value of `key` outside of `allowed`.
fn check(
    key: &str,
    expression: Option<&Expression>,
    allowed: RangeInclusive<i64>,
    parameters: &Parameters,
) -> Result<(), Error> {
    let Some(expression) = expression else { return Ok(()) };
    let number = value(expression, parameters)?;
    if allowed.contains(&number) {
        return Ok(());
    }
    let must = match (allowed.start(), allowed.end()) {
        (least, &i64::MAX) => format!("at least {least}"),
        (least, most) => format!("from {least} to {most}"),
    };
    let reason = format!("`{key}` must be {must}{}", found(expression, number));
    Err(Error::Invalid { place: Place::default(), reason })
}

/// The end of a message about a wrong value: the number, and the expression that has it.
pub(crate) fn found(expression: &Expression, value: i64) -> String {
    match expression.0 == value.to_string() {
        true => format!(", not `{value}`"),
        false => format!("; `{expression}` is {value}"),
    }
}

fn value(expression: &Expression, parameters: &Parameters) -> Result<i64, Error> {
    expression
        .evaluate(parameters)
        .map_err(|source| Error::Expression { place: Place::default(), source })
}
