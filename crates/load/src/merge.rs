//! From the counters of all connections to the report of a stretch.

use crate::Error;
use crate::program::Program;
use crate::recorder::{Histogram, percentiles};
use crate::worker::Tally;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use model::drive::{OpReport, Percentiles, StretchReport};

/// The report of a stretch that began at `start_ns`.
///
/// # Errors
/// A histogram that cannot be serialized, which its fixed bounds exclude.
pub(crate) fn report(
    program: &Program,
    start_ns: u64,
    tallies: &[Box<Tally>],
) -> Result<StretchReport, Error> {
    let mut tallies = tallies.iter();
    let Some(first) = tallies.next() else {
        return Ok(StretchReport { start_ns, end_ns: start_ns, ..StretchReport::default() });
    };
    let mut all = first.as_ref().clone();
    tallies.for_each(|tally| all.merge(tally));
    all.check();
    let mut ops = Vec::with_capacity(program.ops.len());
    for (index, op) in program.ops.iter().enumerate() {
        let service = all.recorder.service.get(index);
        ops.push(op_report(&op.name, service, all.recorder.response.get(index))?);
    }
    let recorded: u64 = ops.iter().map(|op| op.count).sum();
    assert_eq!(recorded, all.succeeded, "every success is in one histogram");
    let service_us = together(&all.recorder.service)?.unwrap_or_default();
    let response_us = together(&all.recorder.response)?.unwrap_or(service_us);
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
        ops,
        service_us,
        response_us,
        series: all.recorder.series.intervals().to_vec(),
    })
}

fn op_report(
    name: &str,
    service: Option<&Histogram>,
    response: Option<&Histogram>,
) -> Result<OpReport, Error> {
    let Some(service) = service else {
        return Ok(OpReport { name: name.to_owned(), ..OpReport::default() });
    };
    let service = hdr(service)?;
    let response = response.map(hdr).transpose()?;
    let service_us = percentiles(&service);
    Ok(OpReport {
        name: name.to_owned(),
        count: service.len(),
        response_us: response.as_ref().map_or(service_us, percentiles),
        response: response.as_ref().map(encode).transpose()?.unwrap_or_default(),
        service: encode(&service)?,
        service_us,
    })
}

/// Percentiles over all operations; `None` if nothing of the kind is recorded.
fn together(histograms: &[Histogram]) -> Result<Option<Percentiles>, Error> {
    let Some((first, others)) = histograms.split_first() else { return Ok(None) };
    let mut all = first.clone();
    others.iter().for_each(|other| all.merge(other));
    Ok(Some(percentiles(&hdr(&all)?)))
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
