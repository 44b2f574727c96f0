//! The SQLite index: which record is of which run, brought up to date at each reading.
//!
//! It spares reading the heads of all records where those of one run are wanted. Every entry has
//! its SHA-256, and what a record holds is read from the record itself.
//!
//! Measured on a virtual machine with 2 CPUs, Linux 6.18, by CPU time, with the index and without
//! it in turn: `compare` in a folder of 1,000 runs with 2,000 records takes 71 ms with it and
//! 143 ms without (median ratio of 10 pairs 2.0). Reading one run of 200,000 values takes the same
//! either way (`export --format bmf`, 1.02, 6 pairs): so the index has heads, and no values.

use crate::{
    Error, Result, Results, Selection, Stored, StoredSlice, layout, reader, results::RunInfo,
    run_files::RunFiles, sums,
};
use fs_err as fs;
use model::imported::ImportedValue;
use rusqlite::{Connection, ErrorCode, params};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// Grows with each change of what is in the table; another number in the file means rebuild.
const VERSION: i64 = 3;

/// All that is in the file.
const TABLE: &str =
    "CREATE TABLE entries(id TEXT PRIMARY KEY, entry TEXT NOT NULL, sha256 TEXT NOT NULL)";

/// What is known of one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Run; empty where the head cannot be read.
    run: String,
    experiment: String,
    /// Whether there is a slice or an imported value in it.
    holds_values: bool,
    /// Why the head cannot be read.
    problem: Option<String>,
    /// Changes whenever the record may have changed: sizes and times of the files that are read.
    stamp: String,
}

/// Entries by the name of their folder: oldest first.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// The selected slices and values.
pub(crate) fn slices(results: &Results, selection: &Selection) -> Result<Stored> {
    let (runs, warnings) = results.readable_runs()?;
    let entries = results.entries()?;
    let results = results.dir();
    let mut stored = Stored { warnings, ..Stored::default() };
    let chosen = chosen(&entries, &runs, selection);
    let folders: BTreeSet<String> = {
        let folders = layout::folders(&results.join(layout::RUNS))?;
        folders.iter().map(|dir| layout::stem(dir)).collect()
    };
    // Why others cannot be read is told once, and not for each of their records.
    let readable: BTreeSet<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let mut imported: Vec<(&str, Vec<ImportedValue>)> = Vec::new();
    let mut lost: BTreeSet<&String> = BTreeSet::new();
    for (id, entry) in entries.iter() {
        if let Some(problem) = &entry.problem {
            stored.warnings.push(format!("record `{id}` is left out: {problem}"));
            continue;
        }
        if !chosen.contains(entry.run.as_str()) {
            continue;
        }
        if !folders.contains(&entry.run) {
            let run = &entry.run;
            // A deleted run may have left hundreds.
            if lost.insert(run) {
                stored.warnings.push(format!(
                    "record `{id}` is left out: it is of run `{run}`, which is not in this \
                     folder; remove it and all others of this run, or restore the run"
                ));
            }
            continue;
        }
        if !readable.contains(entry.run.as_str()) {
            continue;
        }
        let read = add(&mut stored, &mut imported, results, id, entry);
        if let Err(error) = read {
            stored.warnings.push(format!("record `{id}` is left out: {error}"));
        }
    }
    stored.warnings.extend(unchecked(results, &runs, &chosen));
    let key = |s: &StoredSlice| (s.slice.block, s.slice.position, s.slice.round, s.slice.order);
    // Stable, so that slices of one place stay in the order of their trials and lines.
    stored.slices.sort_by(|a, b| a.run.cmp(&b.run).then_with(|| key(a).cmp(&key(b))));
    imported.sort_by_key(|(run, _)| *run);
    stored.imported = imported.into_iter().flat_map(|(_, values)| values).collect();
    Ok(stored)
}

/// Adds what a record holds.
fn add<'a>(
    stored: &mut Stored,
    imported: &mut Vec<(&'a str, Vec<ImportedValue>)>,
    results: &Path,
    id: &'a str,
    entry: &'a Entry,
) -> Result<()> {
    let dir = results.join(layout::RECORDS).join(id);
    // It goes into the tables beside the slices.
    reader::check_environment(&dir)?;
    if let Some(values) = reader::imported(&dir)? {
        stored.warnings.extend(values.warnings);
        imported.push((&entry.run, values.lines));
        return Ok(());
    }
    let slices = reader::slices(&dir)?;
    stored.warnings.extend(slices.warnings);
    stored.slices.extend(slices.lines.into_iter().map(|slice| StoredSlice {
        run: entry.run.clone(),
        experiment: entry.experiment.clone(),
        trial: id.to_owned(),
        slice,
    }));
    Ok(())
}

/// One sentence for each chosen run whose files have no checksums.
fn unchecked(results: &Path, runs: &[RunInfo], chosen: &BTreeSet<&str>) -> Vec<String> {
    let is_unchecked = |run: &&RunInfo| {
        chosen.contains(run.id.as_str())
            && RunFiles::new(results.join(layout::RUNS).join(&run.id)).is_unchecked()
    };
    let sentence = |run: &RunInfo| {
        let id = &run.id;
        format!("run `{id}` is of a format without checksums: changes of its files stay unnoticed")
    };
    runs.iter().filter(is_unchecked).map(sentence).collect()
}

/// The runs that a selection names.
fn chosen<'a>(
    entries: &'a Entries,
    runs: &'a [RunInfo],
    selection: &'a Selection,
) -> BTreeSet<&'a str> {
    let of_runs = entries.values().filter(|entry| entry.problem.is_none());
    match selection {
        Selection::All => of_runs.map(|entry| entry.run.as_str()).collect(),
        Selection::Run(run) => BTreeSet::from([run.as_str()]),
        Selection::LatestPerExperiment => {
            let finished = runs.iter().filter(|run| run.finished);
            let finished: BTreeSet<&str> = finished.map(|run| run.id.as_str()).collect();
            let mut latest: BTreeMap<&str, (bool, &str)> = BTreeMap::new();
            for entry in of_runs.filter(|entry| entry.holds_values) {
                let run = latest.entry(&entry.experiment).or_default();
                *run = (*run).max((finished.contains(&*entry.run), &entry.run));
            }
            latest.into_values().map(|(_, run)| run).collect()
        }
    }
}

/// Folders of the records of a run, oldest first.
pub(crate) fn records_of(results: &Results, run: &str) -> Result<Vec<PathBuf>> {
    let entries = results.entries()?;
    let own = entries.iter().filter(|(_, entry)| entry.run == run);
    Ok(own.map(|(id, _)| results.dir().join(layout::RECORDS).join(id)).collect())
}

/// The entries of all records that count. Whatever is wrong with the index (damaged, closed, full,
/// locked): the records are enough.
pub(crate) fn entries(results: &Path) -> Result<Entries> {
    let path = results.join(layout::INDEX);
    // A folder may come from anybody, and its link lead to a database of the reader's own.
    if path.is_symlink() {
        return current(results, &Entries::new());
    }
    let attempt = |mut connection: Connection| refresh(&mut connection, results);
    let on_disk = || open(&path).map_err(Problem::Sql).and_then(attempt);
    let mut read = on_disk();
    let is_worthless = match &read {
        Err(Problem::Sql(error)) => is_damaged(error),
        Err(Problem::Other) => true,
        Ok(_) | Err(Problem::Store(_)) => false,
    };
    // Everything in it is in the records.
    if is_worthless && fs::remove_file(&path).is_ok() {
        read = on_disk();
    }
    match read {
        Ok(entries) => Ok(entries),
        Err(Problem::Store(error)) => Err(error),
        Err(Problem::Sql(_) | Problem::Other) => current(results, &Entries::new()),
    }
}

/// What can go wrong between the records and the index.
enum Problem {
    Sql(rusqlite::Error),
    /// The file is no index of this version.
    Other,
    Store(Error),
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
    let damaged = [
        ErrorCode::NotADatabase,
        ErrorCode::DatabaseCorrupt,
        ErrorCode::ConstraintViolation,
        ErrorCode::Unknown,
    ];
    error.sqlite_error_code().is_some_and(|code| damaged.contains(&code))
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(30))?;
    // Losing the index in a crash costs a rebuild; waiting for the disk costs at every reading.
    connection.pragma_update(None, "synchronous", "OFF")?;
    Ok(connection)
}

/// The entries as the index knows them, brought up to date.
fn refresh(connection: &mut Connection, results: &Path) -> std::result::Result<Entries, Problem> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let schema = "SELECT coalesce(group_concat(sql), '') FROM sqlite_master";
    let schema: String = transaction.query_row(schema, [], |row| row.get(0))?;
    match schema.as_str() {
        "" => {
            transaction.execute_batch(TABLE)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        // A view or a trigger of a folder from elsewhere might never end.
        TABLE if version == VERSION => {}
        _ => return Err(Problem::Other),
    }
    let known = read(&transaction)?;
    let found = current(results, &known)?;
    if found != known {
        write(&transaction, &known, &found)?;
    }
    transaction.commit()?;
    Ok(found)
}

/// The entries of the index; one whose sum is another is unknown.
fn read(connection: &Connection) -> rusqlite::Result<Entries> {
    let mut statement = connection.prepare("SELECT id, entry, sha256 FROM entries")?;
    let mut rows = statement.query([])?;
    let mut known = Entries::new();
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column).map(|value| value.as_str().unwrap_or_default());
        let (id, entry, sum) = (text(0)?, text(1)?, text(2)?);
        if sum == sum_of(id, entry)
            && let Ok(entry) = serde_json::from_str(entry)
        {
            known.insert(id.to_owned(), entry);
        }
    }
    Ok(known)
}

fn write(connection: &Connection, known: &Entries, found: &Entries) -> rusqlite::Result<()> {
    let mut delete = connection.prepare("DELETE FROM entries WHERE id = ?")?;
    for id in known.keys().filter(|id| !found.contains_key(*id)) {
        delete.execute([id])?;
    }
    let mut insert = connection.prepare("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)")?;
    for (id, entry) in found.iter().filter(|(id, entry)| known.get(*id) != Some(entry)) {
        let text = serde_json::to_string(entry).unwrap_or_default();
        insert.execute(params![id, text, sum_of(id, &text)])?;
    }
    Ok(())
}

fn sum_of(id: &str, entry: &str) -> String {
    sums::sum_of(format!("{id}\n{entry}").as_bytes())
}

/// The entries of the records that are there; those that have not changed are taken as known.
fn current(results: &Path, known: &Entries) -> Result<Entries> {
    let mut found = Entries::new();
    for dir in reader::record_folders(results)? {
        let id = layout::stem(&dir);
        let stamp = stamp(&dir);
        // What kept one from being read may be over: a limit, a disk, an older dbdyno.
        let is_same = |entry: &&Entry| entry.stamp == stamp && entry.problem.is_none();
        let entry = known.get(&id).filter(is_same).cloned();
        found.insert(id, entry.unwrap_or_else(|| entry_of(&dir, stamp)));
    }
    Ok(found)
}

fn entry_of(dir: &Path, stamp: String) -> Entry {
    let has = |name| fs::metadata(dir.join(name)).is_ok_and(|meta| meta.len() > 0);
    let holds_values = has(layout::SLICES) || has(layout::IMPORTED);
    match reader::header(dir) {
        Ok(header) => {
            let (run, experiment) = (header.run, header.experiment);
            Entry { run, experiment, holds_values, problem: None, stamp }
        }
        Err(error) => {
            let (run, experiment) = (String::new(), String::new());
            Entry { run, experiment, holds_values, problem: Some(error.to_string()), stamp }
        }
    }
}

fn stamp(dir: &Path) -> String {
    let part = |name| match fs::metadata(dir.join(name)) {
        Ok(meta) => {
            let (changed, written) = (meta.ctime(), meta.mtime());
            let (changed_ns, written_ns) = (meta.ctime_nsec(), meta.mtime_nsec());
            format!("{}@{written}.{written_ns}/{changed}.{changed_ns}", meta.len())
        }
        Err(_) => "-".to_owned(),
    };
    [layout::TRIAL, layout::SLICES, layout::IMPORTED, layout::COMPLETE].map(part).join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{RECORD_FORMAT, TrialHeader};

    #[test]
    fn a_record_that_could_not_be_read_is_tried_again() {
        let lab = tempfile::tempdir().unwrap();
        let dir = lab.path().join(layout::RECORDS).join("t");
        fs::create_dir_all(&dir).unwrap();
        let header = TrialHeader {
            format: RECORD_FORMAT,
            trial: "t".to_owned(),
            run: "r".to_owned(),
            ..TrialHeader::default()
        };
        layout::write_toml(&dir.join(layout::TRIAL), &header).unwrap();
        let entry = Entry {
            run: String::new(),
            experiment: String::new(),
            holds_values: false,
            problem: Some("too many open files".to_owned()),
            stamp: stamp(&dir),
        };
        let known = Entries::from([("t".to_owned(), entry)]);
        let found = current(lab.path(), &known).unwrap();
        assert_eq!((found["t"].run.as_str(), &found["t"].problem), ("r", &None));
    }
}
