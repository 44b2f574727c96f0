//! Set rates of operations: whether what was to start at a rate was done at that rate.

use crate::{
    roles::RoleFacts,
    service_level::{Outcome, ServiceLevel},
};
use model::{
    drive::{OpReport, StretchReport},
    grouped,
    mark::{Figure, Quantity, Rate, Why},
};

/// The name of this rule in marks.
pub(crate) const RATE: &str = "rate";

/// Share of the set rate that has to be reached.
const SHARE: f64 = 0.95;

/// The set rates that a stretch missed: those of its open loop, or of each role that has one. Rates
/// of inserted rows have rules of their own ([`crate::sla`]) and are left out where `roles` judges
/// them.
pub(crate) fn missed(work: &StretchReport, roles: Option<&RoleFacts>) -> Vec<ServiceLevel> {
    let judged = roles.filter(|roles| roles.paced(work).is_some());
    let of_rows = |op: &OpReport| {
        judged.is_some_and(|roles| {
            roles.inserts.contains(&op.name) || roles.deletes.contains(&op.name)
        })
    };
    let open = work.ops.iter().filter(|op| op.intended_per_second > 0.0 && !of_rows(op));
    let by_role = grouped(open.map(|op| (op.role.as_str(), op)));
    by_role.into_iter().filter_map(|(role, ops)| judge(work, role, &ops)).collect()
}

/// A miss of the rate of one role; of all operations where there are no roles.
fn judge(work: &StretchReport, role: &str, ops: &[&OpReport]) -> Option<ServiceLevel> {
    let target: f64 = ops.iter().map(|op| op.intended_per_second).sum();
    let done = ops.iter().map(|op| op.count).sum::<u64>() as f64;
    let reached = done / seconds(work, ops, done / target);
    let bound = SHARE * target;
    if reached >= bound {
        return None;
    }
    let rate = Rate { reached, target, needed: bound };
    let figure = Figure { quantity: Quantity::Completed, value: reached, bound };
    let why = Why::Completed { rate, role: role.into() };
    Some(ServiceLevel::new(RATE, Outcome::Missed, vec![figure], why))
}

/// What operations are divided by [s]: the length of the stretch, but at least that of their
/// schedule, and no more than the schedule and the largest lag. What takes longer without starting
/// late is the answer to the last operation, or the chance of a Poisson process.
fn seconds(work: &StretchReport, ops: &[&OpReport], scheduled: f64) -> f64 {
    let whole = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
    let lags = ops.iter().map(|op| op.lag_us_max);
    let lag_us = lags.max().filter(|lag| *lag > 0).unwrap_or(work.lag_us_max);
    // An operation that never started is late by what is left of the stretch.
    let lag = if work.dropped > 0 { f64::INFINITY } else { lag_us as f64 / 1e6 };
    whole.min(scheduled + lag).max(scheduled).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(role: &str, count: u64, intended_per_second: f64) -> OpReport {
        OpReport {
            name: format!("op-{role}"),
            role: role.to_owned(),
            count,
            intended_per_second,
            ..OpReport::default()
        }
    }

    fn work(milliseconds: u64, lag_us_max: u64, ops: Vec<OpReport>) -> StretchReport {
        let end_ns = milliseconds * 1_000_000;
        StretchReport { end_ns, lag_us_max, ops, ..StretchReport::default() }
    }

    fn words(work: &StretchReport) -> Vec<String> {
        missed(work, None).into_iter().map(|level| level.words()).collect()
    }

    #[test]
    fn a_rate_that_is_set_and_not_reached_is_missed() {
        let check = |milliseconds, lag_us, count, target, expected: &[&str]| {
            let work = work(milliseconds, lag_us, vec![op("", count, target)]);
            assert_eq!(words(&work), expected, "{milliseconds} {lag_us} {count} {target}");
        };
        check(1000, 548_000, 226, 500.0, &["226 of 500 operations/s completed, 475 are needed"]);
        check(1000, 100, 500, 500.0, &[]);
        check(1060, 60_000, 500, 500.0, &["471.7 of 500 operations/s completed, 475 are needed"]);
        check(1050, 50_000, 500, 500.0, &[]);
        // The last answer took long, or the draws of a Poisson process were far apart.
        check(3000, 100, 500, 500.0, &[]);
        check(5, 0, 1, 500.0, &[]);
        check(
            10_000,
            9_000_000,
            10,
            1e9,
            &["1.111 of 1000000000 operations/s completed, 950000000 are needed"],
        );
        check(1000, 548_000, 226, 0.0, &[]);
    }

    #[test]
    fn operations_that_never_started_are_a_miss() {
        let mut late = work(1000, 0, vec![op("", 226, 500.0)]);
        assert_eq!(words(&late), [""; 0]);
        late.dropped = 274;
        assert_eq!(words(&late).len(), 1);
    }

    #[test]
    fn every_role_has_its_own_rate_of_all_its_operations() {
        let paced = OpReport { lag_us_max: 900_000, ..op("query", 30, 100.0) };
        let good = OpReport { lag_us_max: 10, ..op("report", 10, 10.0) };
        let closed = op("free", 3, 0.0);
        let found = words(&work(1000, 900_000, vec![paced.clone(), good, closed, paced]));
        assert_eq!(found, ["60 of 200 operations/s of role `query` completed, 190 are needed"]);
    }
}
