//! Rates of one client in single seconds: what published tables have percentiles of.

use crate::{PhaseFacts, curve::INTERVAL};
use model::{
    record::{SliceRecord, SliceState},
    workload::Counts,
};
use std::collections::BTreeMap;

/// Rates of one client [1/s] by phase and subject: rows in phases that count rows, else operations
/// of the lead role. Records have the seconds of all clients together, so this is their mean.
///
/// All measured slices count, one after the other; the last, cut second of each is left out.
/// Phases whose workload has no roles have none.
pub fn client_rates<'a>(
    slices: impl IntoIterator<Item = &'a SliceRecord>,
    facts: &dyn Fn(&str) -> PhaseFacts,
) -> BTreeMap<(String, String), Vec<u64>> {
    let mut rates: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for slice in slices.into_iter().filter(|slice| slice.state == SliceState::Measured) {
        let facts = facts(&slice.phase);
        let Some((work, roles)) = slice.work.as_ref().zip(facts.roles.as_ref()) else { continue };
        let seconds = work.end_ns.saturating_sub(work.start_ns) as f64 / 1e9;
        let whole = (seconds / INTERVAL) as usize;
        let done = |second: usize| -> u64 {
            let intervals = roles.leading(work).filter_map(|op| op.series.get(second));
            intervals
                .map(|interval| match facts.counts {
                    Counts::Rows => interval.rows,
                    Counts::Operations | Counts::Statements => interval.completed,
                })
                .sum()
        };
        let count = roles.leading(work).map(|op| op.series.len()).max().unwrap_or(0);
        let clients = f64::from(slice.clients.max(1)) * INTERVAL;
        let of_one = |second| (done(second) as f64 / clients).round_ties_even() as u64;
        let key = (slice.phase.clone(), slice.subject.clone());
        rates.entry(key).or_default().extend((0..whole.min(count)).map(of_one));
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RoleFacts;
    use model::drive::{OpInterval, OpReport};

    #[test]
    fn whole_seconds_of_the_lead_role_count_and_clients_share_them() {
        let op = |name: &str, series: &[(u64, u64)]| OpReport {
            name: name.into(),
            series: series
                .iter()
                .map(|(completed, rows)| OpInterval {
                    completed: *completed,
                    rows: *rows,
                    ..OpInterval::default()
                })
                .collect(),
            ..OpReport::default()
        };
        let mut slice = crate::curve::tests::slice("a", 2.5, &[1]);
        slice.clients = 2;
        if let Some(work) = &mut slice.work {
            work.ops = vec![
                op("query", &[(10, 90), (20, 80), (5, 10)]),
                op("other", &[(2, 4), (4, 8)]),
                op("insert", &[(9, 9), (9, 9)]),
            ];
        }
        let discarded = SliceRecord { state: SliceState::Discarded, ..slice.clone() };
        let check = |lead: &[&str], counts: Counts, expected: &[u64]| {
            let lead = lead.iter().map(|name| (*name).to_owned()).collect();
            let roles = Some(RoleFacts { lead, ..RoleFacts::default() });
            let facts = PhaseFacts { counts, roles, ..PhaseFacts::default() };
            let rates = client_rates([&slice, &discarded, &slice], &|_| facts.clone());
            let key = ("point".to_owned(), "a".to_owned());
            assert_eq!(rates[&key], expected, "{counts:?}");
        };
        check(&["query", "other"], Counts::Operations, &[6, 12, 6, 12]);
        check(&["insert"], Counts::Rows, &[4, 4, 4, 4]);
        assert!(client_rates([&slice], &|_| PhaseFacts::default()).is_empty());
    }
}
