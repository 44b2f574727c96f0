//! What a run finds out once, before its first block: how much work a slice is, and what the load
//! engine itself costs.

use model::{
    drive::{StretchEnd, StretchReport},
    plan::{Phase, PhaseKind, Plan},
    reading::{Reading, Scope},
    schedule::Length,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Costs per operation by counter.
pub(crate) type Costs = BTreeMap<String, f64>;

/// Key of the calibration in a run's state.
pub(crate) const STATE: &str = "calibration";

/// What calibration found, by phase name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Calibration {
    /// Operations per connection in a measured slice.
    pub(crate) operations: BTreeMap<String, u64>,
    /// Operations on each connection in the stretches of instruments that disturb, by their name
    /// first; 0 where they can observe none.
    #[serde(default)]
    intrusive: BTreeMap<String, BTreeMap<String, u64>>,
    /// Costs of the null client per operation, by counter.
    pub(crate) null: BTreeMap<String, Costs>,
    /// The same by role, where the workload has roles: how often each executes its operations is
    /// known after a slice only.
    #[serde(default)]
    pub(crate) null_roles: BTreeMap<String, BTreeMap<String, Costs>>,
}

/// Costs of a mean operation of a stretch, whose roles have executed theirs as often as it says;
/// `None` if it did nothing, or if the costs of a role are not known.
fn mixed(roles: &BTreeMap<String, Costs>, report: &StretchReport) -> Option<Costs> {
    let mut sums = Costs::new();
    for op in report.ops.iter().filter(|op| op.count > 0) {
        for (counter, cost) in roles.get(&op.role)? {
            *sums.entry(counter.clone()).or_default() += cost * op.count as f64;
        }
    }
    let operations = report.succeeded as f64;
    sums.values_mut().for_each(|sum| *sum /= operations);
    (operations > 0.0).then_some(sums)
}

impl Calibration {
    /// Operations in the stretches of an instrument that disturbs, by phase name.
    pub(crate) fn intrusive(&mut self, instrument: &str) -> &mut BTreeMap<String, u64> {
        self.intrusive.entry(instrument.to_owned()).or_default()
    }

    /// Operations that the base does in a slice of each phase, on all connections together.
    pub(crate) fn slice_operations(&self, plan: &Plan) -> Vec<u64> {
        let all = |phase: &Phase| {
            self.of_slice(phase).saturating_mul(u64::from(phase.script.connections()))
        };
        plan.phases.iter().map(all).collect()
    }

    /// When a stretch of a phase ends that is to be so long.
    pub(crate) fn end(&self, phase: &Phase, length: Length) -> StretchEnd {
        match length {
            Length::Seconds(seconds) => StretchEnd::Seconds(seconds),
            Length::Work(share) => {
                let operations = self.of_slice(phase) as f64 * share;
                StretchEnd::Operations(operations.round().max(1.0) as u64)
            }
            Length::Whole(_) => StretchEnd::Roles,
        }
    }

    /// Operations per second on each connection of the base, where slices are as long as a rate
    /// says.
    pub(crate) fn rate(&self, phase: &Phase) -> Option<f64> {
        let operations = *self.operations.get(&phase.name)?;
        (phase.seconds > 0.0).then(|| operations as f64 / phase.seconds)
    }

    fn of_slice(&self, phase: &Phase) -> u64 {
        self.operations.get(&phase.name).copied().unwrap_or(1)
    }

    /// The null client's costs in a slice of `phase`, as readings whose end is the cost per
    /// operation; none where they are not known. `measured` are the readings of the slice itself.
    pub(crate) fn null_readings(
        &self,
        phase: &Phase,
        measured: &[Reading],
        report: Option<&StretchReport>,
    ) -> Vec<Reading> {
        let costs = match (phase.kind, self.null_roles.get(&phase.name)) {
            // The driver does nothing there but to send a few statements.
            (PhaseKind::Index, _) => {
                let own = measured.iter().filter(|reading| reading.scope == Scope::Client);
                Some(own.map(|reading| (reading.counter.clone(), 0.0)).collect())
            }
            (_, Some(roles)) => report.and_then(|report| mixed(roles, report)),
            (_, None) => self.null.get(&phase.name).cloned(),
        };
        let reading = |(counter, cost): (String, f64)| Reading {
            scope: Scope::Client,
            counter: format!("null_{counter}_per_op"),
            start: 0.0,
            end: cost,
        };
        costs.into_iter().flatten().map(reading).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::phase;
    use model::drive::OpReport;

    fn told(
        calibration: &Calibration,
        phase: &Phase,
        report: &StretchReport,
    ) -> Vec<(String, f64)> {
        let cpu = Reading { scope: Scope::Client, counter: "cpu_ns".into(), start: 3.0, end: 90.0 };
        let readings = calibration.null_readings(phase, &[cpu], Some(report));
        readings.into_iter().map(|reading| (reading.counter, reading.end)).collect()
    }

    #[test]
    fn roles_cost_as_often_as_they_executed_their_operations() {
        let costs = |cpu: f64| Costs::from([("cpu_ns".to_owned(), cpu)]);
        let roles =
            BTreeMap::from([("insert".into(), costs(9000.0)), ("query".into(), costs(500.0))]);
        let mut calibration = Calibration::default();
        calibration.null_roles.insert("qr".into(), roles);
        let op = |name: &str, role: &str, count| OpReport {
            name: name.into(),
            role: role.into(),
            count,
            ..Default::default()
        };
        let ops = vec![op("insert", "insert", 1), op("market", "query", 6), op("pdc", "query", 3)];
        let mut report = StretchReport { succeeded: 10, ops, ..Default::default() };
        let measured = phase(PhaseKind::Measure);
        let expected = vec![("null_cpu_ns_per_op".to_owned(), 1350.0)];
        assert_eq!(told(&calibration, &measured, &report), expected);
        // A role of which nothing is known.
        report.ops.push(op("delete", "delete", 1));
        assert_eq!(told(&calibration, &measured, &report), []);
        assert_eq!(told(&calibration, &measured, &StretchReport::default()), []);
    }

    #[test]
    fn where_indexes_are_built_the_driver_costs_nothing() {
        let expected = vec![("null_cpu_ns_per_op".to_owned(), 0.0)];
        let report = StretchReport { succeeded: 3, ..Default::default() };
        assert_eq!(told(&Calibration::default(), &phase(PhaseKind::Index), &report), expected);
    }
}
