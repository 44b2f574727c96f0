//! What a comparison found: phases, and in them a cell for each subject and metric.

use crate::{
    claim::Test,
    noise::{BankSource, Known},
    overall::mean_interval,
    prior::Spread,
    reason::Reason,
    verdict::Verdict,
};
use model::{Levels, margins::Margins, mark::Mark, metric::Metric, shared::Name};
use std::{collections::BTreeSet, sync::Arc};

/// The group of phases that are reported and in no mean over all phases: what is executed beside
/// the rows of a published list.
pub const APART: &str = "apart";

/// What one experiment found.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Which changes matter, and which had to be decided.
    pub margins: Margins,
    /// The phases in the suite's order.
    pub phases: Vec<PhaseResult>,
    /// Whether the values are those of an archive, whose repetitions nothing here can add to.
    pub is_imported: bool,
    /// Whether a run is not finished: more blocks come, or were planned.
    pub is_unfinished: bool,
    /// What was compared beside what the names of the variants say, one sentence each: other
    /// packagers and compilers, commits that do not wait for the disk, embedded engines beside
    /// servers.
    pub conditions: Vec<String>,
    /// The bank of runs that told of the spread of blocks; none where none did.
    pub bank: Option<BankSource>,
    /// One sentence each.
    pub warnings: Vec<String>,
    /// Those of the warnings that tell of what was to be compared and is not: where nothing else is
    /// worse, nobody knows whether this is.
    pub gaps: Vec<String>,
}

/// What one phase found.
#[derive(Debug, Clone, Default, PartialEq)]
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
    /// Those of the roles that lead, where they may be others; 0 where these work at a set rate.
    pub lead_clients: Option<u32>,
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
    /// The ratio from which on a change of it matters; none if nothing is claimed of it.
    pub margin: Option<f64>,
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
    /// How its logarithm differs from one pair of runs to another, where its blocks are those of
    /// two runs and earlier ones tell it.
    pub between: Option<Spread>,
    /// Neighboring blocks that are taken together, because they agree: usually 1.
    pub together: usize,
    /// Why there is no value or no ratio.
    pub reason: Option<Reason>,
    /// How far the value may be trusted.
    pub marks: Vec<Mark>,
}

impl Cell {
    /// A cell of a metric of which nothing is known yet.
    pub fn empty(subject: impl Into<Name>, metric: &'static Metric) -> Self {
        Self {
            subject: subject.into(),
            base: None,
            factors: Arc::default(),
            metric,
            margin: None,
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
            between: None,
            together: 1,
            reason: None,
            marks: Vec::new(),
        }
    }
}

impl Comparison {
    /// Warns of what was to be compared and is not.
    pub fn lacks(&mut self, what: String) {
        self.warnings.push(what.clone());
        self.gaps.push(what);
    }

    /// Everything that readers of bare values must know, one sentence each: the warnings and the
    /// conditions.
    pub fn all_warnings(&self) -> impl Iterator<Item = &str> {
        self.warnings.iter().chain(&self.conditions).map(String::as_str)
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
    /// Connections whose operations follow each other, so that throughput tells the time of one;
    /// 0 where none do, or their number is unknown.
    pub fn busy_clients(&self) -> u32 {
        self.lead_clients.filter(|_| self.clients > 0).unwrap_or(self.clients)
    }

    /// Its name without the level of a factor, as phases have it that differ in this level alone.
    pub fn name_without(&self, factor: &str, level: &str) -> String {
        let part = format!("{factor}{level}");
        let mut parts: Vec<&str> = self.phase.split('.').collect();
        if let Some(at) = parts.iter().rposition(|one| *one == part) {
            parts.remove(at);
        }
        parts.join(".")
    }

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

    /// Which blocks of the comparison the ratios of a cell are of: those that its base has too.
    /// None where the values do not tell.
    pub(crate) fn blocks_of_ratios(&self, cell: &Cell) -> Option<Vec<usize>> {
        let base = self.cell(cell.base.as_deref()?, cell.metric.name)?;
        let both = cell.by_block.iter().zip(&base.by_block).enumerate();
        let known = both.filter(|(_, (own, base))| own.is_some() && base.is_some());
        let blocks: Vec<usize> = known.map(|(block, _)| block).collect();
        (blocks.len() == cell.block_ratios.len()).then_some(blocks)
    }

    /// Whether each host counts as one block of a cell, because hosts disagree in it: blocks with
    /// both values are more than its ratios.
    pub fn is_by_host(&self, cell: &Cell) -> bool {
        let base = cell.base.as_deref().and_then(|base| self.cell(base, cell.metric.name));
        let both = |base: &Cell| {
            let blocks = cell.by_block.iter().zip(&base.by_block);
            blocks.filter(|(own, base)| own.is_some() && base.is_some()).count()
        };
        base.is_some_and(|base| both(base) > cell.block_ratios.len())
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
