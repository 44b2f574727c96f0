//! Latency histograms of one slice as lines of an HDR interval log, one tag per operation.

use base64::Engine;
use hdrhistogram::{
    Histogram,
    serialization::{Deserializer, V2DeflateSerializer, interval_log},
};
use model::{
    reading::{LatencyCounts, LatencyTime},
    record::SliceRecord,
};
use std::{io::Read, time::Duration};

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
        move_out(&mut op.response, format!("{name}{RESPONSE}"));
    }
    if lines.is_empty() {
        return lines;
    }
    let comment: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut bytes = format!("#{comment}\n").into_bytes();
    bytes.extend(lines);
    bytes
}

/// Ending of the tag of response times.
const RESPONSE: &str = "@response";

/// The histograms of a log, and how many lines had to be left out.
///
/// Each line is read for itself, so that a damaged one costs nothing but itself.
pub(crate) fn read(log: &[u8]) -> (Vec<LatencyCounts>, usize) {
    let mut found = Vec::new();
    let mut damaged = 0;
    for line in log.split_inclusive(|byte| *byte == b'\n') {
        for entry in interval_log::IntervalLogIterator::new(line) {
            match entry {
                Ok(interval_log::LogEntry::Interval(interval)) => match counts(&interval) {
                    Some(counts) => found.push(counts),
                    None => damaged += 1,
                },
                Ok(_) => {}
                Err(_) => {
                    damaged += 1;
                    break;
                }
            }
        }
    }
    (found, damaged)
}

fn counts(interval: &interval_log::IntervalLogHistogram<'_>) -> Option<LatencyCounts> {
    let histogram = decode(interval.encoded_histogram())?;
    let tag = interval.tag()?.as_str().to_owned();
    let (operation, time) = match tag.strip_suffix(RESPONSE) {
        Some(operation) => (operation.to_owned(), LatencyTime::Response),
        None => (tag, LatencyTime::Service),
    };
    let counts = histogram
        .iter_recorded()
        .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()));
    let wall_start_ms = u64::try_from(interval.start_timestamp().as_millis()).ok()?;
    Some(LatencyCounts { wall_start_ms, operation, time, counts: counts.collect() })
}

fn decode(blob: &str) -> Option<Histogram<u64>> {
    if blob.is_empty() {
        return None;
    }
    let bytes = base64::engine::general_purpose::STANDARD.decode(blob).ok()?;
    if declared_bytes(&bytes)? > MOST_BYTES {
        return None;
    }
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

/// Three digits of every 64-bit latency, with the largest counts, take less than a quarter of it.
const MOST_BYTES: u32 = 4 << 20;

/// How many bytes of counts a compressed histogram says that it holds: the decoder makes room for
/// as many before it reads one. Both heads are a magic number and a length, big endian.
fn declared_bytes(compressed: &[u8]) -> Option<u32> {
    let mut head = [0; 8];
    flate2::read::ZlibDecoder::new(compressed.get(head.len()..)?).read_exact(&mut head).ok()?;
    let [_, _, _, _, length @ ..] = head;
    Some(u32::from_be_bytes(length))
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

/// The name by which the log of latencies knows an operation: the characters that its format
/// forbids become `_`.
pub fn tag(name: &str) -> String {
    let plain = |c: char| if c == ',' || c == ' ' || c.is_control() { '_' } else { c };
    name.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Serializer;
    use model::drive::{OpReport, StretchReport};
    use std::io::Write;

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

        let (read, damaged) = read(&log);
        assert_eq!((read.len(), damaged), (1, 0));
        assert_eq!(read[0].wall_start_ms, 1_700_000_000_000);
        assert_eq!(
            (read[0].operation.as_str(), read[0].time),
            ("select__point", LatencyTime::Service)
        );
        assert_eq!(read[0].counts, [(1000, 1), (2000, 1), (3001, 1)].map(|(v, n)| (v, n)));
    }

    #[test]
    fn damaged_lines_of_a_log_cost_nothing_but_themselves() {
        let mut slice = crate::reader::tests::slice("point", 0);
        let op = OpReport { name: "a".into(), service: blob(&[5000]), ..OpReport::default() };
        slice.work = Some(StretchReport { ops: vec![op], ..StretchReport::default() });
        let line = extract(&mut slice);
        let cut = &line[..line.len() - 40];
        let check = |log: Vec<u8>, expected: (usize, usize)| {
            let (found, damaged) = read(&log);
            assert_eq!((found.len(), damaged), expected);
        };
        check(Vec::new(), (0, 0));
        check(LEGEND.as_bytes().to_vec(), (0, 0));
        check([cut, b"\n", &line].concat(), (1, 1));
        check([&line, cut].concat(), (1, 1));
        check([b"\xff\x00,,,\nTag=x,1,2,3,HISTFAAAnonsense\n", line.as_slice()].concat(), (1, 2));
        check(vec![b'A'; 200_000], (0, 1));
    }

    #[test]
    fn no_room_is_made_for_counts_that_are_not_there() {
        let compressed = |declared: u32| {
            let mut head = [0x1c84_9313_u32, declared, 0, 3].map(u32::to_be_bytes).concat();
            head.extend([1, u64::MAX].map(u64::to_be_bytes).concat());
            head.extend(1_f64.to_be_bytes());
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Default::default());
            zlib.write_all(&head).unwrap();
            let zlib = zlib.finish().unwrap();
            let outer = [0x1c84_9314_u32, zlib.len() as u32].map(u32::to_be_bytes).concat();
            [outer, zlib].concat()
        };
        let read = |declared| {
            decode(&base64::engine::general_purpose::STANDARD.encode(compressed(declared)))
        };
        assert_eq!(declared_bytes(&compressed(u32::MAX)), Some(u32::MAX));
        assert!(read(u32::MAX).is_none() && read(MOST_BYTES + 1).is_none());
        assert!(read(0).is_some_and(|empty| empty.is_empty()));
        assert_eq!(declared_bytes(&[0; 8]), None);
    }
}
