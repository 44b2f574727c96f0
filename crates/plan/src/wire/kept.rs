//! Kept values: who may use what a `capture` has kept.

use crate::{
    error::{Error, Location},
    source::{Fault, Under},
    suggest,
};
use model::script::{Op, Role, Statement, Value};
use std::collections::BTreeSet;

/// A kept value comes from an earlier statement of the same operation, or from an operation that
/// another role executes.
pub(super) fn check(ops: &[Op], roles: &[Role]) -> Result<(), Fault> {
    let statements = ops.iter().flat_map(|op| &op.statements);
    let all: BTreeSet<&str> = statements.filter_map(|one| one.capture.as_deref()).collect();
    for (index, op) in ops.iter().enumerate() {
        let known = Known { usable: from_others(op, roles), all: &all };
        check_op(op, known).under(index).under("op")?;
    }
    Ok(())
}

/// Names of kept values.
struct Known<'a> {
    /// Those that a statement may use.
    usable: BTreeSet<&'a str>,
    /// Those of the whole workload.
    all: &'a BTreeSet<&'a str>,
}

/// What operations of other roles keep for `op`.
fn from_others<'a>(op: &Op, roles: &'a [Role]) -> BTreeSet<&'a str> {
    let executes = |role: &&Role| role.ops.iter().any(|other| other.name == op.name);
    let theirs = roles.iter().filter(|role| !executes(role)).flat_map(|role| &role.ops);
    theirs.flat_map(|other| &other.statements).filter_map(|one| one.capture.as_deref()).collect()
}

fn check_op<'a>(op: &'a Op, mut known: Known<'a>) -> Result<(), Fault> {
    for draw in &op.draws {
        check_value(&draw.value, &known).under(&draw.name).under("draw")?;
    }
    for (index, statement) in op.statements.iter().enumerate() {
        // The statement of an operation that has only one may be written on the operation itself,
        // whose place is the nearest one then.
        check_statement(statement, &known).under(index).under("statement")?;
        known.usable.extend(statement.capture.as_deref());
    }
    Ok(())
}

fn check_statement(statement: &Statement, known: &Known<'_>) -> Result<(), Fault> {
    for draw in &statement.draws {
        check_value(&draw.value, known).under(&draw.name).under("draw")?;
    }
    for draw in &statement.row_draws {
        check_value(&draw.value, known).under(&draw.name).under("row_draw")?;
    }
    for (index, arg) in statement.args.iter().enumerate() {
        check_value(&arg.value, known).under(index).under("args")?;
    }
    match &statement.advance {
        Some(advance) => check_name(&advance.name, known).under("name").under("advance"),
        None => Ok(()),
    }
}

fn check_value(value: &Value, known: &Known<'_>) -> Result<(), Fault> {
    match value {
        Value::Captured { name, .. } => check_name(name, known),
        Value::Between { low, high } => {
            check_name(low, known).and_then(|()| check_name(high, known))
        }
        _ => Ok(()),
    }
}

fn check_name(name: &str, known: &Known<'_>) -> Result<(), Fault> {
    if known.usable.contains(name) {
        return Ok(());
    }
    if known.all.contains(name) {
        let reason = format!(
            "`{name}` is captured in another operation of the same role, or behind this place: \
             use it behind the statement that captures it, in the same operation, or give that \
             operation a role of its own"
        );
        return Err(Fault::invalid(reason));
    }
    let hint = suggest::hint(name, known.usable.iter().copied());
    let (place, name) = (Location::default(), name.to_owned());
    Err(Error::UnknownName { place, what: "captured value", name, hint }.into())
}
