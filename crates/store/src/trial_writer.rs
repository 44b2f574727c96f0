//! Writes one record.

use crate::{Error, Result, histograms, layout, marker};
use fs_err as fs;
use model::{
    environment::Environment,
    reading::SeriesRow,
    record::{Event, SliceRecord, TrialHeader},
};
use serde::Serialize;
use std::{
    fmt::Write as _,
    io::Write,
    path::{Path, PathBuf},
};

/// The record of a trial that is going on. Dropped without [`TrialWriter::finish`], it stays
/// incomplete.
#[derive(Debug)]
pub struct TrialWriter {
    id: String,
    dir: PathBuf,
    events: fs::File,
    slices: fs::File,
    histograms: fs::File,
    series: fs::File,
    count: u64,
    artefacts: u64,
}

impl TrialWriter {
    /// Begins the record in `dir`, which must exist and be empty; `header` must be complete.
    pub(crate) fn begin(
        dir: PathBuf,
        header: &TrialHeader,
        environment: &Environment,
    ) -> Result<Self> {
        layout::create_private(&dir.join(layout::LOGS))?;
        layout::write_toml(&dir.join(layout::ENVIRONMENT), environment)?;
        let append =
            |name| fs::OpenOptions::new().append(true).create_new(true).open(dir.join(name));
        let mut histograms = append(layout::HISTOGRAMS)?;
        histograms.write_all(histograms::LEGEND.as_bytes())?;
        let mut series = append(layout::SERIES)?;
        series.write_all(b"time_us,scope,counter,value\n")?;
        let events = append(layout::EVENTS)?;
        let slices = append(layout::SLICES)?;
        // The header comes last: a folder without it is a record that never began.
        layout::write_toml(&dir.join(layout::TRIAL), header)?;
        let id = header.trial.clone();
        Ok(Self { id, dir, events, slices, histograms, series, count: 0, artefacts: 0 })
    }

    /// Identifier of the trial: the name of its folder.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The record's folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends an event.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        append_line(&mut self.events, event)
    }

    /// Appends a slice; its histograms go to the interval log.
    pub fn slice(&mut self, slice: &SliceRecord) -> Result<()> {
        let mut slice = slice.clone();
        let log = histograms::extract(&mut slice);
        self.histograms.write_all(&log)?;
        append_line(&mut self.slices, &slice)?;
        self.count += 1;
        Ok(())
    }

    /// Appends raw readings to the series.
    pub fn series(&mut self, rows: &[SeriesRow]) -> Result<()> {
        let mut text = String::new();
        for row in rows {
            let scope = serde_json::to_value(row.scope).ok();
            let scope = scope.as_ref().and_then(|name| name.as_str()).unwrap_or_default();
            // Counters are names of the probes' tables; a comma in one would shift the columns.
            let counter = row.counter.replace([',', '\n', '\r', '"'], "_");
            let _ = writeln!(text, "{},{scope},{counter},{}", row.time_us, row.value);
        }
        Ok(self.series.write_all(text.as_bytes())?)
    }

    /// Writes `logs/<name>`, replacing a file of that name.
    pub fn file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        check_name(name)?;
        Ok(fs::write(self.dir.join(layout::LOGS).join(name), bytes)?)
    }

    /// Writes a file that an instrument left, numbered, so that no two have one name. Gives its
    /// path in the record's folder, for [`SliceRecord::artefacts`].
    pub fn artefact(&mut self, name: &str, bytes: &[u8]) -> Result<String> {
        check_name(name)?;
        layout::ensure_private(&self.dir.join(layout::ARTEFACTS))?;
        self.artefacts += 1;
        let path = format!("{}/{}-{name}", layout::ARTEFACTS, self.artefacts);
        fs::write(self.dir.join(&path), bytes)?;
        Ok(path)
    }

    /// Makes everything durable, then marks the record as complete.
    pub fn finish(self) -> Result<()> {
        for file in [&self.events, &self.slices, &self.histograms, &self.series] {
            file.sync_all()?;
        }
        for folder in layout::folders(&self.dir)? {
            for entry in fs::read_dir(&folder)? {
                fs::File::open(entry?.path())?.sync_all()?;
            }
            layout::sync_folder(&folder)?;
        }
        layout::sync_folder(&self.dir)?;
        marker::write(&self.dir, "slices", self.count)
    }
}

/// Refuses a name that would leave its folder, or be hidden in it.
fn check_name(name: &str) -> Result<()> {
    let plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0']);
    if plain { Ok(()) } else { Err(Error::Name { name: name.to_owned() }) }
}

/// One write per line, so that a crash leaves at most the last line cut.
fn append_line(file: &mut fs::File, value: &impl Serialize) -> Result<()> {
    let path = file.path().to_owned();
    let mut line = serde_json::to_vec(value).map_err(|error| layout::malformed(&path, &error))?;
    line.push(b'\n');
    Ok(file.write_all(&line)?)
}
