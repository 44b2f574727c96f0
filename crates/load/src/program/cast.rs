//! A workload with its roles: a program each, and how they start, go together and end.

use super::Program;
use super::compile::{Refusal, compile};
use crate::Error;
use model::{
    Parameters,
    drive::Assignment,
    expression::Expression,
    workload::{Arrival, Role, RoleArrival, RoleEnd, Workload},
};
use std::sync::Arc;

/// The roles of a workload in order; one without a name where it has none.
#[derive(Debug, Clone)]
pub struct Cast {
    /// Name of the workload.
    pub name: String,
    /// At least one.
    pub parts: Vec<Part>,
}

/// One role.
#[derive(Debug, Clone)]
pub struct Part {
    /// What its connections execute.
    pub program: Arc<Program>,
    /// Its connections; `None` for all that are open, where the workload has no roles.
    pub clients: Option<u32>,
    /// How its operations start; `None` where the stretch says it.
    pub arrival: Option<Arrival>,
    /// When it ends.
    pub end: PartEnd,
    /// The role that it goes hand in hand with.
    pub pair: Option<Partner>,
}

/// When a role ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PartEnd {
    /// As the stretch says.
    Stretch,
    /// After as many operations on each connection.
    Operations(u64),
    /// After as many seconds.
    Seconds(f64),
    /// When this role ends.
    With(usize),
    /// When all roles have ended that end by themselves or with such a one.
    Others,
}

/// The other one of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partner {
    /// Which role.
    pub part: usize,
    /// Operations by which one may be ahead of it when an operation starts.
    pub lead: u64,
}

impl Cast {
    /// Compiles a workload for a dialect (`mysql`, `postgres`, `sqlite`; any other takes the common
    /// SQL).
    ///
    /// # Errors
    /// [`Error::Workload`] names the role, operation and statement at fault and what to change.
    pub fn compile(assignment: &Assignment, dialect: &str) -> Result<Self, Error> {
        let workload = &assignment.workload;
        parts(assignment, dialect).map(|parts| Self { name: workload.name.clone(), parts }).map_err(
            |(place, reason)| Error::Workload { workload: workload.name.clone(), place, reason },
        )
    }

    /// Connections that it needs; `None` if any number will do.
    pub fn connections(&self) -> Option<usize> {
        self.parts.iter().map(|part| part.clients.map(|clients| clients as usize)).sum()
    }

    /// Whether the workload has roles.
    pub fn has_roles(&self) -> bool {
        self.connections().is_some()
    }

    /// The role of connection `index` with the index among its own; those of one role follow each
    /// other. The last role takes what is too many.
    pub fn place(&self, index: u32) -> (usize, u32) {
        let mut rest = index;
        for (part, clients) in self.parts.iter().map(|part| part.clients).enumerate() {
            match clients {
                Some(clients) if rest >= clients && part + 1 < self.parts.len() => rest -= clients,
                _ => return (part, rest),
            }
        }
        (0, rest)
    }
}

fn parts(assignment: &Assignment, dialect: &str) -> Result<Vec<Part>, Refusal> {
    let workload = &assignment.workload;
    if workload.roles.is_empty() {
        let program = Arc::new(compile(assignment, dialect, None)?);
        let end = PartEnd::Stretch;
        return Ok(vec![Part { program, clients: None, arrival: None, end, pair: None }]);
    }
    let mut parts = Vec::with_capacity(workload.roles.len());
    for role in &workload.roles {
        let at = |reason: String| (format!(", role `{}`", role.name), reason);
        if workload.roles.iter().filter(|other| other.name == role.name).count() > 1 {
            return Err(at("another role has the same name; give each its own".to_owned()));
        }
        let program = Arc::new(compile(assignment, dialect, Some(role))?);
        let mut parameters = workload.parameters.clone();
        parameters.extend(assignment.parameters.clone());
        parts.push(part((workload, role), program, &parameters).map_err(at)?);
    }
    for (part, role) in parts.iter().zip(&workload.roles) {
        check_pair(part, &parts)
            .and_then(|()| check_end(part, &parts))
            .map_err(|reason| (format!(", role `{}`", role.name), reason))?;
    }
    Ok(parts)
}

fn part(
    (workload, role): (&Workload, &Role),
    program: Arc<Program>,
    parameters: &Parameters,
) -> Result<Part, String> {
    let find = |name: &str| {
        let other = workload.roles.iter().position(|other| other.name == name);
        let other = other.filter(|_| name != role.name);
        other.ok_or_else(|| {
            let others = workload.roles.iter().filter(|other| other.name != role.name);
            let known: Vec<String> = others.map(|other| format!("`{}`", other.name)).collect();
            format!("there is no other role `{name}` (known: {})", known.join(", "))
        })
    };
    let clients = positive("clients", &role.clients, parameters)?;
    let arrival = match &role.arrival {
        RoleArrival::Closed => Arrival::Closed,
        RoleArrival::Open { per_second, rows, spacing } => {
            let rate = positive("per_second", per_second, parameters)? as f64;
            let rows = rows.as_ref().map(|rows| positive("rows", rows, parameters)).transpose()?;
            Arrival::Open { per_second: rate / rows.unwrap_or(1) as f64, spacing: *spacing }
        }
    };
    let end = match &role.end {
        RoleEnd::Operations(count) => {
            PartEnd::Operations(positive("operations", count, parameters)?)
        }
        RoleEnd::Rows(rows) => {
            let rows = positive("rows", rows, parameters)?;
            PartEnd::Operations(rows.div_ceil(rows_per_operation(&program)?))
        }
        RoleEnd::Seconds(seconds) => {
            PartEnd::Seconds(positive("seconds", seconds, parameters)? as f64)
        }
        RoleEnd::With(name) if name.is_empty() => PartEnd::Others,
        RoleEnd::With(name) => PartEnd::With(find(name)?),
    };
    let pair = match &role.pair {
        Some(pair) => Some(Partner { part: find(&pair.role)?, lead: u64::from(pair.lead) }),
        None => None,
    };
    let clients = u32::try_from(clients).map_err(|_| format!("`clients` is {clients}"))?;
    Ok(Part { program, clients: Some(clients), arrival: Some(arrival), end, pair })
}

fn positive(what: &str, from: &Expression, parameters: &Parameters) -> Result<u64, String> {
    let value = from.evaluate(parameters).map_err(|error| error.to_string())?;
    match u64::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => Err(format!("`{what}` is {value}; it must be at least 1")),
    }
}

/// Rows of each operation, where they are the same in all.
fn rows_per_operation(program: &Program) -> Result<u64, String> {
    match program.ops.split_first() {
        Some((first, others)) if others.iter().all(|op| op.rows == first.rows) => {
            Some(first.rows).filter(|rows| *rows > 0).ok_or_else(|| {
                "it ends after a number of rows, but its operations write none; end it after \
                 operations or seconds"
                    .to_owned()
            })
        }
        _ => Err("it ends after a number of rows, but its operations differ in theirs; end it \
                  after operations or seconds"
            .to_owned()),
    }
}

fn check_pair(part: &Part, parts: &[Part]) -> Result<(), String> {
    let Some(partner) = part.pair.and_then(|pair| parts.get(pair.part)) else { return Ok(()) };
    if partner.clients != part.clients {
        let count = |part: &Part| part.clients.unwrap_or_default();
        return Err(format!(
            "it is paired with role `{}`, which has {} clients and not {}; a pair needs equally \
             many",
            partner.program.role,
            count(partner),
            count(part)
        ));
    }
    Ok(())
}

/// Some role must end by itself, and the ones that end with others must lead there.
fn check_end(part: &Part, parts: &[Part]) -> Result<(), String> {
    let mut end = part.end;
    for _ in 0..=parts.len() {
        end = match end {
            PartEnd::With(other) => parts.get(other).map_or(PartEnd::Stretch, |other| other.end),
            PartEnd::Others if parts.iter().all(waits_for_others) => break,
            _ => return Ok(()),
        };
    }
    Err("it ends when others end, and they never do; end one of them after operations, rows or \
         seconds"
        .to_owned())
}

/// Whether a role ends only when all others have.
pub(crate) fn waits_for_others(part: &Part) -> bool {
    part.end == PartEnd::Others
}
