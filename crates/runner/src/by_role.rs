//! The foreground of each role: what the tasks that serve its connections did.

use crate::roles;
use model::{Parameters, reading::Reading, workload::Workload};
use std::collections::BTreeMap;

/// The counters of a workload's roles, each named `ROLE.COUNTER`: those of `tasks`, which serve the
/// connections in the order of the roles. None with fewer than two roles, or without the tasks.
pub(crate) fn readings(
    workload: &Workload,
    parameters: &Parameters,
    tasks: &[u32],
    found: &[(u32, Reading)],
) -> Vec<Reading> {
    if workload.roles.len() < 2 {
        return Vec::new();
    }
    let players = roles::players(workload, parameters);
    let mut sums: BTreeMap<(usize, &str), Reading> = BTreeMap::new();
    for (task, reading) in found {
        let place = tasks.iter().position(|known| known == task);
        let Some(role) = place.and_then(|place| players.get(place)) else { continue };
        let sum = sums.entry((*role, reading.counter.as_str())).or_insert_with(|| Reading {
            scope: reading.scope,
            counter: format!("{}.{}", workload.roles[*role].name, reading.counter),
            start: 0.0,
            end: 0.0,
        });
        sum.start += reading.start;
        sum.end += reading.end;
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{
        expression::Expression,
        reading::Scope,
        workload::{Role, RoleArrival, RoleEnd},
    };

    fn workload(clients: &[(&str, &str)]) -> Workload {
        let role = |(name, clients): &(&str, &str)| Role {
            name: (*name).into(),
            ops: Vec::new(),
            clients: Expression::new(*clients),
            arrival: RoleArrival::Closed,
            end: RoleEnd::With(String::new()),
            pair: None,
        };
        Workload { roles: clients.iter().map(role).collect(), ..crate::testing::workload() }
    }

    #[test]
    fn tasks_belong_to_roles_in_the_order_of_the_connections() {
        let reading = |task: u32, end: f64| {
            let (scope, counter) = (Scope::Foreground, "cpu_ns".to_owned());
            (task, Reading { scope, counter, start: 1.0, end })
        };
        let found = [reading(70, 10.0), reading(71, 20.0), reading(72, 300.0), reading(99, 9e9)];
        let two = workload(&[("write", "clients"), ("read", "1")]);
        let parameters = Parameters::from([("clients".to_owned(), 2)]);
        // The first connection is served by the task with the largest number.
        let sums = readings(&two, &parameters, &[72, 70, 71], &found);
        let sums: Vec<_> = sums.iter().map(|r| (r.counter.as_str(), r.start, r.end)).collect();
        assert_eq!(sums, [("write.cpu_ns", 2.0, 310.0), ("read.cpu_ns", 1.0, 20.0)]);
        assert_eq!(readings(&two, &parameters, &[], &found), []);
        let one = workload(&[("write", "3")]);
        assert_eq!(readings(&one, &parameters, &[72, 70, 71], &found), []);
    }
}
