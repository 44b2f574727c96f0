//! What follows from cells: decided for all phases of a metric together, because of many
//! comparisons some look changed by chance.

use crate::{
    claim::{Claim, Share, Test},
    comparison::{Cell, PhaseResult},
    verdict::{Verdict, error_rate},
};
use model::{
    metric::{Family, Metric},
    shared::Name,
};
use std::{collections::BTreeMap, sync::Arc};

/// Gives the cells of several blocks their verdicts. `looks` are the numbers of blocks after which
/// the run was judged and could end, in ascending order; empty where their number was fixed.
///
/// - Changed: a paired t test over blocks against the metric's floor, two-sided, corrected over
///   the family by Holm's method, or with looks by Bonferroni's and by what each look may spend
///   ([`nominal`](crate::looks::nominal)). Whether it is larger than the margin, its interval
///   says.
/// - Equivalent: two one-sided tests against the margins (Schuirmann), each at [`ERROR_RATE`].
///   Calling all phases equivalent needs all of them to pass, so no correction is due.
/// - Otherwise inconclusive; that nothing was found is never said to mean that nothing changed.
pub(crate) fn decide(phases: &mut [PhaseResult], looks: &[u32]) {
    let looks: Arc<[u32]> = looks.into();
    let mut families: BTreeMap<(&'static str, Name), Vec<Case<'_>>> = BTreeMap::new();
    let cells = phases.iter_mut().flat_map(|phase| &mut phase.cells);
    for cell in cells.filter(|cell| cell.verdict == Verdict::Unassessed) {
        let key = (family(cell.metric), cell.subject.clone());
        families.entry(key).or_default().extend(Case::of(cell));
    }
    for mut family in families.into_values() {
        let tests = family.len();
        for Case { cell, claim } in &mut family {
            let share = Share { error: error_rate(cell.metric), tests, looks: Arc::clone(&looks) };
            cell.test = Some(claim.test(cell.blocks, &share));
        }
        if looks.is_empty() { holm(family) } else { bonferroni(family) }
    }
}

/// What a metric shares its error rate with.
fn family(metric: &'static Metric) -> &'static str {
    match metric.family {
        Some(Family::Performance) => "performance",
        Some(Family::Instructions) => "instructions",
        None => metric.name,
    }
}

/// A cell that can be decided.
struct Case<'a> {
    cell: &'a mut Cell,
    claim: Claim,
}

impl<'a> Case<'a> {
    fn of(cell: &'a mut Cell) -> Option<Self> {
        if cell.block_ratios.len() != cell.blocks as usize {
            return None;
        }
        let claim = Claim::of(cell)?;
        Some(Self { cell, claim })
    }

    /// p value of a change beyond the floor.
    fn chance(&self) -> f64 {
        self.cell.test.as_ref().map_or(1.0, |test| test.p_change)
    }

    fn judge(&mut self, changed: Changed) {
        let Some(test) = &self.cell.test else { return };
        self.cell.verdict = match changed {
            Changed::Yes => self.claim.changed(self.cell.metric, test),
            Changed::Open => self.claim.unchanged(test),
        };
    }
}

/// Whether the test of a change was passed.
enum Changed {
    Yes,
    Open,
}

/// From the smallest p value on, each against the error rate shared among those that are left.
fn holm(mut family: Vec<Case<'_>>) {
    family.sort_by(|one, other| one.chance().total_cmp(&other.chance()));
    let mut rejecting = true;
    let count = family.len();
    for (index, case) in family.iter_mut().enumerate() {
        let error = error_rate(case.cell.metric);
        rejecting = rejecting && case.chance() <= error / (count - index) as f64;
        case.judge(if rejecting { Changed::Yes } else { Changed::Open });
    }
}

/// Each against its own share: Holm's steps at several looks would spend more than there is.
fn bonferroni(family: Vec<Case<'_>>) {
    for mut case in family {
        let passed = case.cell.test.as_ref().is_some_and(Test::finds_change);
        case.judge(if passed { Changed::Yes } else { Changed::Open });
    }
}

#[cfg(test)]
mod tests;
