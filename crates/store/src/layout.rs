//! Where things lie in a results folder, and how files get there safely.

use crate::{Error, Result};
use fs_err as fs;
use model::record::RECORD_FORMAT;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{
    io::{ErrorKind, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

pub(crate) const RUNS: &str = "runs";
pub(crate) const RECORDS: &str = "records";
pub(crate) const INDEX: &str = "index.sqlite";

pub(crate) const RUN: &str = "run.json";
pub(crate) const PLAN: &str = "plan.json";
pub(crate) const IMPORT: &str = "import.json";
pub(crate) const EXPERIMENT: &str = "experiment.toml";
pub(crate) const STATE: &str = "state.json";
pub(crate) const LOCK: &str = "lock";
pub(crate) const SUMS: &str = "sha256";
pub(crate) const FINISHED: &str = "finished";

pub(crate) const TRIAL: &str = "trial.toml";
pub(crate) const ENVIRONMENT: &str = "environment.toml";
pub(crate) const EVENTS: &str = "events.jsonl";
pub(crate) const SLICES: &str = "slices.jsonl";
pub(crate) const IMPORTED: &str = "imported.jsonl";
pub(crate) const HISTOGRAMS: &str = "ops.hlog";
pub(crate) const SERIES: &str = "series.csv";
pub(crate) const LOGS: &str = "logs";
pub(crate) const ARTEFACTS: &str = "artefacts";
pub(crate) const COMPLETE: &str = "complete";

/// Prefix of records that a resumed run set aside.
pub(crate) const ABORTED: &str = "aborted-";

/// Ending of a file that is about to take the place of another one.
pub(crate) const NEW: &str = ".new";

/// Creates `path` with rights for its owner alone; its parent must exist.
pub(crate) fn create_private(path: &Path) -> std::io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// Whether there is a folder at `path`; fails where that cannot be seen.
pub(crate) fn is_folder(path: &Path) -> std::io::Result<bool> {
    match fs::metadata(path) {
        Ok(found) => Ok(found.is_dir()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// [`create_private`] unless `path` exists.
pub(crate) fn ensure_private(path: &Path) -> std::io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    match create_private(path) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        created => created,
    }
}

/// Writes `path` so that a crash leaves the old content or the new, never a part of it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_beside(path, bytes)?;
    put_in_place(path)
}

/// Where a file lies that is about to take the place of `path`.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(NEW);
    path.with_file_name(name)
}

/// A new file that is to take the place of another: through no link that somebody else has put
/// there, and instead of what a killed process left.
pub fn new_file(path: &Path) -> std::io::Result<fs::File> {
    let _ = fs::remove_file(path);
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

/// Writes what is to take the place of `path` beside it, durably. Where that fails, as on a full
/// disk, nothing is left.
pub(crate) fn write_beside(path: &Path, bytes: &[u8]) -> Result<()> {
    let beside = beside(path);
    let written = new_file(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        error.into()
    })
}

/// Moves what was written beside `path` into its place.
pub(crate) fn put_in_place(path: &Path) -> Result<()> {
    fs::rename(beside(path), path)?;
    sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<()> {
    Ok(fs::File::open(path)?.sync_all()?)
}

/// The bytes of a JSON file.
pub(crate) fn json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| malformed(path, &error))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// [`write_whole`] with TOML.
pub(crate) fn write_toml(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = toml::to_string(value).map_err(|error| malformed(path, &error))?;
    write_whole(path, text.as_bytes())
}

/// The value of a JSON file with these bytes.
pub(crate) fn from_json<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(|error| malformed(path, &error))
}

/// The value of a TOML file with these bytes.
pub(crate) fn from_toml<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T> {
    let text = String::from_utf8_lossy(bytes);
    // The message alone: the rendered excerpt has several lines.
    toml::from_str(&text).map_err(|error: toml::de::Error| malformed(path, &error.message()))
}

/// Refuses what a newer dbdyno wrote, before its unknown fields are looked at.
pub(crate) fn check_format(path: &Path, value: &Format) -> Result<()> {
    if value.format > RECORD_FORMAT {
        let path = path.to_owned();
        return Err(Error::Newer { path, found: value.format, known: RECORD_FORMAT });
    }
    Ok(())
}

/// What every file with a version has, whatever else is in it.
#[derive(Deserialize)]
pub(crate) struct Format {
    pub(crate) format: u32,
}

/// [`Error::Malformed`] with the reason on one line.
pub(crate) fn malformed(path: &Path, reason: &dyn std::fmt::Display) -> Error {
    let reason = reason.to_string().replace('\n', " ");
    Error::Malformed { path: path.to_owned(), reason }
}

/// Sub-folders of `path` in the order of their names.
pub(crate) fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Last part of a path as text.
pub(crate) fn stem(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
