//! After the last block: the changes in instructions that a run has found, by function.

use super::{Agreed, Asked, Wanted, sides};
use crate::{
    Error,
    judge::{Change, ExplainChanges},
    ledger::Activity,
    run::Run,
    server::{side_by_side::at_once, tables},
};
use emulator::Emulator;
use model::{
    explanation::{EXPLANATION_FORMAT, Explanation, Quantity, Side},
    number::counted,
    plan::PhaseKind,
};
use std::collections::BTreeMap;

/// Key of the changes that are explained, in a run's state: all blocks are measured then.
const EXPLAINED: &str = "explained";

/// The emulator, if changes are to be explained; a run need not be over to learn that it has none.
pub(crate) fn emulator(run: &mut Run<'_>) -> Option<Emulator> {
    run.options.explain.as_ref()?;
    let found = Emulator::find();
    found.map_err(|error| run.warn(&format!("no change will be explained: {error}"))).ok()
}

/// Whether an earlier execution of the run has measured its last block.
pub(crate) fn is_measured(run: &Run<'_>) -> Result<bool, Error> {
    Ok(run.writer.state::<Vec<Change>>(EXPLAINED)?.is_some())
}

/// Explains the largest changes, and warns of those that cannot be. Fails only where the user
/// interrupts it; a resume makes what is missing.
pub(crate) fn explain_changes(run: &mut Run<'_>, emulator: Emulator) -> Result<(), Error> {
    let Some(asked) = run.options.explain.clone() else { return Ok(()) };
    let about = emulator.about();
    run.emulator = Some(emulator);
    let done = run.during(Activity::Explanation, |run| all(run, &asked, &about));
    match done {
        Err(Error::Interrupted) => Err(Error::Interrupted),
        Err(error) => {
            run.warn(&format!("not all changes are explained: {error}"));
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

fn all(run: &mut Run<'_>, asked: &ExplainChanges, emulator: &str) -> Result<(), Error> {
    let changes = missing(run, asked)?;
    let Some(first) = changes.first() else {
        run.step("no change in instructions is left to explain");
        return Ok(());
    };
    let late = if run.options.ending.budget.is_some() { ", after the budget" } else { "" };
    run.step(&format!(
        "explaining {} by function{late}, the largest first, in {}",
        counted(changes.len() as u64, "change"),
        first.phase,
    ));
    let agreed = changes.iter().map(|change| (change.phase.clone(), Agreed::default()));
    let agreed = agreed.collect();
    let mut found = Found { emulator, changes, sides: BTreeMap::new() };
    for labels in found.subjects().chunks(at_once(1)) {
        found.count(run, labels, &agreed)?;
        found.keep_complete(run)?;
    }
    Ok(())
}

/// The changes to explain, without those that an earlier execution has explained.
fn missing(run: &mut Run<'_>, asked: &ExplainChanges) -> Result<Vec<Change>, Error> {
    let mut changes = match run.writer.state::<Vec<Change>>(EXPLAINED)? {
        Some(known) => known,
        None => {
            let found = asked.judge.changes(run.writer.id()).map_err(Error::Judge)?;
            let (loaded, filled): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|change| is_loaded(run, change));
            if let Some(change) = filled.first() {
                run.warn(&format!(
                    "changes of phases whose tables or indexes the run itself makes are explained \
                     by `dbdyno explain` alone: {}",
                    change.phase
                ));
            }
            loaded.into_iter().take(asked.most).collect()
        }
    };
    run.writer.note_state(EXPLAINED, &changes)?;
    let known = run.writer.explanations()?;
    changes.retain(|change| {
        let subjects = change.subjects.each_ref().map(String::as_str);
        let what = (Quantity::Instructions, change.phase.as_str(), subjects);
        !known.iter().any(|one| one.what() == what)
    });
    Ok(changes)
}

/// Whether the tables of a phase are there before the first one.
fn is_loaded(run: &Run<'_>, change: &Change) -> bool {
    let mut phases = run.plan.phases.iter();
    let own = phases.find(|phase| phase.name == change.phase && phase.kind == PhaseKind::Measure);
    own.is_some_and(|own| {
        let schema = &own.script.schema;
        let same = |phase: &&model::plan::Phase| phase.script.schema == *schema;
        let indexed = run.plan.phases.iter().filter(same).any(|one| one.kind == PhaseKind::Index);
        !indexed && tables::filling(run.plan, own).is_none()
    })
}

/// What is counted so far.
struct Found<'a> {
    emulator: &'a str,
    /// What is not explained yet.
    changes: Vec<Change>,
    /// By phase and subject.
    sides: BTreeMap<(String, String), Side>,
}

impl Found<'_> {
    /// Labels in the order in which they are counted: each base before what is compared with it.
    fn subjects(&self) -> Vec<String> {
        let mut labels: Vec<String> = Vec::new();
        for label in self.changes.iter().flat_map(|change| &change.subjects) {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        labels
    }

    /// Counts the phases of subjects. Changes of a subject that cannot be counted are given up.
    fn count(
        &mut self,
        run: &mut Run<'_>,
        labels: &[String],
        agreed: &BTreeMap<String, Agreed>,
    ) -> Result<(), Error> {
        let plan = run.plan;
        let wanted = labels.iter().filter_map(|label| {
            let subject = plan.subjects.iter().position(|subject| subject.label == *label)?;
            let is_own = |name: &str| {
                let mut own = self.changes.iter().filter(|change| change.subjects.contains(label));
                own.any(|change| change.phase == name)
            };
            let asked =
                plan.phases.iter().filter(|phase| is_own(&phase.name)).filter_map(|phase| {
                    agreed.get(&phase.name).map(|agreed| Asked { phase, agreed })
                });
            Some(Wanted { subject, asked: asked.collect() })
        });
        let wanted: Vec<Wanted<'_>> =
            wanted.filter(|wanted: &Wanted<'_>| !wanted.asked.is_empty()).collect();
        let counted: Vec<usize> = wanted.iter().map(|wanted| wanted.subject).collect();
        for (subject, found) in counted.into_iter().zip(sides(run, wanted, Quantity::Instructions)?)
        {
            let label = &plan.subjects[subject].label;
            match found {
                Ok(sides) => {
                    let named =
                        sides.into_iter().map(|(phase, side)| ((phase, label.clone()), side));
                    self.sides.extend(named);
                }
                Err(error) => {
                    let before = self.changes.len();
                    self.changes.retain(|change| !change.subjects.contains(label));
                    // Without its base a variant is not explained anyway.
                    if self.changes.len() < before {
                        run.warn(&error.to_string());
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds to the run what has both sides.
    fn keep_complete(&mut self, run: &Run<'_>) -> Result<(), Error> {
        let mut left = Vec::new();
        for change in std::mem::take(&mut self.changes) {
            let side = |label: &String| self.sides.get(&(change.phase.clone(), label.clone()));
            let [Some(base), Some(subject)] = change.subjects.each_ref().map(side) else {
                left.push(change);
                continue;
            };
            run.writer.keep_explanation(&Explanation {
                format: EXPLANATION_FORMAT,
                phase: change.phase.clone(),
                by: Quantity::Instructions,
                means: self.emulator.to_owned(),
                sides: [base.clone(), subject.clone()],
            })?;
        }
        self.changes = left;
        Ok(())
    }
}
