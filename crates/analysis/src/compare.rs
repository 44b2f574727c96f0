//! Measurements to a comparison: every subject against its base, phase by phase.

use crate::{
    Design, Failure, METRICS, Observations, Projection,
    cells::{Cells, Replicates},
    claim::Test,
    drift, guard,
    interval::informed_interval,
    marks::untold,
    metric,
    missed::{is_spoilt, misses},
    noise::{BankSource, Known, Noise},
    observe::one_line,
    overall::mean_interval,
    ratio_only,
    reason::Reason,
    stepped::Stepped,
    verdict::{Verdict, decide},
    warning::{Location, Warnings},
};
use model::{Levels, mark::Mark, measurement::Measurement, metric::Metric, natural, shared::Name};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The group of phases that are reported and in no mean over all phases: what is executed beside
/// the rows of a published list.
pub const APART: &str = "apart";

/// What is said where nothing can be compared, with the remedy.
const ALONE: &str = "there is only one variant, so nothing is compared: put both builds into one \
    experiment (`build = [\"before\", \"after\"]`, with a table `[servers.NAME]` and its `basedir` \
    for each), or compare two runs by `dbdyno compare RUN RUN`";

/// What one experiment found.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Experiment name.
    pub experiment: String,
    /// Identifiers of the runs that the values come from, in order.
    pub runs: Vec<String>,
    /// The question.
    pub question: String,
    /// Name of the suite.
    pub suite: String,
    /// Labels of the bases; several if other factors than the baseline's have levels.
    pub bases: Vec<String>,
    /// Labels of all subjects in the plan's order.
    pub subjects: Vec<String>,
    /// Numbers of blocks after which the run was judged and could end; empty where their number was
    /// fixed.
    pub looks: Vec<u32>,
    /// The phases in the suite's order.
    pub phases: Vec<PhaseResult>,
    /// How the builds differ beside their versions, one sentence; none where they do not.
    pub builds: Option<String>,
    /// The bank of runs that told of the spread of blocks; none where none did.
    pub bank: Option<BankSource>,
    /// One sentence each.
    pub warnings: Vec<String>,
}

/// What one phase found.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseResult {
    /// Unique name.
    pub phase: String,
    /// Workload.
    pub workload: String,
    /// Report group.
    pub group: String,
    /// Position in the suite.
    pub position: u32,
    /// Published range, if any.
    pub range: Option<u64>,
    /// Connections.
    pub clients: u32,
    /// Cells by subject, then metric.
    pub cells: Vec<Cell>,
}

/// One metric of one subject in one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// Label of the subject.
    pub subject: Name,
    /// Label of its base; `None` if it is a base itself.
    pub base: Option<Name>,
    /// Every factor's level.
    pub factors: Arc<Levels>,
    /// The metric.
    pub metric: &'static Metric,
    /// Value of the base in the metric's unit.
    pub base_value: Option<f64>,
    /// Value in the metric's unit; absent if anything in the cell failed.
    pub value: Option<f64>,
    /// The same for each block of the comparison, in order; absent where the cell has none there.
    pub by_block: Vec<Option<f64>>,
    /// Value relative to the base.
    pub ratio: Option<f64>,
    /// The ratio of each block that both have, in order.
    pub block_ratios: Vec<f64>,
    /// Ends of the interval of [`CONFIDENCE`](crate::CONFIDENCE) for the ratio. Absent with fewer
    /// than two blocks.
    pub interval: Option<(f64, f64)>,
    /// Blocks behind the ratio, or behind the value of a base.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
    /// The tests behind it, where there are any.
    pub test: Option<Test>,
    /// What earlier runs told of the spread of its blocks.
    pub known: Option<Known>,
    /// Neighboring blocks that are taken together, because they agree: usually 1.
    pub together: usize,
    /// Why there is no value or no ratio.
    pub reason: Option<Reason>,
    /// How far the value may be trusted.
    pub marks: Vec<Mark>,
}

impl Comparison {
    /// Everything that readers of bare values must know, one sentence each: the warnings, and how
    /// the builds differ.
    pub fn all_warnings(&self) -> impl Iterator<Item = &str> {
        self.warnings.iter().chain(&self.builds).map(String::as_str)
    }

    /// The cell of a phase, subject and metric.
    pub fn cell(&self, phase: &str, subject: &str, metric: &str) -> Option<&Cell> {
        self.phases.iter().find(|result| result.phase == phase)?.cell(subject, metric)
    }

    /// The phases that means over all of them are made of: without those of the group [`APART`],
    /// unless there are no others.
    pub fn counted(&self) -> Vec<&PhaseResult> {
        let counted: Vec<_> = self.phases.iter().filter(|phase| phase.group != APART).collect();
        if counted.is_empty() { self.phases.iter().collect() } else { counted }
    }

    /// The same with the subjects that are wanted, and their bases, alone. Phases in which none of
    /// them has a cell with a value or a failure are left out.
    pub fn only(mut self, wanted: &dyn Fn(&str) -> bool) -> Self {
        let mut kept: BTreeSet<String> =
            self.subjects.iter().filter(|subject| wanted(subject)).cloned().collect();
        let cells = self.phases.iter().flat_map(|phase| &phase.cells);
        let bases = cells.filter(|cell| kept.contains(cell.subject.as_str()));
        let bases: Vec<String> =
            bases.filter_map(|cell| Some(cell.base.as_ref()?.to_string())).collect();
        kept.extend(bases);
        self.subjects.retain(|subject| kept.contains(subject));
        self.bases.retain(|base| kept.contains(base));
        for phase in &mut self.phases {
            phase.cells.retain(|cell| kept.contains(cell.subject.as_str()));
        }
        let said = |cell: &Cell| cell.value.is_some() || cell.failed().is_some();
        self.phases.retain(|phase| phase.cells.iter().any(said));
        self
    }

    /// The interval for the geometric mean of a subject's ratios over the counted phases, as
    /// [`mean_interval`] has it.
    pub fn mean_interval(&self, subject: &str, metric: &str) -> Option<(f64, f64)> {
        mean_interval(self.counted(), subject, metric, &self.looks)
    }
}

impl PhaseResult {
    /// The cell of a subject and metric.
    pub fn cell(&self, subject: &str, metric: &str) -> Option<&Cell> {
        self.cells_of(subject).iter().find(|cell| cell.metric.name == metric)
    }

    /// The cells of a subject: they stand together.
    pub fn cells_of(&self, subject: &str) -> &[Cell] {
        let (mut rest, mut count) = (self.cells.as_slice(), 1);
        while let Some(first) = rest.first() {
            let is_own = |cell: &Cell| cell.subject == first.subject;
            // Most have as many cells as the one before, so few of them have to be looked at.
            let ends = |cells: &[Cell]| cells.first().is_none_or(|cell| !is_own(cell));
            let as_before = rest.get(count - 1).is_some_and(is_own) && ends(&rest[count..]);
            if !as_before {
                count = rest.iter().take_while(|cell| is_own(cell)).count();
            }
            if first.subject == subject {
                return &rest[..count];
            }
            rest = &rest[count..];
        }
        &[]
    }

    /// Why a subject has no value at all here.
    pub fn failure(&self, subject: &str) -> Option<&Reason> {
        let own = self.cells_of(subject);
        if own.iter().any(|cell| cell.value.is_some()) {
            return None;
        }
        own.iter().find_map(|cell| cell.reason.as_ref())
    }
}

/// Compares the observations of one experiment.
pub fn compare(observations: &Observations, design: &Design) -> Comparison {
    let cells = Cells::of(&observations.measurements);
    let failures = first_failures(&observations.failures);
    let subjects = subjects(observations, design);
    let stepped = &observations.stepped;
    let disturbed = &observations.disturbed;
    let source = Source { cells, failures, subjects: &subjects, stepped, disturbed };
    let phases = phases(observations);
    let mut warnings = observations.warnings.clone();
    let mut results: Vec<PhaseResult> =
        phases.into_iter().map(|phase| source.phase(phase, &mut warnings)).collect();
    ratio_only::fill(&mut results);
    conclude(&mut results, &design.looks, observations.noise.as_deref());
    let is_informed = |phase: &PhaseResult| phase.cells.iter().any(|cell| cell.known.is_some());
    let noise = observations.noise.as_deref().filter(|_| results.iter().any(is_informed));
    let untold = untold(&observations.measurements, &warnings);
    let mut warnings = warnings.sentences();
    warnings.extend(untold);
    warnings.extend(residue(&observations.measurements));
    if subjects.len() == 1 {
        warnings.push(ALONE.to_owned());
    }
    Comparison {
        experiment: design.experiment.clone(),
        runs: runs(observations),
        question: design.question.clone(),
        suite: design.suite.clone(),
        bases: design.bases().into_iter().map(str::to_owned).collect(),
        subjects: subjects.into_iter().map(|(label, _)| label).collect(),
        looks: design.looks.clone(),
        phases: results,
        builds: None,
        bank: noise.map(|noise| noise.source.clone()),
        warnings,
    }
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

fn runs(observations: &Observations) -> Vec<String> {
    let measured = observations.measurements.iter().map(|measurement| &measurement.run);
    let failed = observations.failures.iter().map(|failure| &failure.run);
    let runs: BTreeSet<&Name> = measured.chain(failed).collect();
    runs.into_iter().map(Name::to_string).collect()
}

/// The design's subjects, then any that only the records know, against the first base.
fn subjects(observations: &Observations, design: &Design) -> Vec<(String, Option<String>)> {
    let mut subjects = design.subjects.clone();
    let measured = observations.measurements.iter().map(|measurement| &measurement.subject);
    let failed = observations.failures.iter().map(|failure| &failure.subject);
    let found: BTreeSet<&Name> = measured.chain(failed).collect();
    let known: BTreeSet<&str> = design.subjects.iter().map(|(label, _)| label.as_str()).collect();
    let others = found.into_iter().filter(|label| !known.contains(label.as_str()));
    let mut others: Vec<&Name> = others.collect();
    others.sort_by(|a, b| natural::compare(a, b));
    let base = design.bases().first().map(|base| (*base).to_owned());
    subjects.extend(others.into_iter().map(|label| (label.to_string(), base.clone())));
    subjects
}

/// The phases in the suite's order, without cells.
fn phases(observations: &Observations) -> Vec<PhaseResult> {
    let mut phases: BTreeMap<(u32, &str), PhaseResult> = BTreeMap::new();
    for m in &observations.measurements {
        phases.entry((m.position, &m.phase)).or_insert_with(|| PhaseResult {
            phase: m.phase.to_string(),
            workload: m.workload.to_string(),
            group: m.group.to_string(),
            position: m.position,
            range: m.range,
            clients: m.clients,
            cells: Vec::new(),
        });
    }
    for f in &observations.failures {
        phases.entry((f.position, &f.phase)).or_insert_with(|| PhaseResult {
            phase: f.phase.to_string(),
            workload: f.workload.to_string(),
            group: f.group.to_string(),
            position: f.position,
            range: f.range,
            clients: f.clients,
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
        first.entry((failure.phase.as_str(), failure.subject.as_str())).or_insert(failure);
    }
    first
}

fn residue(measurements: &[Measurement]) -> Vec<String> {
    let projection = Projection::new(&["phase"], &["subject"]);
    let sentence = |difference: crate::Difference| {
        let values: Vec<_> = difference.values.iter().map(|value| format!("`{value}`")).collect();
        format!("cells combine values of different {}: {}", difference.key, values.join(", "))
    };
    projection.residue(measurements).into_iter().map(sentence).collect()
}

/// What cells are made from.
struct Source<'a> {
    cells: Cells<'a>,
    failures: BTreeMap<(&'a str, &'a str), &'a Failure>,
    subjects: &'a [(String, Option<String>)],
    stepped: &'a Stepped,
    disturbed: &'a BTreeSet<String>,
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
            self.warn_of_blocks(&phase, subject, base.as_deref(), warnings);
        }
        phase
    }

    /// The metrics that any subject has in this phase; throughput if all failed.
    fn metrics(&self, phase: &str) -> Vec<&'static Metric> {
        let measured = self.cells.metrics(phase);
        let found: Vec<_> =
            METRICS.iter().filter(|metric| measured.contains(metric.name)).collect();
        if found.is_empty() { metric("ops_per_second").into_iter().collect() } else { found }
    }

    fn factors(&self, phase: &str, subject: &str) -> Arc<Levels> {
        if let Some(failure) = self.failures.get(&(phase, subject)) {
            return Arc::clone(&failure.levels);
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
            subject: subject.into(),
            base: base.map(Name::from),
            factors: Arc::default(),
            metric,
            base_value: None,
            value: None,
            by_block: Vec::new(),
            ratio: None,
            block_ratios: Vec::new(),
            interval: None,
            blocks: 0,
            verdict: Verdict::Invalid,
            test: None,
            known: None,
            together: 1,
            reason: None,
            marks: Vec::new(),
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
        match base_side {
            None => {
                cell.blocks = count(values.blocks());
                cell.verdict = Verdict::Base;
            }
            Some(Side::Missing(reason)) => cell.reason = Some(Reason::OfBase(reason.into())),
            Some(Side::Values(base)) => {
                let few = || self.few_stepped(phase, &cell);
                cell.reason = missed(metric, base, values).or_else(few);
                if cell.reason.is_some() {
                    return cell;
                }
                (cell.ratio, cell.block_ratios) = values.ratios(base);
                cell.blocks = count(values.common_blocks(base));
                cell.verdict = match cell.blocks {
                    0 | 1 => Verdict::Unreplicated,
                    _ if guard::moves(metric) && self.disturbed.contains(&phase.phase) => {
                        Verdict::Invalid
                    }
                    _ => Verdict::Unassessed,
                };
            }
        }
        cell
    }

    /// Why a cell is not compared, if too few operations of it or of its base were stepped.
    fn few_stepped(&self, phase: &PhaseResult, cell: &Cell) -> Option<Reason> {
        let few = |subject: &str| self.stepped.few(phase, subject, cell.metric);
        let of_base = || Some(Reason::OfBase(few(cell.base.as_deref()?)?.into()));
        few(&cell.subject).or_else(of_base)
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
