//! Points of the curves that a report draws: throughput, latency and memory over time.

use crate::{
    PhaseFacts,
    derive::{self, denominator},
};
use model::{
    drive::{OpReport, StretchReport},
    reading::{LatencyCounts, Scope, SeriesRow},
    record::{SliceRecord, SliceState},
};
use std::collections::BTreeMap;

/// A line of a chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Label of the subject.
    pub subject: String,
    /// Phase, or what else tells curves of one subject apart.
    pub phase: String,
    /// Points in order; a gap lies between two segments.
    pub segments: Vec<Vec<(f64, f64)>>,
}

/// Length of an interval of the series [s].
pub(crate) const INTERVAL: f64 = 1.0;

/// A last interval that is shorter than this [s] says nothing about a rate.
pub(crate) const SHORTEST: f64 = 0.2;

/// Points of a memory curve, at most.
const MEMORY_POINTS: usize = 120;

/// What the workload counts per second over the measured seconds, by phase and subject; a segment
/// per slice. `facts` are those of a phase. Where statements or rows count, the operations of an
/// interval stand for as many as an operation has on average.
///
/// The slices of a subject follow each other on one axis: the time between them, in which others
/// are measured, is left out.
pub fn throughput_curves<'a>(
    slices: impl IntoIterator<Item = &'a SliceRecord>,
    facts: &dyn Fn(&str) -> PhaseFacts,
) -> Vec<Curve> {
    over_time(slices, facts, |operations, _, width| operations / width)
}

/// The largest service time [ms] of each measured second, by phase and subject; with roles that of
/// the operations that the workload is about.
pub fn stall_curves<'a>(
    slices: impl IntoIterator<Item = &'a SliceRecord>,
    facts: &dyn Fn(&str) -> PhaseFacts,
) -> Vec<Curve> {
    over_time(slices, facts, |_, largest_us, _| largest_us / 1e3)
}

/// What the workload counts and the largest service time [us] of each interval.
fn intervals(work: &StretchReport, facts: &PhaseFacts) -> Vec<(f64, f64)> {
    let found: Vec<(f64, f64)> = match &facts.roles {
        None => {
            let own = work.series.iter();
            own.map(|i| (i.operations as f64, i.service_us_max as f64)).collect()
        }
        Some(roles) => {
            let lead: Vec<&OpReport> = roles.leading(work).collect();
            let length = lead.iter().map(|op| op.series.len()).max().unwrap_or(0);
            let at = |place: usize| {
                let own = || lead.iter().filter_map(|op| op.series.get(place));
                let done: u64 = own().map(|interval| interval.completed).sum();
                let largest = own().map(|interval| interval.service_us_max).max();
                (done as f64, largest.unwrap_or(0) as f64)
            };
            (0..length).map(at).collect()
        }
    };
    let all: f64 = found.iter().map(|(operations, _)| operations).sum();
    let each = if all > 0.0 { denominator(work, facts) / all } else { 0.0 };
    found.into_iter().map(|(operations, largest)| (operations * each, largest)).collect()
}

fn over_time<'a>(
    slices: impl IntoIterator<Item = &'a SliceRecord>,
    facts: &dyn Fn(&str) -> PhaseFacts,
    value: fn(f64, f64, f64) -> f64,
) -> Vec<Curve> {
    let mut curves: BTreeMap<(u32, &str, &str), (f64, Curve)> = BTreeMap::new();
    for slice in slices.into_iter().filter(|slice| slice.state == SliceState::Measured) {
        let Some(work) = &slice.work else { continue };
        let facts = facts(&slice.phase);
        let seconds = derive::seconds(work, &facts);
        let key = (slice.position, slice.phase.as_str(), slice.subject.as_str());
        let (start, curve) = curves.entry(key).or_default();
        curve.subject.clone_from(&slice.subject);
        curve.phase.clone_from(&slice.phase);
        let mut points = Vec::new();
        for (index, (count, largest_us)) in intervals(work, &facts).into_iter().enumerate() {
            let from = index as f64 * INTERVAL;
            let width = (seconds - from).min(INTERVAL);
            if width < SHORTEST && index > 0 || width <= 0.0 {
                continue;
            }
            let at = *start + from + width / 2.0;
            points.push((at, value(count, largest_us, width)));
        }
        *start += seconds;
        if !points.is_empty() {
            curve.segments.push(points);
        }
    }
    curves.into_values().map(|(_, curve)| curve).filter(|c| !c.segments.is_empty()).collect()
}

/// The latency [us] that a share of operations does not exceed, as points `(nines, latency)`:
/// `nines` is `-log10(1 - share)`, so 1 is the 90th percentile and 3 the 99.9th. The last point is
/// the largest latency.
pub fn latency_points<'a>(counts: impl IntoIterator<Item = &'a LatencyCounts>) -> Vec<(f64, f64)> {
    points_of(&merged(counts))
}

/// Several histograms as one: counts by value [ns].
pub(crate) fn merged<'a>(
    counts: impl IntoIterator<Item = &'a LatencyCounts>,
) -> BTreeMap<u64, u64> {
    let mut merged: BTreeMap<u64, u64> = BTreeMap::new();
    for (value, count) in counts.into_iter().flat_map(|found| &found.counts) {
        let sum = merged.entry(*value).or_default();
        *sum = sum.saturating_add(*count);
    }
    merged
}

/// The points of [`latency_points`].
pub(crate) fn points_of(merged: &BTreeMap<u64, u64>) -> Vec<(f64, f64)> {
    let all: u64 = merged.values().fold(0, |sum, count| sum.saturating_add(*count));
    if all == 0 {
        return Vec::new();
    }
    let last = (all as f64).log10();
    let steps = (last / 0.1).floor() as usize;
    let mut nines: Vec<f64> = (0..=steps).map(|step| step as f64 * 0.1).collect();
    nines.push(last);
    let mut entries = merged.iter().peekable();
    let mut below = 0_u64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut latest = 0;
    for nines in nines {
        // One of all operations is the largest, however its share rounds.
        let needed = match nines {
            nines if nines >= last => all,
            nines => (all as f64 * (1.0 - 10_f64.powf(-nines))).ceil() as u64,
        };
        while let Some((value, count)) = entries.next_if(|_| below < needed.max(1)) {
            below = below.saturating_add(*count);
            latest = *value;
        }
        points.push((nines, latest as f64 / 1e3));
    }
    points.dedup_by(|b, a| a.0 == b.0);
    points
}

/// A gauge of the server [KiB] as MiB over the seconds since the first reading; each point is the
/// largest of its stretch of time.
pub fn memory_points(rows: &[SeriesRow], counter: &str) -> Vec<(f64, f64)> {
    let of = |scope| move |row: &&SeriesRow| row.scope == scope && row.counter == counter;
    let mut own: Vec<&SeriesRow> = rows.iter().filter(of(Scope::Server)).collect();
    if own.is_empty() {
        // An embedded engine lives in the driver.
        own = rows.iter().filter(of(Scope::Client)).collect();
    }
    let Some(first) = rows.iter().map(|row| row.time_us).min() else { return Vec::new() };
    let chunk = own.len().div_ceil(MEMORY_POINTS).max(1);
    let point = |rows: &[&SeriesRow]| {
        let largest = rows.iter().map(|row| row.value).fold(0.0, f64::max);
        let time_us = rows.first().map_or(first, |row| row.time_us);
        (time_us.saturating_sub(first) as f64 / 1e6, largest / 1024.0)
    };
    own.chunks(chunk).map(point).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::RoleFacts;
    use model::{
        drive::{Interval, OpInterval},
        reading::LatencyTime,
        workload::{Arrival, Counts, Spacing},
    };

    pub(crate) fn slice(subject: &str, seconds: f64, operations: &[u64]) -> SliceRecord {
        let interval = |operations: &u64| Interval {
            operations: *operations,
            service_us_max: 2500,
            ..Interval::default()
        };
        SliceRecord {
            subject: subject.into(),
            phase: "point".into(),
            workload: "point".into(),
            group: "point".into(),
            clients: 1,
            work: Some(StretchReport {
                end_ns: (seconds * 1e9) as u64,
                succeeded: operations.iter().sum(),
                series: operations.iter().map(interval).collect(),
                ..StretchReport::default()
            }),
            ..SliceRecord::default()
        }
    }

    #[test]
    fn slices_follow_each_other_and_a_part_of_a_second_counts_as_what_it_is() {
        let discarded = SliceRecord { state: SliceState::Discarded, ..slice("a", 1.0, &[9]) };
        let slices = [
            slice("a", 2.5, &[100, 200, 60]),
            discarded,
            slice("a", 1.1, &[50, 5]),
            slice("b", 0.5, &[10]),
        ];
        let facts = |_: &str| PhaseFacts::default();
        let curves = throughput_curves(&slices, &facts);
        let expected = [
            vec![vec![(0.5, 100.0), (1.5, 200.0), (2.25, 120.0)], vec![(3.0, 50.0)]],
            vec![vec![(0.25, 20.0)]],
        ];
        let found: Vec<_> = curves.into_iter().map(|curve| curve.segments).collect();
        assert_eq!(found, expected);
        assert_eq!(stall_curves(&slices, &facts)[1].segments, [[(0.25, 2.5)]]);
        assert_eq!(throughput_curves(&[slice("a", 0.0, &[])], &facts), []);
    }

    #[test]
    fn an_even_open_loop_has_its_rate_in_its_last_second_too() {
        let mut slice = slice("a", 1.8, &[5, 5]);
        slice.work.as_mut().unwrap().scheduled = 10;
        let arrival = Arrival::Open { per_second: 5.0, spacing: Spacing::Even };
        let facts = PhaseFacts { arrival, ..PhaseFacts::default() };
        let curves = throughput_curves(&[slice], &|_| facts.clone());
        assert_eq!(curves[0].segments, [[(0.5, 5.0), (1.5, 5.0)]]);
    }

    #[test]
    fn a_curve_counts_what_the_table_counts() {
        let mut slice = slice("a", 2.0, &[100, 300]);
        let work = slice.work.as_mut().unwrap();
        (work.reads, work.others) = (2800, 800);
        let op = |name: &str, completed: [u64; 2], service_us_max| OpReport {
            name: name.into(),
            count: completed.iter().sum(),
            series: completed
                .map(|completed| OpInterval { completed, service_us_max, ..Default::default() })
                .to_vec(),
            ..OpReport::default()
        };
        work.ops = vec![op("query", [70, 230], 1000), op("insert", [30, 70], 9000)];
        let rates = |facts: PhaseFacts| {
            let curves = throughput_curves([&slice], &|_| facts.clone());
            curves[0].segments[0].iter().map(|point| point.1).collect::<Vec<_>>()
        };
        let statements = PhaseFacts { counts: Counts::Statements, ..PhaseFacts::default() };
        assert_eq!(rates(statements), [900.0, 2700.0]);
        let roles = RoleFacts { lead: vec!["query".into()], ..RoleFacts::default() };
        let queries = PhaseFacts { roles: Some(roles), ..PhaseFacts::default() };
        assert_eq!(rates(queries.clone()), [70.0, 230.0]);
        let stalls = stall_curves([&slice], &|_| queries.clone());
        assert_eq!(stalls[0].segments[0], [(0.5, 1.0), (1.5, 1.0)]);
    }

    #[test]
    fn latencies_of_shares() {
        let counts = |counts: &[(u64, u64)]| LatencyCounts {
            wall_start_ms: 0,
            operation: "a".into(),
            time: LatencyTime::Service,
            counts: counts.to_vec(),
        };
        assert_eq!(latency_points(&[]), []);
        assert_eq!(latency_points(&[counts(&[(7000, 1)])]), [(0.0, 7.0)]);
        // 900 of 1000 take 1 us, 90 take 2 us, 10 take 50 us: the 90th percentile is 1 us.
        let both = [counts(&[(1000, 900), (2000, 45)]), counts(&[(2000, 45), (50_000, 10)])];
        let points = latency_points(&both);
        let at = |nines: f64| {
            points.iter().find(|(x, _)| (x - nines).abs() < 1e-9).map(|(_, latency)| *latency)
        };
        assert_eq!([at(0.0), at(0.3), at(1.0), at(1.1)], [1.0, 1.0, 1.0, 2.0].map(Some));
        assert_eq!([at(2.0), at(2.1), at(3.0)], [2.0, 50.0, 50.0].map(Some));
        assert_eq!(points.last(), Some(&(3.0, 50.0)));
    }

    #[test]
    fn memory_keeps_its_peaks() {
        let row = |time_us: u64, scope, value: f64| SeriesRow {
            time_us,
            scope,
            counter: "rss_kib".into(),
            value,
        };
        let few = [row(5_000_000, Scope::Client, 9e9), row(6_000_000, Scope::Server, 2048.0)];
        assert_eq!(memory_points(&few, "rss_kib"), [(1.0, 2.0)]);
        assert_eq!(memory_points(&few[..1], "rss_kib"), [(0.0, 9e9 / 1024.0)]);
        assert_eq!(memory_points(&few, "vsz_kib"), []);
        let many: Vec<_> = (0..1000)
            .map(|n| row(n * 1_000_000, Scope::Server, if n == 777 { 4096.0 } else { 1024.0 }))
            .collect();
        let points = memory_points(&many, "rss_kib");
        assert!(points.len() <= MEMORY_POINTS);
        assert_eq!(points.iter().map(|point| point.1).fold(0.0, f64::max), 4.0);
    }
}
