//! The tests in which a subject executes more or fewer instructions than its base: what is worth to
//! be explained by function.

use crate::{Cell, Comparison, FEWEST_BLOCKS, PhaseResult, Reason, Verdict};
use model::metric::{Family, Kind};

/// A change in the instructions of an operation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InstructionChange<'a> {
    /// Name of the phase.
    pub phase: &'a str,
    /// Label of the base.
    pub base: &'a str,
    /// Label of the subject.
    pub subject: &'a str,
    /// Instructions relative to the base; CPU time where no instructions were counted.
    pub ratio: f64,
}

/// All changes that are decided, the largest first; behind them what differs by the metric's margin
/// or more after too few blocks for a verdict.
pub fn instruction_changes<'a>(comparison: &'a Comparison) -> Vec<InstructionChange<'a>> {
    let mut found: Vec<(&'a PhaseResult, &'a Cell)> = Vec::new();
    for phase in &comparison.phases {
        for subject in &comparison.subjects {
            found.extend(telling(phase, subject).map(|cell| (phase, cell)));
        }
    }
    found.retain(|(_, cell)| is_decided(cell) || is_early(cell));
    found.sort_by(|(_, a), (_, b)| {
        is_decided(b).cmp(&is_decided(a)).then(size(b).total_cmp(&size(a)))
    });
    let change = |(phase, cell): (&'a PhaseResult, &'a Cell)| {
        Some(InstructionChange {
            phase: &phase.phase,
            base: cell.base.as_deref()?,
            subject: &cell.subject,
            ratio: cell.ratio?,
        })
    };
    found.into_iter().filter_map(change).collect()
}

/// The cell that tells how many instructions a subject executes; else that of its CPU time.
fn telling<'a>(phase: &'a PhaseResult, subject: &str) -> Option<&'a Cell> {
    let known = |wanted: &dyn Fn(&Cell) -> bool| {
        let cells = phase.cells_of(subject).iter();
        cells.filter(|cell| cell.ratio.is_some()).find(|cell| wanted(cell))
    };
    let time = |cell: &Cell| {
        cell.metric.family == Some(Family::Performance) && cell.metric.kind == Kind::CpuTime
    };
    known(&|cell| cell.metric.family == Some(Family::Instructions)).or_else(|| known(&time))
}

fn is_decided(cell: &Cell) -> bool {
    cell.verdict.is_change()
}

fn is_early(cell: &Cell) -> bool {
    let margin = cell.margin.map_or(f64::INFINITY, f64::ln);
    // What disturbs a host does not disturb the counts that explain the change.
    let is_broken =
        cell.verdict == Verdict::Invalid && !matches!(cell.reason, Some(Reason::Disturbed(_)));
    !is_broken && cell.blocks < FEWEST_BLOCKS && size(cell) >= margin
}

/// How far a ratio is from 1.
fn size(cell: &Cell) -> f64 {
    let ratio = cell.ratio.filter(|ratio| *ratio > 0.0);
    ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const COUNT: &str = "foreground_user_instructions_per_op";
    const TIME: &str = "server_cpu_us_per_op";

    /// Metric, ratio, blocks and verdict of a cell.
    type Told = (&'static str, f64, u32, Verdict);

    fn found(phases: &[(&str, &[Told])]) -> Vec<String> {
        let phase = |(name, cells): &(&str, &[Told])| {
            let mut phase = testing::phase(name);
            for (metric, ratio, blocks, verdict) in *cells {
                let cell = testing::cell(metric, 100.0, 100.0 * ratio);
                phase.cells.push(Cell { blocks: *blocks, verdict: *verdict, ..cell });
            }
            phase
        };
        let comparison = testing::comparison(phases.iter().map(phase).collect());
        instruction_changes(&comparison).iter().map(|change| change.phase.to_owned()).collect()
    }

    #[test]
    fn decided_changes_come_first_and_equal_ones_never() {
        use Verdict::{CodeCost, Equivalent, Improvement, Inconclusive, Unreplicated};
        let phases: [(&str, &[_]); 6] = [
            ("small", &[(COUNT, 1.01, 4, CodeCost)]),
            ("none", &[(COUNT, 1.0, 4, Equivalent)]),
            ("open", &[(COUNT, 1.5, 4, Inconclusive)]),
            ("early", &[(COUNT, 1.8, 3, Inconclusive)]),
            ("large", &[(COUNT, 0.5, 8, Improvement)]),
            ("once", &[(COUNT, 1.001, 1, Unreplicated)]),
        ];
        assert_eq!(found(&phases), ["large", "small", "early"]);
    }

    #[test]
    fn time_tells_where_nothing_is_counted() {
        use Verdict::{Equivalent, Regression};
        let phases: [(&str, &[_]); 2] = [
            ("time", &[(TIME, 1.3, 4, Regression)]),
            ("both", &[(COUNT, 1.0, 4, Equivalent), (TIME, 1.3, 4, Regression)]),
        ];
        assert_eq!(found(&phases), ["time"]);
    }
}
