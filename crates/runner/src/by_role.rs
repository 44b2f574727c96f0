//! The foreground of each role: what the tasks that serve its connections did.

use model::{reading::Reading, script::Script};
use std::collections::BTreeMap;

/// The counters of a script's roles, each named `ROLE.COUNTER`: those of `tasks`, which serve the
/// connections in the order of the roles. None with fewer than two roles, or without the tasks.
pub(crate) fn readings(script: &Script, tasks: &[u32], found: &[(u32, Reading)]) -> Vec<Reading> {
    if script.roles.len() < 2 {
        return Vec::new();
    }
    let roles = script.role_of_connections();
    let mut sums: BTreeMap<(usize, &str), Reading> = BTreeMap::new();
    for (task, reading) in found {
        let place = tasks.iter().position(|known| known == task);
        let Some(role) = place.and_then(|place| roles.get(place)) else { continue };
        let sum = sums.entry((*role, reading.counter.as_str())).or_insert_with(|| Reading {
            scope: reading.scope,
            counter: format!("{}.{}", script.roles[*role].name, reading.counter),
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
    use model::{reading::Scope, script::Role};

    fn script(clients: &[(&str, u32)]) -> Script {
        let role = |(name, clients): &(&str, u32)| Role {
            name: (*name).into(),
            clients: *clients,
            ..Role::default()
        };
        Script { roles: clients.iter().map(role).collect(), ..crate::testing::script() }
    }

    #[test]
    fn tasks_belong_to_roles_in_the_order_of_the_connections() {
        let reading = |task: u32, end: f64| {
            let (scope, counter) = (Scope::Foreground, "cpu_ns".to_owned());
            (task, Reading { scope, counter, start: 1.0, end })
        };
        let found = [reading(70, 10.0), reading(71, 20.0), reading(72, 300.0), reading(99, 9e9)];
        let two = script(&[("write", 2), ("read", 1)]);
        // The first connection is served by the task with the largest number.
        let sums = readings(&two, &[72, 70, 71], &found);
        let sums: Vec<_> = sums.iter().map(|r| (r.counter.as_str(), r.start, r.end)).collect();
        assert_eq!(sums, [("write.cpu_ns", 2.0, 310.0), ("read.cpu_ns", 1.0, 20.0)]);
        assert_eq!(readings(&two, &[], &found), []);
        let one = script(&[("write", 3)]);
        assert_eq!(readings(&one, &[72, 70, 71], &found), []);
    }
}
