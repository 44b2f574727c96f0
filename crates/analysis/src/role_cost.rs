//! What the tasks that serve each role did, per operation of the role.

use model::{
    reading::Scope,
    record::{SliceRecord, SliceState},
};
use std::collections::BTreeMap;

/// Costs of one role of one phase of one subject, over all its measured slices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoleCost {
    /// Label of the subject.
    pub subject: String,
    /// Phase.
    pub phase: String,
    /// Name of the role.
    pub role: String,
    /// Operations that succeeded.
    pub operations: u64,
    /// Rows that they changed.
    pub rows_changed: u64,
    /// CPU time of the serving tasks [us].
    pub cpu_us: Option<f64>,
    /// User instructions of the serving tasks.
    pub user_instructions: Option<f64>,
    /// Context switches of the serving tasks.
    pub context_switches: Option<f64>,
}

/// How far a counter of the tasks that serve a role moved in a slice.
pub(crate) fn total(slice: &SliceRecord, role: &str, counter: &str) -> Option<f64> {
    let own = |name: &str| name.rsplit_once('.') == Some((role, counter));
    let mut readings = slice.readings.iter();
    let found = readings.find(|r| r.scope == Scope::Foreground && own(&r.counter))?;
    Some(found.delta()).filter(|delta| delta.is_finite())
}

/// CPU time of the tasks that serve a role in a slice [ns].
pub(crate) fn cpu_ns(slice: &SliceRecord, role: &str) -> Option<f64> {
    total(slice, role, "cpu_ns").or_else(|| total(slice, role, "task_clock_ns"))
}

/// The costs of all roles by phase, role and subject; none where single tasks were not told apart.
pub fn role_costs<'a>(slices: impl IntoIterator<Item = &'a SliceRecord>) -> Vec<RoleCost> {
    let mut costs: BTreeMap<(u32, &str, usize, &str), RoleCost> = BTreeMap::new();
    for slice in slices.into_iter().filter(|slice| slice.state == SliceState::Measured) {
        let ops = slice.work.iter().flat_map(|work| &work.ops);
        let mut roles: Vec<(&str, u64, u64)> = Vec::new();
        for op in ops.filter(|op| !op.role.is_empty()) {
            match roles.iter_mut().find(|(role, ..)| *role == op.role) {
                Some(role) => *role = (role.0, role.1 + op.count, role.2 + op.rows_changed),
                None => roles.push((&op.role, op.count, op.rows_changed)),
            }
        }
        for (place, (role, operations, rows)) in roles.into_iter().enumerate() {
            let Some(ns) = cpu_ns(slice, role) else { continue };
            let key = (slice.position, slice.phase.as_str(), place, slice.subject.as_str());
            let cost = costs.entry(key).or_insert_with(|| RoleCost {
                subject: slice.subject.clone(),
                phase: slice.phase.clone(),
                role: role.to_owned(),
                ..RoleCost::default()
            });
            cost.operations += operations;
            cost.rows_changed += rows;
            add(&mut cost.cpu_us, Some(ns / 1e3));
            add(&mut cost.user_instructions, total(slice, role, "user_instructions"));
            add(&mut cost.context_switches, total(slice, role, "context_switches"));
        }
    }
    costs.into_values().filter(|cost| cost.operations > 0).collect()
}

fn add(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0.0) + value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{drive::OpReport, reading::Reading};

    fn slice() -> SliceRecord {
        let mut slice = crate::curve::tests::slice("a", 1.0, &[1]);
        let op = |name: &str, role: &str, count, rows_changed| OpReport {
            name: name.into(),
            role: role.into(),
            count,
            rows_changed,
            ..OpReport::default()
        };
        if let Some(work) = &mut slice.work {
            work.ops =
                vec![op("i", "write.all", 2, 100), op("p", "read", 5, 0), op("q", "read", 3, 0)];
        }
        let reading = |counter: &str, end: f64| Reading {
            scope: Scope::Foreground,
            counter: counter.into(),
            start: 1000.0,
            end,
        };
        slice.readings = vec![
            reading("cpu_ns", 99_000.0),
            reading("read.cpu_ns", 9000.0),
            reading("write.all.cpu_ns", 5000.0),
            reading("read.context_switches", 1016.0),
        ];
        slice
    }

    #[test]
    fn costs_are_per_role_whatever_its_name() {
        let slice = slice();
        let costs = role_costs([&slice, &slice]);
        let found: Vec<_> = costs
            .iter()
            .map(|c| (c.role.as_str(), c.operations, c.rows_changed, c.cpu_us, c.context_switches))
            .collect();
        let expected =
            [("write.all", 4, 200, Some(8.0), None), ("read", 16, 0, Some(16.0), Some(32.0))];
        assert_eq!(found, expected);
        assert_eq!(total(&slice, "all", "cpu_ns"), None);
        let nothing = SliceRecord { readings: Vec::new(), ..slice };
        assert_eq!(role_costs([&nothing]), []);
    }
}
