//! The SQLite index: derived from the records, brought up to date at each reading.

use crate::{
    Error, Result, Results, Selection, Stored, StoredSlice, layout, reader, results::RunInfo,
};
use fs_err as fs;
use model::{imported::ImportedValue, record::SliceRecord};
use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use std::{collections::BTreeSet, os::unix::fs::MetadataExt, path::Path, time::Duration};

/// Grows with each change of the tables; another number in the file means rebuild.
const VERSION: i64 = 2;

const TABLES: &str = "
    CREATE TABLE runs(
        id TEXT PRIMARY KEY, experiment TEXT NOT NULL, plan TEXT NOT NULL,
        started_us INTEGER NOT NULL, finished INTEGER NOT NULL);
    CREATE TABLE trials(
        id TEXT PRIMARY KEY, run TEXT NOT NULL, experiment TEXT NOT NULL,
        block INTEGER NOT NULL, subject TEXT NOT NULL, server_version TEXT NOT NULL,
        stamp TEXT NOT NULL);
    CREATE TABLE slices(
        trial TEXT NOT NULL, line INTEGER NOT NULL, phase TEXT NOT NULL,
        position INTEGER NOT NULL, clients INTEGER NOT NULL, round INTEGER NOT NULL,
        place INTEGER NOT NULL, state TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(trial, line)) WITHOUT ROWID;
    CREATE TABLE imported(
        trial TEXT NOT NULL, line INTEGER NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(trial, line)) WITHOUT ROWID;
    CREATE TABLE warnings(trial TEXT NOT NULL, message TEXT NOT NULL);
    CREATE INDEX warnings_trial ON warnings(trial);
";

/// The selected slices.
pub(crate) fn slices(results: &Path, selection: &Selection) -> Result<Stored> {
    let path = results.join(layout::INDEX);
    let failed =
        |error: rusqlite::Error| Error::Index { path: path.clone(), reason: error.to_string() };
    let attempt = |mut connection: Connection| {
        let warnings = refresh(&mut connection, results)?;
        let mut stored = query(&connection, selection)?;
        stored.warnings.extend(warnings);
        Ok(stored)
    };
    let on_disk = || open(&path).map_err(Problem::Sql).and_then(attempt);
    let mut read = on_disk();
    if let Err(Problem::Sql(error)) = &read
        && is_damaged(error)
        && fs::remove_file(&path).is_ok()
    {
        // A damaged index is worth nothing: everything in it is in the records.
        read = on_disk();
    }
    if let Err(Problem::Sql(_)) = &read {
        // Whatever is wrong with the file (closed, full, locked): the records are enough.
        let memory = Connection::open_in_memory().and_then(prepare);
        read = memory.map_err(Problem::Sql).and_then(attempt);
    }
    read.map_err(|problem| problem.into_error(failed))
}

/// What can go wrong between the records and the index.
enum Problem {
    Sql(rusqlite::Error),
    Store(Error),
}

impl Problem {
    fn into_error(self, sql: impl Fn(rusqlite::Error) -> Error) -> Error {
        match self {
            Self::Sql(error) => sql(error),
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    let damaged = [ErrorCode::NotADatabase, ErrorCode::DatabaseCorrupt, ErrorCode::Unknown];
    error.sqlite_error_code().is_some_and(|code| damaged.contains(&code))
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    // Losing the index in a crash costs a rebuild; waiting for the disk costs at every reading.
    connection.pragma_update(None, "synchronous", "OFF")?;
    prepare(connection)
}

/// Creates the tables, after dropping those of another version.
fn prepare(mut connection: Connection) -> rusqlite::Result<Connection> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version != VERSION {
        for table in ["runs", "trials", "slices", "imported", "warnings"] {
            transaction.execute_batch(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()?;
    Ok(connection)
}

/// Reads what is new or changed in the records, and forgets what is gone. Gives one sentence for
/// each run that cannot be read.
fn refresh(
    connection: &mut Connection,
    results: &Path,
) -> std::result::Result<Vec<String>, Problem> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let (runs, warnings) = Results::open(results)?.readable_runs()?;
    refresh_runs(&transaction, &runs)?;
    let mut gone: BTreeSet<String> = {
        let mut statement = transaction.prepare("SELECT id FROM trials")?;
        statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?
    };
    for dir in reader::record_folders(results)? {
        let id = layout::stem(&dir);
        gone.remove(&id);
        let stamp = stamp(&dir);
        let known: Option<String> = transaction
            .query_row("SELECT stamp FROM trials WHERE id = ?", [&id], |row| row.get(0))
            .optional()?;
        if known.as_deref() != Some(stamp.as_str()) {
            forget(&transaction, &id)?;
            ingest(&transaction, &dir, &stamp)?;
        }
    }
    for id in gone {
        forget(&transaction, &id)?;
    }
    transaction.commit()?;
    Ok(warnings)
}

fn refresh_runs(connection: &Connection, runs: &[RunInfo]) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM runs", [])?;
    let mut insert = connection.prepare("INSERT INTO runs VALUES (?, ?, ?, ?, ?)")?;
    for run in runs {
        let started = i64::try_from(run.started_us).unwrap_or(i64::MAX);
        insert.execute(params![run.id, run.experiment, run.plan, started, run.finished])?;
    }
    Ok(())
}

/// Changes whenever the record may have changed: sizes and times of the files that are read.
fn stamp(dir: &Path) -> String {
    let part = |name| match fs::metadata(dir.join(name)) {
        Ok(meta) => format!("{}@{}.{}", meta.len(), meta.mtime(), meta.mtime_nsec()),
        Err(_) => "-".to_owned(),
    };
    [layout::TRIAL, layout::SLICES, layout::IMPORTED, layout::COMPLETE].map(part).join(" ")
}

fn forget(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    for statement in [
        "DELETE FROM slices WHERE trial = ?",
        "DELETE FROM imported WHERE trial = ?",
        "DELETE FROM warnings WHERE trial = ?",
        "DELETE FROM trials WHERE id = ?",
    ] {
        connection.prepare_cached(statement)?.execute([id])?;
    }
    Ok(())
}

/// Puts one record into the tables; one that cannot be read is there with its warning alone.
fn ingest(connection: &Connection, dir: &Path, stamp: &str) -> rusqlite::Result<()> {
    let id = layout::stem(dir);
    let mut trial = connection.prepare_cached("INSERT INTO trials VALUES (?, ?, ?, ?, ?, ?, ?)")?;
    let mut warn = connection.prepare_cached("INSERT INTO warnings VALUES (?, ?)")?;
    let read = reader::header(dir).and_then(|header| Ok((header, Holding::of(dir)?)));
    let (header, holding) = match read {
        Ok(read) => read,
        Err(error) => {
            trial.execute(params![id, "", "", 0, "", "", stamp])?;
            warn.execute(params![id, format!("record `{id}` is left out: {error}")])?;
            return Ok(());
        }
    };
    let (version, block) = (&header.server_version, header.block);
    let keys = params![id, header.run, header.experiment, block, header.subject, version, stamp];
    trial.execute(keys)?;
    let warnings = match &holding {
        Holding::Imported(values) => &values.warnings,
        Holding::Slices(slices) => &slices.warnings,
    };
    for warning in warnings {
        warn.execute(params![id, warning])?;
    }
    match holding {
        Holding::Imported(values) => ingest_values(connection, &id, &values),
        Holding::Slices(slices) => ingest_slices(connection, &id, &slices),
    }
}

/// What a record holds.
enum Holding {
    Slices(reader::Content<SliceRecord>),
    Imported(reader::Content<ImportedValue>),
}

impl Holding {
    fn of(dir: &Path) -> Result<Self> {
        match reader::imported(dir)? {
            Some(values) => Ok(Self::Imported(values)),
            None => reader::slices(dir).map(Self::Slices),
        }
    }
}

fn ingest_values(
    connection: &Connection,
    id: &str,
    values: &reader::Content<ImportedValue>,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached("INSERT INTO imported VALUES (?, ?, ?)")?;
    for (number, (line, _)) in values.lines.iter().enumerate() {
        insert.execute(params![id, i64::try_from(number).unwrap_or(i64::MAX), line])?;
    }
    Ok(())
}

fn ingest_slices(
    connection: &Connection,
    id: &str,
    slices: &reader::Content<SliceRecord>,
) -> rusqlite::Result<()> {
    let mut insert =
        connection.prepare_cached("INSERT INTO slices VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for (number, (line, slice)) in slices.lines.iter().enumerate() {
        let state = serde_json::to_value(slice.state).ok();
        let state = state.as_ref().and_then(|state| state.as_str()).unwrap_or_default();
        insert.execute(params![
            id,
            i64::try_from(number).unwrap_or(i64::MAX),
            slice.phase,
            slice.position,
            slice.clients,
            slice.round,
            slice.order,
            state,
            line,
        ])?;
    }
    Ok(())
}

/// Keeps of the trials those that a selection names; `?1` is the run for [`Selection::Run`].
fn condition(selection: &Selection) -> (&'static str, Option<&str>) {
    match selection {
        Selection::All => ("?1 IS NULL", None),
        Selection::Run(run) => ("t.run = ?1", Some(run)),
        Selection::LatestPerExperiment => (
            "?1 IS NULL AND t.run = (SELECT max(l.run) FROM trials l
             WHERE l.experiment = t.experiment
             AND (EXISTS (SELECT 1 FROM slices m WHERE m.trial = l.id)
                 OR EXISTS (SELECT 1 FROM imported m WHERE m.trial = l.id)))",
            None,
        ),
    }
}

fn query(connection: &Connection, selection: &Selection) -> std::result::Result<Stored, Problem> {
    let (condition, run) = condition(selection);
    let chosen = format!("SELECT t.id FROM trials t WHERE {condition} OR t.run = ''");
    let mut stored = Stored::default();
    let mut warnings = connection.prepare(&format!(
        "SELECT message FROM warnings WHERE trial IN ({chosen}) ORDER BY trial, rowid"
    ))?;
    for message in warnings.query_map(params![run], |row| row.get(0))? {
        stored.warnings.push(message?);
    }
    let mut statement = connection.prepare(&format!(
        "SELECT t.run, t.experiment, s.trial, s.record FROM slices s JOIN trials t ON t.id = s.trial
         WHERE s.trial IN ({chosen})
         ORDER BY t.run, t.block, s.position, s.round, s.place, s.trial, s.line"
    ))?;
    let mut rows = statement.query(params![run])?;
    while let Some(row) = rows.next()? {
        let line = row.get_ref(3)?.as_bytes().unwrap_or_default();
        // Only lines that were read once are in the index.
        let Ok(slice) = serde_json::from_slice(line) else { continue };
        stored.slices.push(StoredSlice {
            run: row.get(0)?,
            experiment: row.get(1)?,
            trial: row.get(2)?,
            slice,
        });
    }
    stored.imported = imported(connection, &chosen, run)?;
    Ok(stored)
}

/// The imported values of the chosen trials. Trial by trial, so that nothing has to be sorted.
fn imported(
    connection: &Connection,
    chosen: &str,
    run: Option<&str>,
) -> rusqlite::Result<Vec<ImportedValue>> {
    let mut trials = connection.prepare(&format!(
        "SELECT t.id FROM trials t WHERE t.id IN ({chosen}) ORDER BY t.run, t.id"
    ))?;
    let trials: Vec<String> =
        trials.query_map(params![run], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut lines =
        connection.prepare("SELECT record FROM imported WHERE trial = ? ORDER BY line")?;
    let mut values = Vec::new();
    for trial in trials {
        let mut rows = lines.query(params![trial])?;
        while let Some(row) = rows.next()? {
            let line = row.get_ref(0)?.as_bytes().unwrap_or_default();
            values.extend(serde_json::from_slice::<ImportedValue>(line));
        }
    }
    Ok(values)
}
