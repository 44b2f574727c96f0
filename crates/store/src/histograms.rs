//! Latency histograms of one slice as lines of an HDR interval log, one tag per operation.

use base64::Engine;
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, V2DeflateSerializer, interval_log},
};
use model::record::SliceRecord;
use std::time::Duration;

/// First line of a log: what the standard leaves open.
pub(crate) const LEGEND: &str =
    "#dbdyno interval log: seconds since 1970, nanoseconds; tags: operation, operation@response\n";

/// Moves the histograms of `slice` into lines of an interval log.
///
/// Histograms that cannot be decoded stay in the slice, so that nothing is lost silently.
pub(crate) fn extract(slice: &mut SliceRecord) -> Vec<u8> {
    let start = Duration::from_micros(slice.wall_start_us);
    let title = format!("{} block {} round {}", slice.phase, slice.block, slice.round);
    let Some(work) = &mut slice.work else { return Vec::new() };
    let span = Duration::from_nanos(work.end_ns.saturating_sub(work.start_ns));
    let mut lines = Vec::new();
    for op in &mut work.ops {
        let name = tag(&op.name);
        let mut move_out = |blob: &mut String, tag: String| {
            if let Some(line) = decode(blob).and_then(|h| line(&h, &tag, (start, span))) {
                lines.extend(line);
                blob.clear();
            }
        };
        move_out(&mut op.service, name.clone());
        move_out(&mut op.response, format!("{name}@response"));
    }
    if lines.is_empty() {
        return lines;
    }
    let comment: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut bytes = format!("#{comment}\n").into_bytes();
    bytes.extend(lines);
    bytes
}

fn decode(blob: &str) -> Option<Histogram<u64>> {
    if blob.is_empty() {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(blob).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

fn line(h: &Histogram<u64>, tag: &str, (at, span): (Duration, Duration)) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    interval_log::IntervalLogWriterBuilder::new()
        .begin_log_with(&mut bytes, &mut serializer)
        .ok()?
        .write_histogram(h, at, span, Some(interval_log::Tag::new(tag)?))
        .ok()?;
    Some(bytes)
}

/// The characters that the log format forbids in a tag become `_`.
fn tag(name: &str) -> String {
    let plain = |c: char| if c == ',' || c == ' ' || c.is_control() { '_' } else { c };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Serializer;
    use model::drive::{OpReport, StretchReport};

    fn blob(values: &[u64]) -> String {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        values.iter().for_each(|value| histogram.record(*value).unwrap());
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&histogram, &mut bytes).unwrap();
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    #[test]
    fn histograms_move_into_the_log_and_can_be_read_back() {
        let mut slice = crate::reader::tests::slice("point", 0);
        let op = OpReport {
            name: "select, point".into(),
            service: blob(&[1000, 2000, 3000]),
            response: "garbage".into(),
            ..OpReport::default()
        };
        slice.work = Some(StretchReport { ops: vec![op], ..StretchReport::default() });
        let log = extract(&mut slice);
        let op = &slice.work.as_ref().unwrap().ops[0];
        assert_eq!((op.service.as_str(), op.response.as_str()), ("", "garbage"));

        let mut found = Vec::new();
        for entry in interval_log::IntervalLogIterator::new(&log) {
            if let interval_log::LogEntry::Interval(interval) = entry.unwrap() {
                let histogram = decode(interval.encoded_histogram()).unwrap();
                found.push((interval.tag().unwrap().as_str().to_owned(), histogram.len()));
            }
        }
        assert_eq!(found, [("select__point".to_owned(), 3)]);
    }
}
