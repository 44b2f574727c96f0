//! Reads records; whatever is wrong with one becomes a sentence, not a failure.

use crate::{Result, histograms, layout, series};
use fs_err as fs;
use model::{
    imported::ImportedValue,
    reading::{LatencyCounts, SeriesRow},
    record::{Event, SliceRecord, TrialHeader},
};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// What one record holds: slices, or imported values.
#[derive(Debug)]
pub(crate) struct Content<T> {
    /// Each with the line it was read from.
    pub(crate) lines: Vec<(String, T)>,
    /// What had to be left out.
    pub(crate) warnings: Vec<String>,
}

/// A kind of content: the file, what a line is, and what the marker of a complete record says.
struct Kind {
    file: &'static str,
    line: &'static str,
    marker: &'static str,
}

/// Folders of the records that count, oldest first.
pub(crate) fn record_folders(results: &Path) -> Result<Vec<PathBuf>> {
    let mut dirs = layout::folders(&results.join(layout::RECORDS))?;
    dirs.retain(|dir| !layout::stem(dir).starts_with(layout::ABORTED));
    Ok(dirs)
}

/// The head of a record.
pub(crate) fn header(dir: &Path) -> Result<TrialHeader> {
    let path = dir.join(layout::TRIAL);
    layout::check_format(&path, &layout::read_toml(&path)?)?;
    layout::read_toml(&path)
}

/// The slices of a record. Fails only if the file cannot be read at all.
pub(crate) fn slices(dir: &Path) -> Result<Content<SliceRecord>> {
    content(dir, &Kind { file: layout::SLICES, line: "slice", marker: "slices = " })
}

/// The imported values of a record; `None` if it is one of a trial.
pub(crate) fn imported(dir: &Path) -> Result<Option<Content<ImportedValue>>> {
    if !dir.join(layout::IMPORTED).exists() {
        return Ok(None);
    }
    content(dir, &Kind { file: layout::IMPORTED, line: "value", marker: "values = " }).map(Some)
}

fn content<T: DeserializeOwned>(dir: &Path, kind: &Kind) -> Result<Content<T>> {
    let bytes = fs::read(dir.join(kind.file))?;
    let mut found = Content { lines: Vec::new(), warnings: Vec::new() };
    let trial = layout::stem(dir);
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<T>(line) {
            Ok(value) => found.lines.push((String::from_utf8_lossy(line).into_owned(), value)),
            // Only the last line has nothing after it, not even a line end.
            Err(_) if lines.peek().is_none() => found.warnings.push(format!(
                "record `{trial}` ends in the middle of a {}, which is left out",
                kind.line
            )),
            Err(error) => found.warnings.push(format!(
                "record `{trial}`: line {} of {} is left out: {error}",
                number + 1,
                kind.file
            )),
        }
    }
    match expected(dir, kind.marker) {
        None => found.warnings.push(format!(
            "record `{trial}` is not complete: its trial is going on or was cut short"
        )),
        Some(count) if count != found.lines.len() => found.warnings.push(format!(
            "record `{trial}` should hold {count} {}s, and {} are readable",
            kind.line,
            found.lines.len()
        )),
        Some(_) => {}
    }
    Ok(found)
}

/// The events of a record.
pub(crate) fn events(dir: &Path) -> Result<Vec<Event>> {
    let bytes = fs::read(dir.join(layout::EVENTS))?;
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The raw readings over time of a record, and how many lines had to be left out; none without
/// their file.
pub(crate) fn series(dir: &Path) -> Result<(Vec<SeriesRow>, usize)> {
    Ok(series::read(&whole(&dir.join(layout::SERIES))?))
}

/// The latencies of a record's slices, and how many lines had to be left out; none without their
/// file.
pub(crate) fn latencies(dir: &Path) -> Result<(Vec<LatencyCounts>, usize)> {
    Ok(histograms::read(&whole(&dir.join(layout::HISTOGRAMS))?))
}

/// The bytes of a file that a record need not have.
fn whole(path: &Path) -> Result<Vec<u8>> {
    if path.exists() { Ok(fs::read(path)?) } else { Ok(Vec::new()) }
}

/// How many lines the marker of a complete record promises; `None` without marker.
fn expected(dir: &Path, marker: &str) -> Option<usize> {
    let text = fs::read_to_string(dir.join(layout::COMPLETE)).ok()?;
    text.trim().strip_prefix(marker)?.parse().ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use model::record::SliceState;

    /// A slice with nothing remarkable in it.
    pub(crate) fn slice(phase: &str, round: u32) -> SliceRecord {
        SliceRecord {
            block: 0,
            subject: "sqlite-3.50.4".into(),
            phase: phase.into(),
            workload: phase.into(),
            group: "point".into(),
            position: 0,
            range: None,
            clients: 1,
            levels: Default::default(),
            round,
            order: 0,
            seed: u64::MAX,
            state: SliceState::Measured,
            reason: None,
            marks: Vec::new(),
            wall_start_us: 1_700_000_000_000_000,
            work: None,
            readings: Vec::new(),
            drained: Vec::new(),
            drain_seconds: 0.0,
        }
    }

    fn read(bytes: &[u8], complete: Option<&str>) -> (usize, Vec<String>) {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(layout::SLICES), bytes).unwrap();
        if let Some(text) = complete {
            fs::write(dir.path().join(layout::COMPLETE), text).unwrap();
        }
        let found = slices(dir.path()).unwrap();
        (found.lines.len(), found.warnings)
    }

    #[test]
    fn garbage_becomes_warnings() {
        let line = serde_json::to_vec(&slice("point", 0)).unwrap();
        let check = |bytes: &[u8], complete: Option<&str>, lines: usize, words: &[&str]| {
            let (found, warnings) = read(bytes, complete);
            assert_eq!((found, warnings.len()), (lines, words.len()), "{warnings:?}");
            for (warning, word) in warnings.iter().zip(words) {
                assert!(warning.contains(word), "{warning}");
            }
        };
        let with = |parts: &[&[u8]]| parts.concat();
        let ok = Some("slices = 1\n");
        check(&with(&[&line, b"\n"]), ok, 1, &[]);
        check(&with(&[&line, b"\n"]), None, 1, &["not complete"]);
        check(&with(&[&line, b"\n"]), Some("slices = 2"), 1, &["should hold 2"]);
        check(&with(&[&line, b"\n", &line[..40]]), ok, 1, &["middle of a slice"]);
        check(&with(&[b"\xff\x00{\n", &line, b"\n"]), ok, 1, &["line 1 of"]);
        check(
            &with(&[b"{}\n[]\nnull\n"]),
            None,
            0,
            &["line 1", "line 2", "line 3", "not complete"],
        );
        check(b"", None, 0, &["not complete"]);
    }
}
