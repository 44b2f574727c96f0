//! Measurements to a comparison: every subject against its base, phase by phase.

use crate::{
    Design, Failure, Observations, Projection,
    cells::{Cells, Replicates},
    comparison::{Cell, Comparison, PhaseResult},
    decide::decide,
    diagnose::rare,
    drift,
    embedded::architecture,
    errors,
    guard::{self, Disturbed},
    hosts,
    interval::informed_interval,
    marks::untold,
    metric,
    metrics::ordered,
    missed::{is_spoilt, misses},
    noise::Noise,
    observe::one_line,
    ratio_only,
    reason::Reason,
    unstable,
    verdict::Verdict,
    warning::{Location, Warnings},
};
use model::{
    Levels, margins::Margins, measurement::Measurement, metric::Metric, natural, quoted,
    shared::Name,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Compares the observations of one experiment.
pub fn compare(observations: &Observations, design: &Design) -> Comparison {
    let cells = Cells::of(&observations.measurements, &observations.spare);
    let failures = first_failures(&observations.failures);
    let subjects = subjects(observations, design);
    let disturbed = &observations.disturbed;
    let margins = &design.margins;
    let selected = &observations.selected;
    let source = Source { cells, failures, subjects: &subjects, disturbed, selected, margins };
    let phases = phases(observations, design);
    let mut warnings = observations.warnings.clone();
    let mut results: Vec<PhaseResult> =
        phases.into_iter().map(|phase| source.phase(phase, &mut warnings)).collect();
    ratio_only::fill(&mut results);
    let disagreeing = disagreeing(&mut results, &source.cells, design);
    conclude(&mut results, &design.looks, observations.noise.as_deref());
    let is_informed = |phase: &PhaseResult| phase.cells.iter().any(|cell| cell.known.is_some());
    let noise = observations.noise.as_deref().filter(|_| results.iter().any(is_informed));
    let untold = untold(&observations.measurements, &warnings);
    let mut warnings = warnings.sentences();
    warnings.extend(untold);
    warnings.extend(residue(&observations.measurements));
    let mut conditions: Vec<String> = architecture(&results).into_iter().collect();
    conditions.extend(errors::many(&results));
    conditions.extend(rare::undecided(&results));
    conditions.extend(disagreeing);
    conditions.extend(drift::sentences(&results));
    Comparison {
        experiment: design.experiment.clone(),
        runs: runs(observations),
        question: design.question.clone(),
        suite: design.suite.clone(),
        bases: design.bases().into_iter().map(str::to_owned).collect(),
        subjects: subjects.into_iter().map(|(label, _)| label).collect(),
        looks: design.looks.clone(),
        margins: design.margins.clone(),
        phases: results,
        conditions,
        bank: noise.map(|noise| noise.source.clone()),
        warnings,
        ..Comparison::default()
    }
}

/// What hosts disagree in, where blocks of several are compared as one.
fn disagreeing(phases: &mut [PhaseResult], cells: &Cells<'_>, design: &Design) -> Vec<String> {
    let of = |(run, block): (&str, u32)| {
        let blocks = design.hosts.get(run);
        blocks.and_then(|blocks| blocks.get(&block)).map_or("", String::as_str)
    };
    let of_blocks: Vec<&str> = cells.blocks().map(of).collect();
    hosts::tell(phases, &of_blocks)
}

/// Gives cells that have the ratios of their blocks their intervals and verdicts: what every
/// comparison ends with. `looks` are those of [`Comparison::looks`].
pub fn conclude(phases: &mut [PhaseResult], looks: &[u32], noise: Option<&Noise>) {
    if let Some(noise) = noise {
        noise.tell(phases);
    }
    drift::tell(phases);
    for cell in phases.iter_mut().flat_map(|phase| &mut phase.cells) {
        cell.interval = informed_interval(cell, looks);
    }
    decide(phases, looks);
}

/// What was measured, then what failed.
fn all(observations: &Observations) -> impl Iterator<Item = &Measurement> {
    let failed = observations.failures.iter().map(|failure| &failure.at);
    observations.measurements.iter().chain(failed)
}

fn runs(observations: &Observations) -> Vec<String> {
    let runs: BTreeSet<&Name> = all(observations).map(|one| &one.run).collect();
    runs.into_iter().map(Name::to_string).collect()
}

/// The design's subjects, then any that only the records know, against the first base.
fn subjects(observations: &Observations, design: &Design) -> Vec<(String, Option<String>)> {
    let mut subjects = design.subjects.clone();
    let found: BTreeSet<&Name> = all(observations).map(|one| &one.subject).collect();
    let known: BTreeSet<&str> = design.subjects.iter().map(|(label, _)| label.as_str()).collect();
    let others = found.into_iter().filter(|label| !known.contains(label.as_str()));
    let mut others: Vec<&Name> = others.collect();
    others.sort_by(|a, b| natural::compare(a, b));
    let base = design.bases().first().map(|base| (*base).to_owned());
    subjects.extend(others.into_iter().map(|label| (label.to_string(), base.clone())));
    subjects
}

/// The phases in the suite's order, without cells.
fn phases(observations: &Observations, design: &Design) -> Vec<PhaseResult> {
    let mut phases: BTreeMap<(u32, &str), PhaseResult> = BTreeMap::new();
    for m in all(observations) {
        phases.entry((m.position, &m.phase)).or_insert_with(|| PhaseResult {
            phase: m.phase.to_string(),
            workload: m.workload.to_string(),
            group: m.group.to_string(),
            position: m.position,
            range: m.range,
            clients: m.clients,
            lead_clients: design.phases.get(m.phase.as_str()).and_then(|facts| facts.lead_clients),
            cells: Vec::new(),
        });
    }
    // Runs of different plans may give one phase different positions; its first one counts.
    let mut seen = BTreeSet::new();
    phases.into_values().filter(|phase| seen.insert(phase.phase.clone())).collect()
}

fn first_failures(failures: &[Failure]) -> BTreeMap<(&str, &str), &Failure> {
    let mut first = BTreeMap::new();
    for failure in failures {
        first.entry((failure.at.phase.as_str(), failure.at.subject.as_str())).or_insert(failure);
    }
    first
}

fn residue(measurements: &[Measurement]) -> Vec<String> {
    let projection = Projection::new(&["phase"], &["subject"]);
    let sentence = |difference: crate::Difference| {
        let values = quoted(&difference.values);
        format!("cells combine values of different {}: {values}", difference.key)
    };
    projection.residue(measurements).into_iter().map(sentence).collect()
}

/// What cells are made from.
struct Source<'a> {
    cells: Cells<'a>,
    failures: BTreeMap<(&'a str, &'a str), &'a Failure>,
    subjects: &'a [(String, Option<String>)],
    disturbed: &'a BTreeMap<String, Disturbed>,
    selected: &'a BTreeSet<String>,
    margins: &'a Margins,
}

/// One side of a comparison.
enum Side<'s, 'a> {
    Values(&'s Replicates<'a>),
    Missing(Reason),
}

impl<'a> Source<'a> {
    fn phase(&self, mut phase: PhaseResult, warnings: &mut Warnings) -> PhaseResult {
        let metrics = self.metrics(&phase.phase);
        for (subject, base) in self.subjects {
            let factors = self.factors(&phase.phase, subject);
            for metric in &metrics {
                let cell = self.cell(&phase, subject, base.as_deref(), metric);
                phase.cells.push(Cell { factors: Arc::clone(&factors), ..cell });
            }
            // Else blocks may be left out on purpose, and a warning names them.
            if !self.selected.contains(&phase.phase) {
                self.warn_of_blocks(&phase, subject, base.as_deref(), warnings);
            }
        }
        // Else the reason is known, and told.
        if !self.disturbed.contains_key(&phase.phase) {
            unstable::warn(&phase, warnings);
        }
        phase
    }

    /// The metrics that any subject has in this phase; throughput if all failed.
    fn metrics(&self, phase: &str) -> Vec<&'static Metric> {
        let measured = self.cells.metrics(phase);
        let found = ordered(&measured);
        if found.is_empty() { metric("ops_per_second").into_iter().collect() } else { found }
    }

    fn factors(&self, phase: &str, subject: &str) -> Arc<Levels> {
        if let Some(failure) = self.failures.get(&(phase, subject)) {
            return Arc::clone(&failure.at.levels);
        }
        self.cells.levels(phase, subject).cloned().unwrap_or_default()
    }

    fn side(&self, phase: &str, subject: &str, metric: &Metric) -> Side<'_, 'a> {
        if let Some(failure) = self.failures.get(&(phase, subject)) {
            return Side::Missing(Reason::Failed(one_line(&failure.reason)));
        }
        match self.cells.get(phase, subject, metric.name) {
            Some(values) => Side::Values(values),
            None => Side::Missing(Reason::NotMeasured),
        }
    }

    fn cell(
        &self,
        phase: &PhaseResult,
        subject: &str,
        base: Option<&str>,
        metric: &'static Metric,
    ) -> Cell {
        let mut cell = Cell {
            base: base.map(Name::from),
            margin: self.margins.of(metric),
            ..Cell::empty(subject, metric)
        };
        let base_side = base.map(|base| self.side(&phase.phase, base, metric));
        if let Some(Side::Values(values)) = &base_side {
            cell.base_value = values.value();
        }
        let values = match self.side(&phase.phase, subject, metric) {
            Side::Values(values) => values,
            Side::Missing(reason) => {
                cell.reason = Some(reason);
                return cell;
            }
        };
        cell.value = values.value();
        cell.by_block = self.cells.by_block(values);
        cell.marks = values.marks.iter().copied().cloned().collect();
        let disturbed = self.disturbed.get(&phase.phase).filter(|_| guard::moves(metric));
        match base_side {
            None => {
                cell.blocks = count(values.blocks());
                cell.verdict = Verdict::Base;
                cell.reason = disturbed.map(|by| Reason::Disturbed(*by));
            }
            Some(Side::Missing(reason)) => cell.reason = Some(Reason::OfBase(reason.into())),
            Some(Side::Values(base)) => {
                cell.reason = missed(metric, base, values);
                if cell.reason.is_none() {
                    beside(&mut cell, [base, values], disturbed);
                }
            }
        }
        cell
    }

    /// Ratios use paired blocks; unpaired blocks cause a warning.
    fn warn_of_blocks(
        &self,
        phase: &PhaseResult,
        subject: &str,
        base: Option<&str>,
        warnings: &mut Warnings,
    ) {
        let get = |label| self.cells.get(&phase.phase, label, "ops_per_second");
        let (Some(own), Some(other)) = (get(subject), base.and_then(get)) else { return };
        let common = own.common_blocks(other);
        let alone = own.blocks().max(other.blocks()) - common;
        let place = Location { subject, phase: &phase.phase, position: phase.position };
        if common == 0 {
            warnings.add(place, "no block is shared with the base, so the ratio is not paired", 1);
        } else if alone > 0 {
            let text = "some blocks lack the base or the variant and are left out of the ratio";
            warnings.add(place, text, alone as u64);
        }
    }
}

/// Gives a cell the ratio of its values to those of its base. A block that lacks one of them is in
/// neither value, as in the ratio.
fn beside(cell: &mut Cell, [base, values]: [&Replicates<'_>; 2], disturbed: Option<&Disturbed>) {
    (cell.ratio, cell.block_ratios) = values.ratios(base);
    let common = values.common_blocks(base);
    if [values, base].iter().any(|side| side.blocks() > common) {
        cell.value = values.shared_with(base).value();
        cell.base_value = base.shared_with(values).value();
    }
    cell.blocks = count(common);
    cell.reason = disturbed.map(|by| Reason::Disturbed(*by));
    // What nothing repeats is no verdict anyway.
    cell.verdict = match (values.blocks().max(base.blocks()), disturbed) {
        (2.., Some(_)) => Verdict::Invalid,
        _ if cell.blocks < 2 => Verdict::Unreplicated,
        _ => Verdict::Unassessed,
    };
}

/// Why the values of two sides are not compared though both are there: one missed its SLA, and did
/// less than it was asked to do meanwhile. What it was asked to do, and how it kept to it, still
/// is.
fn missed(metric: &Metric, base: &Replicates<'_>, own: &Replicates<'_>) -> Option<Reason> {
    if !is_spoilt(metric) {
        return None;
    }
    let mark = |side: &Replicates<'_>| {
        let found = side.marks.iter().find(|mark| misses(mark).is_some());
        found.map(|mark| Reason::Missed((*mark).clone()))
    };
    mark(own).or_else(|| mark(base).map(|reason| Reason::OfBase(reason.into())))
}

fn count(blocks: usize) -> u32 {
    u32::try_from(blocks).unwrap_or(u32::MAX)
}
