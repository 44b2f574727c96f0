//! From records to a rendered comparison: the few steps that `run` and `compare` share.

use crate::talk;
use analysis::{Comparison, Design, Input};
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
    let metrics = match request.metrics.as_slice() {
        [] => Vec::new(),
        names => analysis::select_metrics(names)?,
    };
    let stored = results.slices(selection)?;
    anyhow::ensure!(
        !stored.slices.is_empty(),
        "no slices are in `{}`: run an experiment first",
        results.dir().display()
    );
    let mut comparisons = Vec::new();
    for slices in by_run(&stored.slices) {
        comparisons.push(compare(results, slices, request)?);
    }
    if let Some(first) = comparisons.first_mut() {
        first.warnings.extend(stored.warnings);
    }
    if !report::format::find(&request.format).is_none_or(Format::holds_warnings) {
        for warning in comparisons.iter().flat_map(|comparison| &comparison.warnings) {
            talk::say(&format!("warning: {warning}"));
        }
    }
    Ok(report::render(&Report { comparisons, metrics }, &request.format)?)
}

/// The slices of each run, which the store gives one after the other.
fn by_run(slices: &[StoredSlice]) -> impl Iterator<Item = &[StoredSlice]> {
    slices.chunk_by(|a, b| a.run == b.run)
}

fn compare(
    results: &Results,
    slices: &[StoredSlice],
    request: &Request,
) -> anyhow::Result<Comparison> {
    let run = slices.first().map_or("", |slice| slice.run.as_str());
    let mut design = Design::of(&results.plan_of(run)?);
    if let Some(base) = &request.base {
        design = design.against(base)?;
    }
    let inputs =
        slices.iter().map(|s| Input { experiment: &s.experiment, run: &s.run, slice: &s.slice });
    let observations = analysis::observe(inputs, &|_, phase| design.facts(phase));
    let mut comparison = analysis::compare(&observations, &design);
    let trials = results.trials(run)?;
    let known = trials.iter().map(|trial| (&trial.header, &trial.environment));
    comparison.warnings.extend(analysis::residue(known));
    Ok(comparison)
}
