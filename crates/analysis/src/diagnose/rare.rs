//! What is rare among operations and costs much happens more or less often: page splits, merges and
//! cleanups, whose calls and instructions are counted apart.

use super::{INSTRUCTIONS, Rule, SMALL};
use crate::{
    Cell, PhaseResult,
    evidence::{Evidence, Finding, Moved},
    verdict::{FEWEST_BLOCKS, Verdict},
};
use model::metric::Kind;

pub(super) const RULE: Rule = Rule {
    name: "rare",
    explains: |changed| matches!(changed, Kind::Rate | Kind::CpuTime | Kind::UserInstructions),
    finding,
    ruled_out: |_| None,
};

/// How often, what it costs, and what it is called.
const EVENTS: [(&str, &str, &str); 3] = [
    ("page_splits_per_op", "page_split_user_instructions_per_op", "page splits"),
    ("page_merges_per_op", "page_merge_user_instructions_per_op", "page merges"),
    ("page_cleanups_per_op", "page_cleanup_user_instructions_per_op", "page cleanups"),
];

const ALL: &str = "foreground_user_instructions_per_op";
const USUAL: &str = "usual_user_instructions_per_op";

/// An event, what it costs, and its share of the change in instructions.
struct Part {
    number: Moved,
    cost: Moved,
    what: &'static str,
    share: f64,
}

fn finding(evidence: &Evidence<'_>) -> Option<Finding> {
    let all = evidence.moved_with_effect(&[ALL], INSTRUCTIONS).into_iter().next()?;
    let change = all.value - all.base;
    let part = |(number, cost, what): &(&str, &str, &'static str)| {
        let (number, cost) = (evidence.pair(number)?, evidence.pair(cost)?);
        let share = (cost.value - cost.base) / change;
        (share >= SMALL).then_some(Part { number, cost, what, share })
    };
    let parts = EVENTS.iter().filter_map(part);
    let Part { number, cost, what, share } = parts.max_by(|a, b| a.share.total_cmp(&b.share))?;
    let (value, base) = (per_op(number.value), per_op(number.base));
    let more = if change > 0.0 { "added" } else { "saved" };
    let percent = 100.0 * share.min(1.0);
    // As little as instructions are of the change, these are.
    let little = Some(evidence.most(&all)).filter(|most| *most < SMALL);
    let found = super::finding(&RULE, vec![all, cost, number], |_| {
        format!(
            "There are {value} {what} per operation instead of {base}: they are {percent:.0} % \
             of the {more} instructions."
        )
    })?;
    Some(Finding { share: little, ..found })
}

/// What varies where instructions are inconclusive: a sentence for each test and variant in which
/// rare events are a large part of them, with the ratio of all other instructions.
pub(crate) fn undecided(phases: &[PhaseResult]) -> Vec<String> {
    let open = |cell: &&Cell| cell.metric.name == ALL && cell.verdict == Verdict::Inconclusive;
    let of = |phase: &PhaseResult| {
        let cells = phase.cells.iter().filter(open);
        cells.filter_map(|cell| sentence(phase, cell)).collect::<Vec<_>>()
    };
    phases.iter().flat_map(of).collect()
}

fn sentence(phase: &PhaseResult, cell: &Cell) -> Option<String> {
    let value = |metric: &str| phase.cell(&cell.subject, metric)?.value;
    let usual = phase.cell(&cell.subject, USUAL)?;
    let (ratio, (low, high)) = (usual.ratio?, usual.interval?);
    // Few blocks leave anything open, and so does what varies without rare events.
    if cell.blocks < FEWEST_BLOCKS || spread(cell.interval?) < WIDER * spread((low, high)) {
        return None;
    }
    let parts = EVENTS.iter().filter_map(|(number, cost, what)| {
        Some((value(number)?, value(cost)? / cell.value?, *what))
    });
    let (number, share, what) = parts.max_by(|a, b| a.1.total_cmp(&b.1))?;
    (share >= SMALL).then(|| {
        format!(
            "Instructions of `{}` on `{}` are inconclusive, because {what} are {:.0} % of them ({} \
             per operation) and vary from start to start; all others are {ratio:.3}x (95 % \
             interval {low:.3} to {high:.3}).",
            phase.phase,
            cell.subject,
            100.0 * share,
            per_op(number)
        )
    })
}

/// How much wider the interval of all instructions is than that of the others where rare events are
/// the reason.
const WIDER: f64 = 2.0;

/// Length of an interval of ratios, as a logarithm.
fn spread((low, high): (f64, f64)) -> f64 {
    (high / low).ln()
}

/// Events per operation, with three digits.
fn per_op(value: f64) -> String {
    if value < 0.001 { format!("{value:.1e}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_varies_is_told_beside_all_other_instructions() {
        let mut cells = [
            testing::cell(ALL, 500_000.0, 520_000.0),
            testing::cell(USUAL, 145_000.0, 145_290.0),
            testing::cell("page_splits_per_op", 0.61, 0.64),
            testing::cell("page_split_user_instructions_per_op", 355_000.0, 374_710.0),
        ];
        cells[0].verdict = Verdict::Inconclusive;
        cells[0].interval = Some((0.9, 1.2));
        cells[0].blocks = 4;
        cells[1].interval = Some((1.001, 1.003));
        let mut phase = PhaseResult { cells: cells.to_vec(), ..testing::phase("p") };
        let expected = "Instructions of `p` on `new` are inconclusive, because page splits are \
                        72 % of them (0.640 per operation) and vary from start to start; all \
                        others are 1.002x (95 % interval 1.001 to 1.003).";
        assert_eq!(undecided(&[phase.clone()]), [expected]);
        phase.cells[0].blocks = 3;
        assert!(undecided(&[phase.clone()]).is_empty(), "three blocks decide nothing anyway");
        phase.cells[0].blocks = 4;
        phase.cells[0].interval = Some((1.0380, 1.0416));
        assert!(undecided(&[phase.clone()]).is_empty(), "they do not vary");
        phase.cells[0].interval = Some((0.9, 1.2));
        phase.cells[3].value = Some(50_000.0);
        assert!(undecided(&[phase.clone()]).is_empty(), "a small part");
        phase.cells[3].value = Some(374_710.0);
        phase.cells[0].verdict = Verdict::Equivalent;
        assert!(undecided(&[phase]).is_empty(), "decided");
    }
}
