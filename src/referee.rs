//! Judges a run on the way: which of its tests are decided, and what the others would take.

use crate::{comparison, noise::BankChoice};
use analysis::{Cell, Comparison, PhaseResult, Verdict};
use model::{metric::Family, number};
use runner::{Change, Judge, Look};
use std::path::{Path, PathBuf};
use store::{Results, Selection};

/// Tests that a sentence names, at most.
const NAMED: usize = 4;

/// Judges from the records in a results folder.
#[derive(Debug)]
pub(crate) struct Referee {
    results: PathBuf,
}

impl Referee {
    pub(crate) fn new(results: &Path) -> Self {
        Self { results: results.to_owned() }
    }

    fn comparison(&self, run: &str) -> anyhow::Result<Comparison> {
        let results = Results::open(&self.results)?.snapshot();
        let stored = results.slices(&Selection::Run(run.to_owned()))?;
        let (design, observations) =
            comparison::observed(&results, run, &stored.slices, &BankChoice::default())?;
        Ok(analysis::compare(&observations, &design))
    }
}

impl Judge for Referee {
    fn look(&self, run: &str) -> Result<Look, String> {
        self.comparison(run).map(|found| look(&found)).map_err(|error| format!("{error:#}"))
    }

    fn changes(&self, run: &str) -> Result<Vec<Change>, String> {
        let found = self.comparison(run).map_err(|error| format!("{error:#}"))?;
        let change = |one: analysis::InstructionChange<'_>| Change {
            phase: one.phase.to_owned(),
            subjects: [one.base.to_owned(), one.subject.to_owned()],
        };
        Ok(analysis::instruction_changes(&found).into_iter().map(change).collect())
    }
}

fn look(comparison: &Comparison) -> Look {
    if comparison.subjects.len() < 2 {
        let sentence = "one variant: there is nothing to decide".to_owned();
        return Look { sentence, ..Look::default() };
    }
    let phases = comparison.phases.iter();
    let is_awaited = |cell: &Cell| comparison.margins.awaits(cell.metric) && cell.ratio.is_some();
    let is_open = |cell: &Cell| is_awaited(cell) && is_open(cell);
    let (open, closed): (Vec<_>, Vec<_>) =
        phases.partition(|phase| phase.cells.iter().any(is_open));
    let (decided, empty): (Vec<_>, Vec<_>) =
        closed.iter().partition(|phase| phase.cells.iter().any(is_awaited));
    let cells = comparison.phases.iter().flat_map(|phase| &phase.cells);
    let blocks = cells.map(|cell| cell.blocks).max().unwrap_or(0);
    let mut sentence = format!(
        "after {}: {} of {} decided",
        number::counted(blocks, "block"),
        decided.len(),
        number::counted(comparison.phases.len() as u64, "test")
    );
    if !open.is_empty() {
        let need = |phase: &PhaseResult| need(phase, &is_open);
        sentence.push_str(&format!("; open: {}", named(&open, need)));
    }
    if !empty.is_empty() {
        let without = named(&empty, |phase| phase.phase.clone());
        sentence.push_str(&format!("; without a value of what is to be decided: {without}"));
    }
    let names = |phases: &[&PhaseResult]| phases.iter().map(|one| one.phase.clone()).collect();
    let counts = |cell: &Cell| cell.metric.family == Some(Family::Instructions);
    let counted = comparison.phases.iter().filter(|phase| {
        let open = phase.cells.iter().any(|cell| counts(cell) && is_open(cell));
        !open && phase.cells.iter().any(|cell| counts(cell) && cell.ratio.is_some())
    });
    let counted: Vec<&PhaseResult> = counted.collect();
    Look { decided: names(&closed), counted: names(&counted), sentence }
}

/// Whether more blocks may decide a cell.
fn is_open(cell: &Cell) -> bool {
    let is_undecided = cell.verdict.is_assessed() && !cell.verdict.is_decided();
    let may_become = matches!(cell.verdict, Verdict::Unreplicated | Verdict::Invalid);
    is_undecided || may_become
}

/// The first phases, each in the words of `say`, and how many more there are.
fn named(phases: &[&PhaseResult], say: impl Fn(&PhaseResult) -> String) -> String {
    let mut named: Vec<String> = phases.iter().take(NAMED).map(|phase| say(phase)).collect();
    if phases.len() > NAMED {
        named.push(format!("{} more", phases.len() - NAMED));
    }
    named.join(", ")
}

/// An open test, and the blocks that should decide it.
fn need(phase: &PhaseResult, is_open: &dyn Fn(&Cell) -> bool) -> String {
    let open = phase.cells.iter().filter(|cell| is_open(cell));
    let needs: Option<Vec<u32>> = open.map(analysis::blocks_to_decide).collect();
    match needs.and_then(|needs| needs.into_iter().max()) {
        Some(blocks) => format!("{} (about {blocks} blocks)", phase.phase),
        None => phase.phase.clone(),
    }
}
