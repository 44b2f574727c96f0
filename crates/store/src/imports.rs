//! Imports: third-party archives as runs whose records hold printed values instead of slices.

use crate::{
    Result, Results, ids, layout, marker, results::RunInfo, run_files::RunFiles, run_writer,
};
use fs_err as fs;
use model::{
    environment::Environment,
    imported::{ImportHeader, ImportedValue},
    record::{RECORD_FORMAT, TrialHeader},
    shared::Name,
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// What stands for the hash of a plan, which an import does not have.
const NO_PLAN: &str = "import";

/// Writes one import: a run with one record per subject. Gives the run's identifier. What was
/// written is removed if something cannot be.
pub(crate) fn write(
    results: &Results,
    header: &ImportHeader,
    values: &[ImportedValue],
) -> Result<String> {
    let (run, dir) = run_writer::create_run(&results.dir().join(layout::RUNS))?;
    let mut records = Vec::new();
    let written = fill(&dir, header, values, results, &mut records);
    if written.is_err() {
        for folder in records.iter().chain([&dir]) {
            // The first error is the one to be told.
            let _ = fs::remove_dir_all(folder);
        }
    }
    written.map(|()| run)
}

/// Fills the folder of a run, and makes its records.
fn fill(
    dir: &Path,
    header: &ImportHeader,
    values: &[ImportedValue],
    results: &Results,
    records: &mut Vec<PathBuf>,
) -> Result<()> {
    let info = RunInfo {
        format: RECORD_FORMAT,
        id: layout::stem(dir),
        experiment: header.experiment.clone(),
        plan: NO_PLAN.to_owned(),
        started_us: ids::wall_us(),
        environment: Environment::default(),
        finished: false,
    };
    let header = ImportHeader { format: RECORD_FORMAT, ..header.clone() };
    let files = RunFiles::new(dir.to_owned());
    let import = files.bytes(layout::IMPORT, &header)?;
    // `run.json` comes last: a folder without it is a run that never began.
    files.write(&[(layout::IMPORT, import), (layout::RUN, files.bytes(layout::RUN, &info)?)])?;
    let mut subjects: BTreeMap<&str, Vec<&ImportedValue>> = BTreeMap::new();
    for value in values {
        subjects.entry(&value.measurement.subject).or_default().push(value);
    }
    for (subject, values) in subjects {
        let (_, folder) = run_writer::create_fresh(&results.dir().join(layout::RECORDS))?;
        records.push(folder.clone());
        record(&folder, &info, subject, &values)?;
    }
    layout::sync_folder(&results.dir().join(layout::RECORDS))?;
    layout::write_whole(&dir.join(layout::FINISHED), b"")
}

/// The record of one subject. Its head comes last but one, and the marker last, as in a trial.
fn record(dir: &Path, info: &RunInfo, subject: &str, values: &[&ImportedValue]) -> Result<()> {
    let path = dir.join(layout::IMPORTED);
    let mut lines = Vec::new();
    for value in values {
        let mut value = (*value).clone();
        value.measurement.run = Name::from(&info.id);
        serde_json::to_writer(&mut lines, &value)
            .map_err(|error| layout::malformed(&path, &error))?;
        lines.push(b'\n');
    }
    layout::write_whole(&path, &lines)?;
    let header = TrialHeader {
        format: RECORD_FORMAT,
        trial: layout::stem(dir),
        run: info.id.clone(),
        experiment: info.experiment.clone(),
        plan: info.plan.clone(),
        subject: subject.to_owned(),
        ..TrialHeader::default()
    };
    layout::write_toml(&dir.join(layout::ENVIRONMENT), &Environment::default())?;
    layout::write_toml(&dir.join(layout::TRIAL), &header)?;
    marker::write(dir, "values", values.len() as u64)
}
