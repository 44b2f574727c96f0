//! The roles of a workload under the parameters of a phase: how many connections do how much, how
//! fast.

use crate::{
    error::{Error, Place},
    limits::{ROWS_MAX, SECONDS_MAX},
    values::found,
};
use model::{
    Parameters,
    expression::Expression,
    workload::{Op, Role, RoleArrival, RoleEnd, Statement, Workload},
};

/// Connections of one phase, at most: beyond this nothing on one machine is measured.
pub(crate) const CONNECTIONS_MAX: i64 = 65_536;

/// Operations or rows of one connection, at most.
const AMOUNT_MAX: i64 = ROWS_MAX as i64;

/// One role, its expressions evaluated.
#[derive(Debug)]
pub(crate) struct Load<'a> {
    pub(crate) role: &'a Role,
    pub(crate) connections: i64,
    /// Operations per second over all connections; none in a closed loop.
    pub(crate) per_second: Option<f64>,
    pub(crate) amount: Amount,
    /// Rows that an operation changes, by definition of its statements.
    pub(crate) rows_per_operation: i64,
}

/// When a role ends, for each of its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Operations(i64),
    Rows(i64),
    Seconds(i64),
    /// With another role, or with the phase.
    Open,
}

impl Load<'_> {
    /// Operations of one connection, where they are known beforehand.
    pub(crate) fn operations(&self) -> Option<i64> {
        match self.amount {
            Amount::Operations(operations) => Some(operations),
            Amount::Rows(rows) => {
                // A role that changes no rows takes as many operations as rows.
                let each = self.rows_per_operation.max(1);
                Some(rows / each + i64::from(rows % each > 0))
            }
            Amount::Seconds(seconds) => {
                // As many as fit: a conversion to an integer saturates.
                let each = |rate: f64| (rate * seconds as f64) as i64 / self.connections.max(1);
                self.per_second.map(each)
            }
            Amount::Open => None,
        }
    }

    /// The length at which the role aims, seconds, where it has a rate or an end in time.
    pub(crate) fn seconds(&self) -> Option<f64> {
        match (self.amount, self.per_second, self.operations()) {
            (Amount::Seconds(seconds), ..) => Some(seconds as f64),
            (_, Some(rate), Some(operations)) => {
                Some(operations as f64 * self.connections as f64 / rate)
            }
            _ => None,
        }
    }
}

/// The roles of a workload, checked. Errors: an expression without a value, or a number of
/// connections, a rate or an amount below 1, or partners that are not equally many.
pub(crate) fn loads<'a>(
    workload: &'a Workload,
    parameters: &Parameters,
) -> Result<Vec<Load<'a>>, Error> {
    let load = |role: &'a Role| load(workload, role, parameters);
    let loads = workload.roles.iter().map(load).collect::<Result<Vec<_>, Error>>()?;
    for load in &loads {
        let Some(pair) = &load.role.pair else { continue };
        let partner = loads.iter().find(|other| other.role.name == pair.role);
        if let Some(partner) = partner.filter(|other| other.connections != load.connections) {
            return Err(invalid(format!(
                "the roles `{}` and `{}` are a pair with {} and {} clients; give both the same \
                 number",
                load.role.name, partner.role.name, load.connections, partner.connections
            )));
        }
    }
    Ok(loads)
}

fn load<'a>(
    workload: &'a Workload,
    role: &'a Role,
    parameters: &Parameters,
) -> Result<Load<'a>, Error> {
    let within = |what: &str, expression: &Expression, most: i64| {
        let value = value(expression, parameters)?;
        if (1..=most).contains(&value) {
            return Ok(value);
        }
        let name = &role.name;
        let found = found(expression, value);
        let reason = format!("`{what}` of the role `{name}` must be from 1 to {most}{found}");
        Err(invalid(reason))
    };
    let least = |what: &str, expression: &Expression| within(what, expression, AMOUNT_MAX);
    let ops = workload.ops.iter().filter(|op| role.ops.contains(&op.name));
    let changed = ops.map(|op| changed_by(op, parameters)).collect::<Result<Vec<_>, Error>>()?;
    Ok(Load {
        role,
        connections: within("clients", &role.clients, CONNECTIONS_MAX)?,
        per_second: match &role.arrival {
            RoleArrival::Closed => None,
            RoleArrival::Open { per_second, rows, .. } => {
                let rate = least("per_second", per_second)? as f64;
                let rows = rows.as_ref().map(|rows| least("arrival.rows", rows));
                Some(rate / rows.transpose()?.unwrap_or(1) as f64)
            }
        },
        amount: match &role.end {
            RoleEnd::Operations(end) => Amount::Operations(least("end.operations", end)?),
            RoleEnd::Rows(end) => Amount::Rows(least("end.rows", end)?),
            RoleEnd::Seconds(end) => {
                Amount::Seconds(within("end.seconds", end, SECONDS_MAX as i64)?)
            }
            RoleEnd::With(_) => Amount::Open,
        },
        rows_per_operation: changed.into_iter().max().unwrap_or(0),
    })
}

/// Rows that all statements of an operation change, at most.
fn changed_by(op: &Op, parameters: &Parameters) -> Result<i64, Error> {
    let rows = op.statements.iter().map(|statement| rows_of(statement, parameters));
    rows.sum()
}

/// Rows that one execution of a statement changes, at most: those of a multi-row INSERT, or what
/// the statement is expected to change.
pub(crate) fn rows_of(statement: &Statement, parameters: &Parameters) -> Result<i64, Error> {
    let most = statement.expect.changed.as_ref().map(|bounds| &bounds.high);
    let rows = match statement.rows_per_statement.as_ref().or(most) {
        Some(rows) => value(rows, parameters)?,
        None => 0,
    };
    Ok(rows.saturating_mul(value(&statement.repeat, parameters)?))
}

fn value(expression: &Expression, parameters: &Parameters) -> Result<i64, Error> {
    expression
        .evaluate(parameters)
        .map_err(|source| Error::Expression { place: Place::default(), source })
}

fn invalid(reason: String) -> Error {
    Error::Invalid { place: Place::default(), reason }
}
