//! A workload with its roles: a program each, and how they start, go together and end.

use super::compile::{Refusal, compile};
use super::{Op, Program};
use crate::{
    Error,
    arrival::{Member, Schedule},
};
use model::{
    drive::Assignment,
    lua::EVENT,
    script::{End, Pairing, Role},
    workload::Arrival,
};
use std::sync::Arc;

/// The roles of a workload in order.
#[derive(Debug, Clone)]
pub struct Roles {
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
    /// Its connections.
    pub clients: u32,
    /// How its operations start.
    pub arrival: Arrival,
    /// When it ends; not after rows, which are operations here.
    pub end: End,
    /// The role that it stays in step with.
    pub pairing: Option<Pairing>,
}

impl Part {
    /// When the operations of a connection start; `seed` is that of the stretch.
    pub(crate) fn schedule(&self, seed: u64, member: Member) -> Schedule {
        match self.program.ops.iter().all(|op| op.pauses.is_none()) {
            true => Schedule::new(self.arrival, seed, member),
            false => Schedule::at_a_terminal(seed, member),
        }
    }
}

impl Roles {
    /// Compiles a workload for a dialect (`mysql`, `postgres`, `sqlite`; any other takes the common
    /// SQL).
    ///
    /// # Errors
    /// [`Error::Workload`] names the role, operation and statement at fault and what to change.
    pub fn compile(assignment: &Assignment, dialect: &str) -> Result<Self, Error> {
        let workload = assignment.script.workload.clone();
        match parts(assignment, dialect) {
            Ok(parts) => Ok(Self { name: workload, parts }),
            Err((place, reason)) => Err(Error::Workload { workload, place, reason }),
        }
    }

    /// The only role of a program that was not compiled from a workload's file.
    pub(crate) fn of(program: Program) -> Self {
        let (name, program) = (program.name.clone(), Arc::new(program));
        let (arrival, end) = (Arrival::Closed, End::Stretch);
        Self { name, parts: vec![Part { program, clients: 1, arrival, end, pairing: None }] }
    }

    /// The roles of a workload that is a script.
    pub(crate) fn of_script(assignment: &Assignment) -> Self {
        let parts = assignment.script.roles.iter().map(|role| {
            let mut program = Program { weight_total: 1, ..Program::empty(&role.name) };
            program.name.clone_from(&assignment.script.workload);
            program.role.clone_from(&role.name);
            program.ops.push(Op {
                name: EVENT.to_owned(),
                weight_end: 1,
                transaction: true,
                writes: true,
                ..Op::default()
            });
            Part {
                program: Arc::new(program),
                clients: role.clients,
                arrival: role.arrival,
                end: role.end,
                pairing: role.pairing,
            }
        });
        Self { name: assignment.script.workload.clone(), parts: parts.collect() }
    }

    /// Connections that it needs; `None` if any number will do, as of a role without others.
    pub fn connections(&self) -> Option<usize> {
        match self.parts.as_slice() {
            [_] => None,
            parts => Some(parts.iter().map(|part| part.clients as usize).sum()),
        }
    }

    /// The role of connection `index` with the index among its own; those of one role follow each
    /// other. The last role takes what is too many.
    pub fn place(&self, index: u32) -> (usize, u32) {
        let mut rest = index;
        for (place, part) in self.parts.iter().enumerate() {
            if rest < part.clients || place + 1 == self.parts.len() {
                return (place, rest);
            }
            rest -= part.clients;
        }
        (0, rest)
    }
}

fn parts(assignment: &Assignment, dialect: &str) -> Result<Vec<Part>, Refusal> {
    let roles = &assignment.script.roles;
    let parts = roles.iter().map(|role| part(assignment, dialect, role));
    let parts = parts.collect::<Result<Vec<Part>, Refusal>>()?;
    for part in &parts {
        check_pairing(part, &parts)
            .and_then(|()| check_end(part, &parts))
            .map_err(|reason| (place(&part.program.role), reason))?;
    }
    Ok(parts)
}

fn place(role: &str) -> String {
    if role.is_empty() { String::new() } else { format!(", role `{role}`") }
}

fn part(assignment: &Assignment, dialect: &str, role: &Role) -> Result<Part, Refusal> {
    let end = match role.end {
        End::Rows(rows) => {
            role.rows_per_operation().map(|each| End::Operations(rows.div_ceil(each)))
        }
        end => Ok(end),
    };
    Ok(Part {
        program: Arc::new(compile(assignment, dialect, role)?),
        clients: role.clients,
        arrival: role.arrival,
        end: end.map_err(|reason| (place(&role.name), reason))?,
        pairing: role.pairing,
    })
}

fn check_pairing(part: &Part, parts: &[Part]) -> Result<(), String> {
    let Some(pairing) = part.pairing else { return Ok(()) };
    let partner = parts.get(pairing.role).ok_or("it is paired with a role that does not exist")?;
    if partner.clients != part.clients {
        return Err(format!(
            "it is paired with role `{}`, which has {} clients and not {}; a pair needs equally \
             many",
            partner.program.role, partner.clients, part.clients
        ));
    }
    Ok(())
}

/// Some role must end by itself, and the ones that end with others must lead there.
fn check_end(part: &Part, parts: &[Part]) -> Result<(), String> {
    let mut end = part.end;
    for _ in 0..=parts.len() {
        end = match end {
            End::With(other) => {
                parts.get(other).ok_or("it ends with a role that does not exist")?.end
            }
            End::Others if parts.iter().all(waits_for_others) => break,
            _ => return Ok(()),
        };
    }
    Err("it ends when others end, and they never do; end one of them after operations, rows or \
         seconds"
        .to_owned())
}

/// Whether a role ends only when all others have.
pub(crate) fn waits_for_others(part: &Part) -> bool {
    part.end == End::Others
}
