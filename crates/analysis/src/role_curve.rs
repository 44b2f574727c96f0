//! What each role of a workload did, second by second.

use crate::{
    Curve,
    curve::{INTERVAL, SHORTEST},
};
use model::{
    drive::{OpInterval, OpReport},
    record::{SliceRecord, SliceState},
    workload::Counts,
};
use std::collections::{BTreeMap, BTreeSet};

/// One role of one phase of one subject over the measured seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleCurve {
    /// Name of the role.
    pub role: String,
    /// What its rate counts: rows where the role changes any, else operations.
    pub counts: Counts,
    /// Rows or operations per second [1/s].
    pub rate: Curve,
    /// Largest response time of each second [ms].
    pub response: Curve,
}

/// Position of the phase, phase, subject and place of the role in the workload.
type Key<'a> = (u32, &'a str, &'a str, usize);

/// The curves of all roles by phase, subject and the workload's order; a segment per slice. Slices
/// of workloads without roles have none.
///
/// The slices of a subject follow each other on one axis, as in [`crate::throughput_curves`].
pub fn role_curves<'a>(slices: impl IntoIterator<Item = &'a SliceRecord>) -> Vec<RoleCurve> {
    let mut curves: BTreeMap<Key<'_>, (f64, RoleCurve)> = BTreeMap::new();
    let measured = slices.into_iter().filter(|slice| slice.state == SliceState::Measured);
    let slices: Vec<&SliceRecord> = measured.collect();
    let changing = changing(&slices);
    for slice in slices {
        let Some(work) = &slice.work else { continue };
        let seconds = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
        for (place, (role, ops)) in roles(&work.ops).into_iter().enumerate() {
            let key = (slice.position, slice.phase.as_str(), slice.subject.as_str(), place);
            let (start, curve) = curves.entry(key).or_insert_with(|| (0.0, empty(slice, role)));
            if changing.contains(&(slice.phase.as_str(), role)) {
                curve.counts = Counts::Rows;
            }
            let (rates, responses) = points(&ops, (*start, seconds), curve.counts);
            *start += seconds;
            if !rates.is_empty() {
                curve.rate.segments.push(rates);
                curve.response.segments.push(responses);
            }
        }
    }
    let curves = curves.into_values().map(|(_, curve)| curve);
    curves.filter(|curve| !curve.rate.segments.is_empty()).collect()
}

/// Phases and roles that change rows in any slice: all of their slices count rows then.
fn changing<'a>(slices: &[&'a SliceRecord]) -> BTreeSet<(&'a str, &'a str)> {
    let mut found = BTreeSet::new();
    for slice in slices.iter().copied() {
        let phase = slice.phase.as_str();
        let ops = slice.work.iter().flat_map(|work| &work.ops);
        let changing = ops.filter(|op| op.rows_changed > 0);
        found.extend(changing.map(|op| (phase, op.role.as_str())));
    }
    found
}

/// The operations by role, in their order; those without a role are left out.
fn roles(ops: &[OpReport]) -> Vec<(&str, Vec<&OpReport>)> {
    let mut roles: Vec<(&str, Vec<&OpReport>)> = Vec::new();
    for op in ops.iter().filter(|op| !op.role.is_empty()) {
        match roles.iter_mut().find(|(role, _)| *role == op.role) {
            Some((_, own)) => own.push(op),
            None => roles.push((&op.role, vec![op])),
        }
    }
    roles
}

fn empty(slice: &SliceRecord, role: &str) -> RoleCurve {
    let curve =
        Curve { subject: slice.subject.clone(), phase: slice.phase.clone(), segments: Vec::new() };
    let (rate, response) = (curve.clone(), curve);
    RoleCurve { role: role.to_owned(), counts: Counts::Operations, rate, response }
}

type Points = Vec<(f64, f64)>;

/// Rates and largest response times [ms] of the seconds of one slice, which begins at `start`.
fn points(ops: &[&OpReport], (start, seconds): (f64, f64), counts: Counts) -> (Points, Points) {
    // What has a schedule does the work of its last second before that second is over.
    let scheduled = ops.iter().filter(|op| op.intended_per_second > 0.0);
    let scheduled = scheduled.map(|op| op.count as f64 / op.intended_per_second);
    let seconds = scheduled.fold(seconds, f64::max);
    let count = ops.iter().map(|op| op.series.len()).max().unwrap_or(0);
    let (mut rates, mut responses) = (Points::new(), Points::new());
    for index in 0..count {
        let from = index as f64 * INTERVAL;
        let width = (seconds - from).min(INTERVAL);
        if width < SHORTEST && index > 0 || width <= 0.0 {
            continue;
        }
        let own = || ops.iter().filter_map(|op| op.series.get(index));
        let done = |interval: &OpInterval| match counts {
            Counts::Rows => interval.rows,
            Counts::Operations | Counts::Statements => interval.completed,
        };
        let at = start + from + width / 2.0;
        rates.push((at, own().map(done).sum::<u64>() as f64 / width));
        let largest = own().map(|interval| interval.response_us_max.max(interval.service_us_max));
        responses.push((at, largest.max().unwrap_or(0) as f64 / 1e3));
    }
    (rates, responses)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(name: &str, role: &str, series: &[(u64, u64, u64)]) -> OpReport {
        let interval = |(completed, rows, response_us_max): &(u64, u64, u64)| OpInterval {
            completed: *completed,
            rows: *rows,
            service_us_max: 1000,
            response_us_max: *response_us_max,
            ..OpInterval::default()
        };
        OpReport {
            name: name.into(),
            role: role.into(),
            series: series.iter().map(interval).collect(),
            ..OpReport::default()
        }
    }

    #[test]
    fn roles_are_told_apart_and_their_operations_put_together() {
        let mut slice = crate::curve::tests::slice("a", 2.5, &[1]);
        let insert = op("insert", "writer", &[(2, 100, 4000), (2, 100, 7000), (1, 50, 0)]);
        let insert = OpReport { rows_changed: 250, count: 6, intended_per_second: 2.0, ..insert };
        let first = op("first", "reader", &[(10, 90, 0), (20, 80, 0), (5, 10, 0)]);
        let second = op("second", "reader", &[(1, 1, 1500), (2, 2, 0)]);
        if let Some(work) = &mut slice.work {
            work.ops = vec![insert, first, second, op("index", "", &[(1, 1, 1)])];
        }
        let curves = role_curves([&slice, &slice]);
        let names: Vec<_> = curves.iter().map(|c| (c.role.as_str(), c.counts)).collect();
        assert_eq!(names, [("writer", Counts::Rows), ("reader", Counts::Operations)]);
        // The writer's schedule goes on to the end of its last second.
        assert_eq!(curves[0].rate.segments[0], [(0.5, 100.0), (1.5, 100.0), (2.5, 50.0)]);
        assert_eq!(curves[0].response.segments[0], [(0.5, 4.0), (1.5, 7.0), (2.5, 1.0)]);
        assert_eq!(curves[1].rate.segments[0], [(0.5, 11.0), (1.5, 22.0), (2.25, 10.0)]);
        assert_eq!(curves[1].response.segments[0][0], (0.5, 1.5));
        assert_eq!(curves[1].rate.segments[1][0], (3.0, 11.0));
    }

    #[test]
    fn a_role_counts_rows_in_all_slices_if_it_changes_any_in_one() {
        let slice = |rows: u64| {
            let mut slice = crate::curve::tests::slice("a", 1.0, &[1]);
            let delete = op("delete", "deleter", &[(2, rows, 0)]);
            if let Some(work) = &mut slice.work {
                work.ops = vec![OpReport { rows_changed: rows, ..delete }];
            }
            slice
        };
        let curves = role_curves([&slice(0), &slice(50)]);
        let rates: Vec<f64> = curves[0].rate.segments.iter().map(|one| one[0].1).collect();
        assert_eq!((curves[0].counts, rates), (Counts::Rows, vec![0.0, 50.0]));
    }

    #[test]
    fn work_without_roles_or_that_does_not_count_has_no_curves() {
        let mut slice = crate::curve::tests::slice("a", 2.0, &[1]);
        assert_eq!(role_curves([&slice]), []);
        if let Some(work) = &mut slice.work {
            work.ops = vec![op("a", "reader", &[(1, 1, 1)])];
        }
        slice.state = SliceState::Discarded;
        assert_eq!(role_curves([&slice]), []);
    }
}
