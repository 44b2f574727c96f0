//! From the counters of all connections to the report of a stretch.

use crate::Error;
use crate::program::{Part, Roles};
use crate::recorder::{Histogram, Latencies, Tally, percentiles};
use crate::worker::Start;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use model::drive::{ClientShare, ErrorCount, OpReport, Percentiles, StretchReport};
use std::sync::atomic::Ordering;

/// The report of a stretch; `tallies` are those of its connections in order.
///
/// # Errors
/// A histogram that cannot be serialized, which its fixed bounds exclude.
pub(crate) fn report(
    roles: &Roles,
    start: &Start,
    tallies: &[Box<Tally>],
) -> Result<StretchReport, Error> {
    let start_ns = start.start_ns.load(Ordering::Acquire);
    let (mut all, mut open): (Option<Tally>, bool) = (None, false);
    let (mut ops, mut all_latencies) = (Vec::new(), Vec::new());
    for (index, part) in roles.parts.iter().enumerate() {
        let Some(merged) = merged(index, start, tallies) else { continue };
        merged.check();
        let latencies = start.peers.latencies(index);
        let first = ops.len();
        for op in (0..part.program.ops.len()).filter(|op| part.program.weight_of(*op) > 0) {
            ops.push(op_report(part, op, &merged, &latencies)?);
        }
        let recorded: u64 = ops.iter().skip(first).map(|op: &OpReport| op.count).sum();
        assert_eq!(recorded, merged.succeeded, "every success is in one histogram");
        open |= !latencies.response.is_empty();
        all_latencies.push(latencies);
        match &mut all {
            Some(all) => all.add(&merged),
            None => all = Some(merged),
        }
    }
    let Some(all) = all else {
        return Ok(StretchReport { start_ns, end_ns: start_ns, ..StretchReport::default() });
    };
    all.check();
    let (service_us, response_us) = match ops.as_slice() {
        // Percentiles of many buckets are millions of instructions, which are in the client's cost.
        [only] => (only.service_us, only.response_us),
        _ => {
            let service_us = together(all_latencies.iter().map(|one| &one.service[..]))?;
            let response_us = match open {
                true => together(all_latencies.iter().map(Latencies::responses))?,
                false => service_us,
            };
            (service_us, response_us)
        }
    };
    Ok(StretchReport {
        start_ns,
        end_ns: all.end_ns.max(start_ns),
        scheduled: all.scheduled,
        succeeded: all.succeeded,
        failed: all.failed,
        dropped: all.dropped,
        late: all.late,
        lag_us_max: all.lag_ns_max / 1000,
        retries: all.retries,
        reads: all.reads,
        writes: all.writes,
        others: all.others,
        rows_read: all.rows_read,
        rows_changed: all.rows_changed,
        unexpected: all.unexpected,
        errors: all.errors,
        lost: lost(tallies),
        ops,
        service_us,
        response_us,
        series: all.recorder.series.intervals(),
        shares: tallies.iter().map(|tally| share(tally)).collect(),
        drawn: all.drawn,
        neighbors: all.neighbors,
    })
}

/// How many connections were lost, and why the first one was.
fn lost(tallies: &[Box<Tally>]) -> Option<ErrorCount> {
    let mut lost = tallies.iter().filter_map(|tally| tally.lost.as_ref());
    let first = lost.next()?;
    let (code, message) = (first.code().to_owned(), first.message().to_owned());
    Some(ErrorCount { code, message, count: 1 + lost.count() as u64 })
}

/// What one connection did.
fn share(tally: &Tally) -> ClientShare {
    ClientShare { succeeded: tally.succeeded, service_seconds: tally.service_ns as f64 / 1e9 }
}

/// The connections of one role together; `None` if there are none.
fn merged(part: usize, start: &Start, tallies: &[Box<Tally>]) -> Option<Tally> {
    let mut of_the_part = (0..)
        .zip(tallies)
        .filter(|(index, _)| start.peers.peer(*index).is_some_and(|peer| peer.part == part))
        .map(|(_, tally)| tally);
    let mut all = of_the_part.next()?.as_ref().clone();
    of_the_part.for_each(|tally| all.merge(tally));
    Some(all)
}

fn op_report(
    part: &Part,
    index: usize,
    all: &Tally,
    latencies: &Latencies,
) -> Result<OpReport, Error> {
    let program = &part.program;
    let mut report = OpReport { role: program.role.clone(), ..OpReport::default() };
    if let Some(op) = program.ops.get(index) {
        report.name.clone_from(&op.name);
        let weight = program.weight_of(index);
        if let Some(per_second) = part.arrival.per_second() {
            report.intended_per_second = per_second * weight as f64 / program.weight_total as f64;
        }
    }
    match all.recorder.details.get(index) {
        Some(detail) => {
            report.rolled_back = detail.rolled_back;
            report.unfinished = detail.unfinished;
            report.rows_read = detail.rows_read;
            report.rows_changed = detail.rows_changed;
            report.late = detail.late;
            report.lag_us_max = detail.lag_ns_max / 1000;
            report.series = detail.series.intervals();
        }
        // The only operation of a closed loop: the totals are its own.
        None => {
            report.rolled_back = all.rolled_back;
            report.unfinished = all.unfinished;
            report.rows_read = all.rows_read;
            report.rows_changed = all.rows_changed;
        }
    }
    let Some(service) = latencies.service.get(index) else { return Ok(report) };
    let service = hdr(service)?;
    let response = latencies.response.get(index).map(hdr).transpose()?;
    report.count = service.len();
    report.service_us = percentiles(&service);
    report.response_us = response.as_ref().map_or(report.service_us, percentiles);
    report.service = encode(&service)?;
    report.response = response.as_ref().map(encode).transpose()?.unwrap_or_default();
    Ok(report)
}

/// Percentiles over all operations of all roles; zeros if nothing is recorded.
fn together<'a>(roles: impl Iterator<Item = &'a [Histogram]>) -> Result<Percentiles, Error> {
    let mut all = Histogram::new();
    roles.flatten().for_each(|histogram| all.merge(histogram));
    Ok(percentiles(&hdr(&all)?))
}

fn hdr(histogram: &Histogram) -> Result<hdrhistogram::Histogram<u64>, Error> {
    histogram.to_hdr().map_err(|error| Error::Histogram(error.to_string()))
}

/// HDR histogram V2, deflated, in base64.
fn encode(histogram: &hdrhistogram::Histogram<u64>) -> Result<String, Error> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(|error| Error::Histogram(error.to_string()))?;
    Ok(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::{Intervals, Recorder, Series, Timeline};
    use crate::wire::{Failure, FailureKind};
    use std::sync::Arc;

    fn empty() -> Tally {
        let latencies = Arc::new(Latencies::new(1, 0));
        let series = Series::new(Timeline::default(), 1000);
        Tally::new(Recorder::new(latencies, Intervals::Common, series))
    }

    #[test]
    fn the_error_of_what_failed_comes_before_those_of_what_was_repeated() {
        let (mut repeated, mut failed) = (empty(), empty());
        let error = |kind, code: &str| Failure::new(kind, code, "said");
        repeated.error(&error(FailureKind::Retry, "1213"));
        failed.error(&error(FailureKind::Retry, "1205"));
        failed.failed_by(&error(FailureKind::Statement, "1114"));
        let together = |one: &Tally, other: &Tally| {
            let mut all = one.clone();
            all.merge(other);
            assert_eq!(all.failed, 1);
            all.errors.into_iter().map(|error| error.code).collect::<Vec<_>>()
        };
        assert_eq!(together(&repeated, &failed), ["1114", "1213", "1205"]);
        assert_eq!(together(&failed, &repeated), ["1114", "1205", "1213"]);
    }

    #[test]
    fn a_lost_connection_is_counted_whatever_its_code_is() {
        let tally = |kind: FailureKind| {
            let mut tally = empty();
            tally.error(&Failure::new(kind, "57P01", "terminating connection"));
            Box::new(tally)
        };
        let [refused, gone] = [FailureKind::Statement, FailureKind::Lost];
        assert_eq!(lost(&[tally(refused)]), None);
        let found = lost(&[tally(refused), tally(gone), tally(gone)]).unwrap();
        assert_eq!((found.code.as_str(), found.count), ("57P01", 2));
        assert_eq!(found.message, "terminating connection");
    }
}
