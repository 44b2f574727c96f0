//! `[[role]]`: who executes which operations of a workload, how fast, and until when.

use super::{number::Whole, value::Formula, workload::optional};
use crate::{
    error::{Error, Place},
    source::{Fault, Under},
    suggest,
};
use model::{
    Parameters,
    expression::Expression,
    workload::{Op, Pair, Role, RoleArrival, RoleEnd, Spacing},
};
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireRole {
    name: String,
    ops: Vec<String>,
    clients: Option<Formula>,
    arrival: Option<WireRoleArrival>,
    end: Option<WireEnd>,
    pair: Option<WirePair>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WireEnd {
    operations: Option<Formula>,
    rows: Option<Formula>,
    seconds: Option<Formula>,
    with: Option<String>,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WirePair {
    with: String,
    lead: Whole<u32>,
}

/// `"closed"`, or `{ per_second = "rate * clients", rows = 1, spacing = "even" }`.
#[derive(Debug)]
pub(super) enum WireRoleArrival {
    Closed,
    Open(WireOpen),
}

/// The checked roles.
pub(super) fn roles(
    wire: Vec<WireRole>,
    known: &Parameters,
    ops: &[Op],
) -> Result<Vec<Role>, Fault> {
    let mut roles: Vec<Role> = Vec::new();
    for (index, role) in wire.into_iter().enumerate() {
        let role = role.check(known, ops).under(index).under("role")?;
        if roles.iter().any(|other| other.name == role.name) {
            let reason = format!("two roles are named `{}`; rename one", role.name);
            return Err(Fault::invalid(reason)).under("name").under(index).under("role");
        }
        roles.push(role);
    }
    for (index, role) in roles.iter().enumerate() {
        check_end(role, &roles).under("end").under(index).under("role")?;
        check_pair(role, &roles).under("pair").under(index).under("role")?;
    }
    for (index, op) in ops.iter().enumerate() {
        if !roles.is_empty() && !roles.iter().any(|role| role.ops.contains(&op.name)) {
            let reason = format!("no role executes `{}`; add it to the `ops` of one", op.name);
            return Err(Fault::invalid(reason)).under(index).under("op");
        }
    }
    Ok(roles)
}

/// The role that costs are divided by, or an empty name for all.
pub(super) fn lead(wire: Option<String>, roles: &[Role]) -> Result<String, Fault> {
    match wire {
        Some(name) => named(&name, roles).map(|_| name).under("lead"),
        None => Ok(String::new()),
    }
}

/// Roles that end with each other in a circle would never end.
fn check_end(role: &Role, roles: &[Role]) -> Result<(), Fault> {
    let mut next = role;
    for _ in 0..=roles.len() {
        match &next.end {
            RoleEnd::With(name) if !name.is_empty() => next = named(name, roles)?,
            _ => return Ok(()),
        }
    }
    let reason = format!("the end of `{}` waits for itself; give one role its own end", role.name);
    Err(Fault::invalid(reason))
}

fn check_pair(role: &Role, roles: &[Role]) -> Result<(), Fault> {
    let Some(pair) = &role.pair else { return Ok(()) };
    let partner = named(&pair.role, roles).under("with")?;
    if partner.name == role.name {
        let reason = format!("`{}` cannot be paired with itself; name another role", role.name);
        return Err(Fault::invalid(reason)).under("with");
    }
    Ok(())
}

fn named<'a>(name: &str, roles: &'a [Role]) -> Result<&'a Role, Fault> {
    roles.iter().find(|role| role.name == *name).ok_or_else(|| {
        let hint = suggest::hint(name, roles.iter().map(|role| role.name.as_str()));
        let (place, name) = (Place::default(), name.to_owned());
        Error::UnknownName { place, what: "role", name, hint }.into()
    })
}

impl WireRole {
    fn check(self, known: &Parameters, ops: &[Op]) -> Result<Role, Fault> {
        if self.ops.is_empty() {
            return Err(Fault::invalid("a role needs an operation at least")).under("ops");
        }
        for (index, name) in self.ops.iter().enumerate() {
            if !ops.iter().any(|op| op.name == *name) {
                let hint = suggest::hint(name, ops.iter().map(|op| op.name.as_str()));
                let (place, name) = (Place::default(), name.clone());
                let error = Error::UnknownName { place, what: "operation", name, hint };
                return Err(error.into()).under(index).under("ops");
            }
        }
        let clients = optional(self.clients, known).under("clients")?;
        let arrival = match self.arrival {
            Some(WireRoleArrival::Open(open)) => RoleArrival::Open {
                per_second: open.per_second.check(known).under("per_second").under("arrival")?,
                rows: optional(open.rows, known).under("rows").under("arrival")?,
                spacing: open.spacing.unwrap_or(Spacing::Even),
            },
            Some(WireRoleArrival::Closed) | None => RoleArrival::Closed,
        };
        let end = match self.end {
            Some(end) => end.check(known).under("end")?,
            // Nobody's end but that of the phase, or of all the others.
            None => RoleEnd::With(String::new()),
        };
        Ok(Role {
            clients: clients.unwrap_or_else(|| Expression::new("clients")),
            name: self.name,
            ops: self.ops,
            arrival,
            end,
            pair: self.pair.map(|pair| Pair { role: pair.with, lead: pair.lead.0 }),
        })
    }
}

impl WireEnd {
    fn check(self, known: &Parameters) -> Result<RoleEnd, Fault> {
        let one = "`end` needs exactly one of `operations`, `rows`, `seconds` and `with`";
        match (self.operations, self.rows, self.seconds, self.with) {
            (Some(end), None, None, None) => Ok(RoleEnd::Operations(end.check(known)?)),
            (None, Some(end), None, None) => Ok(RoleEnd::Rows(end.check(known)?)),
            (None, None, Some(end), None) => Ok(RoleEnd::Seconds(end.check(known)?)),
            (None, None, None, Some(role)) => Ok(RoleEnd::With(role)),
            _ => Err(Fault::invalid(one)),
        }
    }
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WireOpen {
    per_second: Formula,
    rows: Option<Formula>,
    spacing: Option<Spacing>,
}

struct ArrivalVisitor;

impl<'de> Visitor<'de> for ArrivalVisitor {
    type Value = WireRoleArrival;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"closed\" or a table such as { per_second = \"10 * clients\" }")
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<WireRoleArrival, E> {
        match value {
            "closed" => Ok(WireRoleArrival::Closed),
            other => Err(E::invalid_value(de::Unexpected::Str(other), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WireRoleArrival, A::Error> {
        WireOpen::deserialize(de::value::MapAccessDeserializer::new(map)).map(WireRoleArrival::Open)
    }
}

impl<'de> Deserialize<'de> for WireRoleArrival {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArrivalVisitor)
    }
}
