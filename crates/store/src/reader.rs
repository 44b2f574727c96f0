//! Reads records; whatever is wrong with one becomes a sentence, not a failure.

use crate::{Error, Result, histograms, layout, marker, marker::Marker, series, sums};
use model::{
    environment::Environment,
    imported::ImportedValue,
    reading::{LatencyCounts, SeriesRow},
    record::{CHECKSUMMED_FORMAT, Event, SliceRecord, TrialHeader},
};
use serde::de::DeserializeOwned;
use std::path::{Component, Path, PathBuf};

/// What one record holds: slices, or imported values.
#[derive(Debug)]
pub(crate) struct Content<T> {
    pub(crate) lines: Vec<T>,
    /// What had to be left out.
    pub(crate) warnings: Vec<String>,
}

/// A kind of content: the file, and what a line is.
struct Kind {
    file: &'static str,
    line: &'static str,
}

/// Folders of the records that count, oldest first.
pub(crate) fn record_folders(results: &Path) -> Result<Vec<PathBuf>> {
    let mut dirs = layout::folders(&results.join(layout::RECORDS))?;
    dirs.retain(|dir| !layout::stem(dir).starts_with(layout::ABORTED));
    Ok(dirs)
}

/// The head of a record. Fails for one that was changed, and for the copy of another.
pub(crate) fn header(dir: &Path) -> Result<TrialHeader> {
    let path = dir.join(layout::TRIAL);
    if !path.exists() {
        let reason = "there is no such file, so the record is not whole".to_owned();
        return Err(Error::Malformed { path, reason });
    }
    let format: layout::Format = layout::from_toml(&path, &sums::read(&path)?)?;
    layout::check_format(&path, &format)?;
    let bytes = match marker::read(dir)? {
        None => sums::read(&path)?,
        Some(Marker { sums: Some(sums), .. }) => sums.read(dir, layout::TRIAL)?,
        Some(_) if format.format < CHECKSUMMED_FORMAT => sums::read(&path)?,
        Some(_) => return Err(Error::Changed { path: dir.join(layout::COMPLETE) }),
    };
    let header: TrialHeader = layout::from_toml(&path, &bytes)?;
    if header.trial != layout::stem(dir) {
        let reason = format!("it is a copy of record `{}`", header.trial);
        return Err(Error::Malformed { path, reason });
    }
    Ok(header)
}

/// The host during the trial of a record.
pub(crate) fn environment(dir: &Path) -> Result<Environment> {
    layout::from_toml(&dir.join(layout::ENVIRONMENT), &file(dir, layout::ENVIRONMENT)?)
}

/// Fails if that file of a complete record was changed.
pub(crate) fn check_environment(dir: &Path) -> Result<()> {
    match marker::read(dir)?.and_then(|marker| marker.sums) {
        Some(sums) => sums.read(dir, layout::ENVIRONMENT).map(drop),
        None => Ok(()),
    }
}

/// Whether a record is complete, and every file of it what was recorded.
pub(crate) fn is_whole(dir: &Path) -> bool {
    match marker::read(dir) {
        Ok(Some(Marker { sums: Some(sums), .. })) => sums.check(dir).is_ok(),
        Ok(Some(_)) => true,
        Ok(None) | Err(_) => false,
    }
}

/// The bytes of a file of a record, which are those that were recorded.
fn file(dir: &Path, name: &str) -> Result<Vec<u8>> {
    match marker::read(dir)? {
        Some(Marker { sums: Some(sums), .. }) => sums.read(dir, name),
        Some(_) | None => sums::read(&dir.join(name)),
    }
}

/// A file that an instrument left, which is what was recorded. Its name is one of the record's own.
pub(crate) fn artefact(dir: &Path, name: &str) -> Result<Vec<u8>> {
    let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_inside || !name.starts_with(layout::ARTEFACTS) {
        return Err(Error::Name { name: name.to_owned() });
    }
    file(dir, name)
}

/// The slices of a record. Fails only if the file cannot be read at all.
pub(crate) fn slices(dir: &Path) -> Result<Content<SliceRecord>> {
    content(dir, &Kind { file: layout::SLICES, line: "slice" })
}

/// The imported values of a record; `None` if it is one of a trial.
pub(crate) fn imported(dir: &Path) -> Result<Option<Content<ImportedValue>>> {
    if !dir.join(layout::IMPORTED).exists() {
        return Ok(None);
    }
    let mut found = content::<ImportedValue>(dir, &Kind { file: layout::IMPORTED, line: "value" })?;
    // Format 1 gave switches of a whole host the name of those of a server.
    if marker::read(dir)?.is_some_and(|marker| marker.sums.is_none()) {
        for value in &mut found.lines {
            let metric = &mut value.measurement.metric;
            if metric.starts_with("context_switches_") {
                *metric = format!("host_{metric}").into();
            }
        }
    }
    Ok(Some(found))
}

fn content<T: DeserializeOwned>(dir: &Path, kind: &Kind) -> Result<Content<T>> {
    let bytes = file(dir, kind.file)?;
    let mut found = Content { lines: Vec::new(), warnings: Vec::new() };
    let trial = layout::stem(dir);
    let mut lines = bytes.split(|byte| *byte == b'\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<T>(line) {
            Ok(value) => found.lines.push(value),
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
    match marker::read(dir)?.map(|marker| marker.count) {
        None => found.warnings.push(format!(
            "record `{trial}` is not complete, because its trial still runs or was cut short: its \
             slices so far are used, and no checksum protects them yet"
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
    let bytes = file(dir, layout::EVENTS)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// The raw readings over time of a record, and how many lines had to be left out; none without
/// their file.
pub(crate) fn series(dir: &Path) -> Result<(Vec<SeriesRow>, usize)> {
    Ok(series::read(&whole(dir, layout::SERIES)?))
}

/// The latencies of a record's slices, and how many lines had to be left out; none without their
/// file.
pub(crate) fn latencies(dir: &Path) -> Result<(Vec<LatencyCounts>, usize)> {
    Ok(histograms::read(&whole(dir, layout::HISTOGRAMS)?))
}

/// The bytes of a file that a record need not have.
fn whole(dir: &Path, name: &str) -> Result<Vec<u8>> {
    let recorded = marker::read(dir)?.and_then(|marker| marker.sums);
    match dir.join(name).exists() || recorded.is_some_and(|sums| sums.holds(name)) {
        true => file(dir, name),
        false => Ok(Vec::new()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fs_err as fs;

    /// A slice with nothing remarkable in it.
    pub(crate) fn slice(phase: &str, round: u32) -> SliceRecord {
        SliceRecord {
            subject: "sqlite-3.50.4".into(),
            phase: phase.into(),
            workload: phase.into(),
            group: "point".into(),
            clients: 1,
            round,
            seed: u64::MAX,
            wall_start_us: 1_700_000_000_000_000,
            ..SliceRecord::default()
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
        check(&with(&[&line, b"\n"]), Some("slices = 2\n"), 1, &["should hold 2"]);
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
