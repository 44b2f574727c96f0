//! From records to a rendered comparison: the few steps that `run` and `compare` share.

use crate::talk;
use analysis::{Comparison, Design, Input, Observations};
use model::{
    imported::{ImportHeader, ImportedValue},
    record::SliceState,
};
use report::{Report, format::Format};
use store::{Results, Selection, StoredSlice};

/// The form of a comparison for people, where none is named.
pub(crate) const TABLE: &str = "table";

/// What to compare with, which metrics, and in which form.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// A variant's label; the experiment's baseline if absent.
    pub(crate) base: Option<String>,
    /// Names of metrics; the usual ones if empty.
    pub(crate) metrics: Vec<String>,
    /// Name of a format.
    pub(crate) format: String,
}

impl Default for Request {
    fn default() -> Self {
        Self { base: None, metrics: Vec::new(), format: TABLE.to_owned() }
    }
}

/// Reads the selected slices, compares them experiment by experiment, and renders the comparisons.
pub(crate) fn rendered(
    results: &Results,
    selection: &Selection,
    request: &Request,
) -> anyhow::Result<String> {
    Ok(report::render(&report(results, selection, request)?, &request.format)?)
}

/// The comparisons of the selected slices; warnings that the format cannot hold are said.
pub(crate) fn report(
    results: &Results,
    selection: &Selection,
    request: &Request,
) -> anyhow::Result<Report> {
    let metrics = match request.metrics.as_slice() {
        [] => Vec::new(),
        names => analysis::select_metrics(names)?,
    };
    let stored = results.slices(selection)?;
    anyhow::ensure!(
        !(stored.slices.is_empty() && stored.imported.is_empty()),
        "no slices are in `{}`: run an experiment or import an archive first",
        results.dir().display()
    );
    let mut comparisons = Vec::new();
    for slices in by_run(&stored.slices) {
        comparisons.push(compare(results, slices, request)?);
    }
    for values in by_import(&stored.imported) {
        comparisons.push(compare_imported(results, values, request)?);
    }
    if let Some(first) = comparisons.first_mut() {
        first.warnings.extend(stored.warnings);
    }
    if !report::format::find(&request.format).is_none_or(Format::holds_warnings) {
        for warning in comparisons.iter().flat_map(|comparison| &comparison.warnings) {
            talk::say(&format!("warning: {warning}"));
        }
    }
    Ok(Report { comparisons, metrics })
}

/// The slices of each run, which the store gives one after the other.
pub(crate) fn by_run(slices: &[StoredSlice]) -> impl Iterator<Item = &[StoredSlice]> {
    slices.chunk_by(|a, b| a.run == b.run)
}

/// The values of each import, which the store gives one after the other.
pub(crate) fn by_import(values: &[ImportedValue]) -> impl Iterator<Item = &[ImportedValue]> {
    values.chunk_by(|a, b| a.measurement.run == b.measurement.run)
}

/// The design of a run and what its slices tell.
pub(crate) fn observed(
    results: &Results,
    slices: &[StoredSlice],
) -> anyhow::Result<(Design, Observations)> {
    let run = slices.first().map_or("", |slice| slice.run.as_str());
    let design = Design::of(&results.plan_of(run)?);
    let inputs =
        slices.iter().map(|s| Input { experiment: &s.experiment, run: &s.run, slice: &s.slice });
    let observations = analysis::observe(inputs, &|_, phase| design.facts(phase));
    Ok((design, observations))
}

fn compare(
    results: &Results,
    slices: &[StoredSlice],
    request: &Request,
) -> anyhow::Result<Comparison> {
    let run = slices.first().map_or("", |slice| slice.run.as_str());
    let (mut design, observations) = observed(results, slices)?;
    if let Some(base) = &request.base {
        design = design.against(base)?;
    }
    let mut comparison = analysis::compare(&observations, &design);
    let trials = results.trials(run)?;
    let known = trials.iter().map(|trial| (&trial.header, &trial.environment));
    comparison.warnings.extend(analysis::residue(known));
    Ok(comparison)
}

fn compare_imported(
    results: &Results,
    values: &[ImportedValue],
    request: &Request,
) -> anyhow::Result<Comparison> {
    let run = values.first().map_or("", |value| value.measurement.run.as_str());
    let header = results.import_of(run)?.unwrap_or_default();
    let mut design = design_of(&header);
    if let Some(base) = &request.base {
        design = design.against(base)?;
    }
    let mut observations = Observations::default();
    let values = values.iter().map(|value| &value.measurement);
    observations.measurements =
        values.filter(|value| value.state == SliceState::Measured).cloned().collect();
    let mut comparison = analysis::compare(&observations, &design);
    if !header.warnings.is_empty() {
        comparison.warnings.push(format!(
            "the archive `{}` had {} irregular places, which are in `import.json` of run `{run}`",
            header.experiment,
            header.warnings.len()
        ));
    }
    Ok(comparison)
}

/// Every subject of an archive against its first one.
fn design_of(header: &ImportHeader) -> Design {
    let base = header.subjects.first();
    let subjects = header.subjects.iter().map(|label| {
        let base = base.filter(|base| *base != label);
        (label.clone(), base.cloned())
    });
    Design {
        experiment: header.experiment.clone(),
        question: format!("Imported archive {}", header.experiment),
        suite: header.experiment.clone(),
        subjects: subjects.collect(),
        phases: Default::default(),
    }
}
