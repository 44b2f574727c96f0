//! Imports: foreign archives as runs whose records hold printed values instead of slices.

use crate::{Result, Results, ids, layout, results::RunInfo, run_writer};
use model::{
    environment::Environment,
    imported::{ImportHeader, ImportedValue},
    record::{RECORD_FORMAT, TrialHeader},
    shared::Name,
};
use std::{collections::BTreeMap, path::Path};

/// What stands for the hash of a plan, which an import does not have.
const NO_PLAN: &str = "import";

/// Writes one import: a run with one record per subject. Gives the run's identifier.
pub(crate) fn write(
    results: &Results,
    header: &ImportHeader,
    values: &[ImportedValue],
) -> Result<String> {
    let (run, dir) = run_writer::create_fresh(&results.dir().join(layout::RUNS))?;
    let info = RunInfo {
        format: RECORD_FORMAT,
        id: run.clone(),
        experiment: header.experiment.clone(),
        plan: NO_PLAN.to_owned(),
        started_us: ids::wall_us(),
        environment: Environment::default(),
        finished: false,
    };
    let header = ImportHeader { format: RECORD_FORMAT, ..header.clone() };
    layout::write_json(&dir.join(layout::IMPORT), &header)?;
    layout::write_json(&dir.join(layout::RUN), &info)?;
    let mut subjects: BTreeMap<&str, Vec<&ImportedValue>> = BTreeMap::new();
    for value in values {
        subjects.entry(&value.measurement.subject).or_default().push(value);
    }
    for (subject, values) in subjects {
        record(results, &info, subject, &values)?;
    }
    layout::sync_folder(&results.dir().join(layout::RECORDS))?;
    layout::write_whole(&dir.join(layout::FINISHED), b"")?;
    Ok(run)
}

/// The record of one subject. Its head comes last but one, and the marker last, as in a trial.
fn record(
    results: &Results,
    info: &RunInfo,
    subject: &str,
    values: &[&ImportedValue],
) -> Result<()> {
    let (trial, dir) = run_writer::create_fresh(&results.dir().join(layout::RECORDS))?;
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
        trial,
        run: info.id.clone(),
        experiment: info.experiment.clone(),
        plan: info.plan.clone(),
        block: 0,
        subject: subject.to_owned(),
        server_version: String::new(),
        binary_sha256: String::new(),
        configuration: String::new(),
        settings: BTreeMap::new(),
        ignored_settings: Vec::new(),
        seed: 0,
        foreground: String::new(),
        provenance: Default::default(),
    };
    layout::write_toml(&dir.join(layout::ENVIRONMENT), &Environment::default())?;
    layout::write_toml(&dir.join(layout::TRIAL), &header)?;
    let marker = format!("values = {}\n", values.len());
    layout::write_whole(&dir.join(layout::COMPLETE), marker.as_bytes())
}

/// What the import of a run was; `None` for a run that was measured.
pub(crate) fn header(run: &Path) -> Result<Option<ImportHeader>> {
    let path = run.join(layout::IMPORT);
    if !path.exists() {
        return Ok(None);
    }
    layout::check_format_of(&path)?;
    layout::read_json(&path).map(Some)
}
