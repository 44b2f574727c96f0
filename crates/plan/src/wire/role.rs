//! `[[role]]`: who executes which operations of a workload, how fast, and until when.

use super::{
    number::Whole,
    numbers::Numbers,
    value::{Formula, WordOr},
};
use crate::{
    error::{Error, Location},
    limits::{CONNECTIONS_MAX, ROWS_MAX, SECONDS_MAX},
    source::{Fault, Under},
    suggest,
};
use model::{
    expression::Expression,
    script::{End, Op, Pairing, Role},
    workload::{Arrival, Spacing},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::marker::PhantomData;

/// Operations or rows of one connection, at most.
const AMOUNT_MAX: i64 = ROWS_MAX as i64;

#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireRole {
    name: String,
    ops: Vec<String>,
    clients: Option<Formula>,
    arrival: Option<WireRoleArrival>,
    end: Option<WireEnd>,
    pair: Option<WirePair>,
}

#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireEnd {
    operations: Option<Formula>,
    rows: Option<Formula>,
    seconds: Option<Formula>,
    with: Option<String>,
}

#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WirePair {
    with: String,
    lead: Whole<u32>,
}

/// `"closed"`, or `{ per_second = "rate * clients", rows = 1, spacing = "even" }`.
#[derive(Debug, Clone)]
pub(super) enum WireRoleArrival {
    Closed,
    Open(WireOpen),
}

/// The roles; without any, one of all operations, which ends with its phase.
pub(super) fn roles(
    wire: Vec<WireRole>,
    numbers: Numbers<'_>,
    ops: &[Op],
) -> Result<Vec<Role>, Fault> {
    if wire.is_empty() {
        let clients = numbers.parameters.get("clients").copied().unwrap_or(1);
        let clients = u32::try_from(clients).unwrap_or(1);
        return Ok(vec![Role { clients, ops: ops.to_vec(), ..Role::default() }]);
    }
    let names: Vec<String> = wire.iter().map(|role| role.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut roles: Vec<Role> = Vec::new();
    for (index, role) in wire.into_iter().enumerate() {
        let role = role.check(numbers, &names, ops).under(index).under("role")?;
        if roles.iter().any(|other| other.name == role.name) {
            let reason = format!("two roles are named `{}`; rename one", role.name);
            return Err(Fault::invalid(reason)).under("name").under(index).under("role");
        }
        roles.push(role);
    }
    for (index, role) in roles.iter().enumerate() {
        check_end(role, &roles).under("end").under(index).under("role")?;
        if numbers.are_checked() {
            check_rows(role).under("end").under(index).under("role")?;
            check_pairing(role, &roles).under("pair").under(index).under("role")?;
        }
    }
    for (index, op) in ops.iter().enumerate() {
        if !roles.iter().any(|role| role.ops.iter().any(|other| other.name == op.name)) {
            let reason = format!("no role executes `{}`; add it to the `ops` of one", op.name);
            return Err(Fault::invalid(reason)).under(index).under("op");
        }
    }
    let connections = roles.iter().map(|role| i64::from(role.clients)).sum::<i64>();
    if connections > CONNECTIONS_MAX {
        let reason =
            format!("the roles have {connections} clients; {CONNECTIONS_MAX} are possible");
        return Err(Fault::invalid(reason)).under("role");
    }
    if roles.iter().all(|role| matches!(role.end, End::Others | End::With(_))) {
        // Nobody says when the phase ends: its length does.
        let waiting = roles.iter_mut().filter(|role| role.end == End::Others);
        waiting.for_each(|role| role.end = End::Stretch);
    }
    Ok(roles)
}

/// The roles with the one that costs are divided by; all of them, if no name is given.
pub(super) fn led(mut roles: Vec<Role>, lead: Option<String>) -> Result<Vec<Role>, Fault> {
    let Some(name) = lead else { return Ok(roles) };
    let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    let lead = place_of(&name, &names).under("lead")?;
    for (place, role) in roles.iter_mut().enumerate() {
        role.leads = place == lead;
    }
    Ok(roles)
}

/// Roles that end with each other in a circle would never end.
fn check_end(role: &Role, roles: &[Role]) -> Result<(), Fault> {
    let mut next = role;
    for _ in 0..=roles.len() {
        match next.end {
            End::With(other) => next = &roles[other],
            _ => return Ok(()),
        }
    }
    let reason = format!("the end of `{}` waits for itself; give one role its own end", role.name);
    Err(Fault::invalid(reason))
}

fn check_rows(role: &Role) -> Result<(), Fault> {
    let each = if let End::Rows(_) = role.end { role.rows_per_operation() } else { Ok(1) };
    each.map(drop).map_err(Fault::invalid)
}

fn check_pairing(role: &Role, roles: &[Role]) -> Result<(), Fault> {
    let Some(pairing) = role.pairing else { return Ok(()) };
    let partner = &roles[pairing.role];
    if partner.clients == role.clients {
        return Ok(());
    }
    let reason = format!(
        "the roles `{}` and `{}` are a pair with {} and {} clients; give both the same number",
        role.name, partner.name, role.clients, partner.clients
    );
    Err(Fault::invalid(reason))
}

/// The place of the role with this name.
fn place_of(name: &str, names: &[&str]) -> Result<usize, Fault> {
    names.iter().position(|known| *known == name).ok_or_else(|| {
        let hint = suggest::hint(name, names.iter().copied());
        let (place, name) = (Location::default(), name.to_owned());
        Error::UnknownName { place, what: "role", name, hint }.into()
    })
}

impl WireRole {
    fn check(self, numbers: Numbers<'_>, names: &[&str], ops: &[Op]) -> Result<Role, Fault> {
        if self.ops.is_empty() {
            return Err(Fault::invalid("a role needs an operation at least")).under("ops");
        }
        let mut own = Vec::new();
        for (index, name) in self.ops.iter().enumerate() {
            let Some(op) = ops.iter().find(|op| op.name == *name) else {
                let hint = suggest::hint(name, ops.iter().map(|op| op.name.as_str()));
                let (place, name) = (Location::default(), name.clone());
                let error = Error::UnknownName { place, what: "operation", name, hint };
                return Err(error.into()).under(index).under("ops");
            };
            if own.contains(op) {
                let reason = format!("the role has `{name}` twice; write it once");
                return Err(Fault::invalid(reason)).under(index).under("ops");
            }
            own.push(op.clone());
        }
        let context = Context { role: &self.name, names, numbers };
        let all = Formula(Expression::new("clients"));
        let clients = self.clients.as_ref().unwrap_or(&all);
        let clients = context.within("clients", clients, CONNECTIONS_MAX).under("clients")?;
        let arrival = match &self.arrival {
            Some(WireRoleArrival::Open(open)) => open.check(&context).under("arrival")?,
            Some(WireRoleArrival::Closed) | None => Arrival::Closed,
        };
        let end = self.end.as_ref().map(|end| end.check(&context)).transpose();
        let pairing = self.pair.as_ref().map(|pair| pair.check(&context)).transpose();
        Ok(Role {
            clients: clients as u32,
            arrival,
            // Nobody's end but that of the phase, or of all the others.
            end: end.under("end")?.unwrap_or(End::Others),
            pairing: pairing.under("pair")?,
            name: self.name,
            ops: own,
            leads: true,
        })
    }
}

/// What the keys of a role may name.
struct Context<'a> {
    role: &'a str,
    /// Names of all roles.
    names: &'a [&'a str],
    numbers: Numbers<'a>,
}

impl Context<'_> {
    /// A number of at least 1.
    fn within(&self, key: &str, formula: &Formula, most: i64) -> Result<i64, Fault> {
        self.numbers.within(&format!("`{key}` of the role `{}`", self.role), formula, 1..=most)
    }
}

impl WireEnd {
    fn check(&self, context: &Context<'_>) -> Result<End, Fault> {
        let within = |key: &str, formula, most| {
            let amount = context.within(&format!("end.{key}"), formula, most).under(key);
            amount.map(|amount| amount as u64)
        };
        match (&self.operations, &self.rows, &self.seconds, self.with.as_deref()) {
            (Some(end), None, None, None) => {
                Ok(End::Operations(within("operations", end, AMOUNT_MAX)?))
            }
            (None, Some(end), None, None) => Ok(End::Rows(within("rows", end, AMOUNT_MAX)?)),
            (None, None, Some(end), None) => {
                Ok(End::Seconds(within("seconds", end, SECONDS_MAX as i64)?))
            }
            (None, None, None, Some("")) => Ok(End::Others),
            (None, None, None, Some(role)) => place_of(role, context.names).map(End::With),
            _ => Err(Fault::invalid(
                "`end` needs exactly one of `operations`, `rows`, `seconds` and `with`",
            )),
        }
    }
}

impl WireOpen {
    fn check(&self, context: &Context<'_>) -> Result<Arrival, Fault> {
        let rate =
            context.within("per_second", &self.per_second, AMOUNT_MAX).under("per_second")?;
        let rows = self.rows.as_ref();
        let rows = rows.map(|rows| context.within("arrival.rows", rows, AMOUNT_MAX)).transpose();
        let per_second = rate as f64 / rows.under("rows")?.unwrap_or(1) as f64;
        Ok(Arrival::Open { per_second, spacing: self.spacing.unwrap_or(Spacing::Even) })
    }
}

impl WirePair {
    fn check(&self, context: &Context<'_>) -> Result<Pairing, Fault> {
        let role = place_of(&self.with, context.names).under("with")?;
        if self.with == context.role {
            let reason =
                format!("`{}` cannot be paired with itself; name another role", context.role);
            return Err(Fault::invalid(reason)).under("with");
        }
        Ok(Pairing { role, lead: u64::from(self.lead.0) })
    }
}

#[derive(Debug, Clone, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireOpen {
    per_second: Formula,
    rows: Option<Formula>,
    spacing: Option<Spacing>,
}

impl<'de> Deserialize<'de> for WireRoleArrival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = "{ per_second = \"10 * clients\" }";
        let visitor = WordOr { word: "closed", table, of: PhantomData::<WireOpen> };
        Ok(deserializer.deserialize_any(visitor)?.map_or(Self::Closed, Self::Open))
    }
}
