//! Reads `series.csv`: raw readings over time, one per line.

use model::reading::{Scope, SeriesRow};
use serde::{Deserialize, de::value};

/// The readings of a file, and how many lines had to be left out.
///
/// Skips lines that are cut, wrongly encoded or of another format: a trial may have ended in the
/// middle of one.
pub(crate) fn read(file: &[u8]) -> (Vec<SeriesRow>, usize) {
    let lines = file.split(|byte| *byte == b'\n').skip(1).filter(|line| !line.is_empty());
    let mut rows = Vec::new();
    let mut damaged = 0;
    for line in lines {
        match std::str::from_utf8(line).ok().and_then(row) {
            Some(row) => rows.push(row),
            None => damaged += 1,
        }
    }
    (rows, damaged)
}

fn row(line: &str) -> Option<SeriesRow> {
    let mut fields = line.trim_end_matches('\r').split(',');
    let row = SeriesRow {
        time_us: fields.next()?.parse().ok()?,
        scope: scope(fields.next()?)?,
        counter: fields.next()?.to_owned(),
        value: fields.next()?.parse().ok().filter(|value: &f64| value.is_finite())?,
    };
    fields.next().is_none().then_some(row)
}

/// The scope with this name in records.
fn scope(name: &str) -> Option<Scope> {
    let name: value::StrDeserializer<'_, value::Error> = value::StrDeserializer::new(name);
    Scope::deserialize(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &str, expected: (usize, usize)) {
        let (rows, damaged) = read(format!("time_us,scope,counter,value\n{lines}").as_bytes());
        assert_eq!((rows.len(), damaged), expected, "{lines}");
    }

    #[test]
    fn readings_are_read_and_damaged_lines_counted() {
        check("", (0, 0));
        check("5,server,rss_kib,1024.5\n7,device,device_reads,0\n", (2, 0));
        check("5,server,rss_kib,1024\r\n", (1, 0));
        check("5,server,rss_kib,1024\n6,server,rss_ki", (1, 1));
        check("x,server,rss_kib,1\n5,nobody,rss_kib,1\n5,server,rss_kib,NaN\n", (0, 3));
        check("5,server,rss_kib,1,2\n-5,server,rss_kib,1\n,,,\n", (0, 3));
        let (rows, damaged) = read(b"head\n\xff\xfe,server\n9,background,cpu_ns,3e9\n");
        let expected = SeriesRow {
            time_us: 9,
            scope: Scope::Background,
            counter: "cpu_ns".into(),
            value: 3e9,
        };
        assert_eq!((rows, damaged), (vec![expected], 1));
        assert_eq!(read(b""), (Vec::new(), 0));
    }
}
