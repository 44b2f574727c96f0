//! Whether the expressions of a workload have values that make sense in a phase.

use crate::error::{Error, Place};
use model::{
    Parameters,
    expression::{Condition, Expression},
    workload::{Bounds, Generator, Workload},
};

/// Every expression has a value, and every interval a member, under the phase's own parameters.
pub(crate) fn check_values(workload: &Workload, parameters: &Parameters) -> Result<(), Error> {
    for op in &workload.ops {
        if let Condition::When(when) = &op.transaction {
            check_least(Some(when), 0, parameters)?;
            check_most(when, 1, parameters)?;
        }
        let statements = op.statements.iter();
        let draws = op.draws.iter().chain(statements.clone().flat_map(|one| &one.draws));
        for draw in draws {
            check_value(&draw.value, parameters)?;
        }
        for statement in statements {
            for arg in &statement.args {
                check_value(&arg.value, parameters)?;
                check_least(arg.list.as_ref(), 1, parameters)?;
            }
            check_least(statement.rows_per_statement.as_ref(), 1, parameters)?;
            check_least(statement.every.as_ref(), 1, parameters)?;
            let advance = statement.advance.as_ref().map(|advance| &advance.by);
            check_least(advance, i64::MIN, parameters)?;
            check_least(Some(&statement.repeat), 0, parameters)?;
            for Bounds { low, high } in
                statement.expect.rows.iter().chain(&statement.expect.changed)
            {
                check_pair((low, high), parameters)?;
            }
        }
    }
    Ok(())
}

fn check_value(value: &Generator, parameters: &Parameters) -> Result<(), Error> {
    match value {
        Generator::Uniform { low, high } | Generator::Zipf { low, high, .. } => {
            check_pair((low, high), parameters)
        }
        Generator::Consecutive { first: value }
        | Generator::Sequence { first: value }
        | Generator::Integer { value }
        | Generator::Draw { plus: value, .. }
        | Generator::Captured { plus: value, .. } => check_least(Some(value), i64::MIN, parameters),
        Generator::Filler { low, high, .. } => {
            check_least(Some(low), 0, parameters)?;
            check_pair((low, high), parameters)
        }
        Generator::Template { .. }
        | Generator::Text { .. }
        | Generator::Now
        | Generator::Decimal { .. }
        | Generator::Between { .. } => Ok(()),
    }
}

fn check_pair(
    (low, high): (&Expression, &Expression),
    parameters: &Parameters,
) -> Result<(), Error> {
    let (least, most) = (value(low, parameters)?, value(high, parameters)?);
    if least <= most {
        return Ok(());
    }
    let reason = format!("from `{low}` to `{high}` is from {least} to {most}, which holds nothing");
    Err(Error::Invalid { place: Place::default(), reason })
}

fn check_least(
    expression: Option<&Expression>,
    least: i64,
    parameters: &Parameters,
) -> Result<(), Error> {
    let Some(expression) = expression else { return Ok(()) };
    let number = value(expression, parameters)?;
    if number >= least {
        return Ok(());
    }
    let reason = format!("`{expression}` is {number}; it must be {least} at least");
    Err(Error::Invalid { place: Place::default(), reason })
}

fn check_most(expression: &Expression, most: i64, parameters: &Parameters) -> Result<(), Error> {
    let number = value(expression, parameters)?;
    if number <= most {
        return Ok(());
    }
    let reason = format!("`{expression}` is {number}; it must be {most} at most");
    Err(Error::Invalid { place: Place::default(), reason })
}

fn value(expression: &Expression, parameters: &Parameters) -> Result<i64, Error> {
    expression
        .evaluate(parameters)
        .map_err(|source| Error::Expression { place: Place::default(), source })
}
