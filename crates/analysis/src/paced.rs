//! The phases of a comparison as columns of the summary tables.

use crate::{
    Cell, Comparison, Outcome, PhaseResult,
    missed::misses,
    rate::RATE,
    service_level::{PacedWork, ServiceLevel},
    shade::{Effect, PhaseCell, PhaseColumn},
    sla::{RULES, Rule},
};
use model::mark::Miss;

/// Rows that were to be inserted per second beside what the phase is about.
pub(crate) const TARGET: &str = "insert_rows_per_second_target";
const INSERTED: &str = "insert_rows_per_second";
/// What phases with paced work are about.
const QUERIES: &str = "ops_per_second";
/// Group of the phases that load or index.
const LOAD: &str = "load";

/// The phases that load, and those with paced work, in the comparison's order; none if nothing was
/// paced. Cells are those of the comparison's subjects, each with its base.
///
/// Values are means over blocks. Rules judge every block by itself, and the worst is what they say:
/// one good block does not make up for a bad one, nor good pieces of a block for one that missed.
pub fn phase_columns(comparison: &Comparison) -> Vec<PhaseColumn> {
    let paced = |phase: &&PhaseResult| target(phase).is_some();
    if !comparison.phases.iter().any(|phase| paced(&phase)) {
        return Vec::new();
    }
    let loads = |phase: &&PhaseResult| {
        phase.group == LOAD || phase.cells.iter().any(|cell| cell.metric.name == INSERTED)
    };
    // What a phase was to do is not known where it failed for all.
    let failed = |phase: &&PhaseResult| {
        let nothing = phase.cells.iter().all(|cell| cell.value.is_none());
        nothing && phase.cells.iter().any(|cell| cell.failed().is_some())
    };
    let shown = |phase: &&PhaseResult| paced(phase) || loads(phase) || failed(phase);
    let phases = comparison.phases.iter().filter(shown);
    phases
        .map(|phase| {
            let cells = comparison.subjects.iter().map(|subject| PhaseCell {
                base: base(comparison, phase, subject),
                ..cell(phase, subject)
            });
            PhaseColumn {
                phase: phase.phase.clone(),
                target_per_second: target(phase),
                cells: cells.collect(),
            }
        })
        .collect()
}

/// Where the base of a subject stands among the subjects: its own place for a base.
fn base(comparison: &Comparison, phase: &PhaseResult, subject: &str) -> usize {
    let own = phase.cells_of(subject).first();
    let base = own.and_then(|cell| cell.base.as_deref()).unwrap_or(subject);
    comparison.subjects.iter().position(|label| label == base).unwrap_or(0)
}

/// The target of the first subject that has one [1/s].
fn target(phase: &PhaseResult) -> Option<f64> {
    let targets = phase.cells.iter().filter(|cell| cell.metric.name == TARGET);
    targets.filter_map(|cell| cell.value).find(|target| *target > 0.0)
}

/// The first of these metrics that the subject has a value of, with what it compares to.
fn rate(phase: &PhaseResult, subject: &str, metrics: &[&str]) -> (Option<f64>, Option<Effect>) {
    let cells = metrics.iter().filter_map(|metric| phase.cell(subject, metric));
    let Some(cell) = cells.into_iter().find(|cell| cell.value.is_some()) else {
        return (None, None);
    };
    let effect = |ratio| Effect { ratio, interval: cell.interval, verdict: cell.verdict };
    (cell.value, cell.ratio.map(effect))
}

fn cell(phase: &PhaseResult, subject: &str) -> PhaseCell {
    let value = |metric: &str| phase.cell(subject, metric).and_then(|cell: &Cell| cell.value);
    let failure = phase.cells_of(subject).iter().find_map(Cell::failed).cloned();
    let inserted_per_second = value(INSERTED);
    let Some(target_per_second) = value(TARGET) else {
        // Beside subjects with a target a rate of inserts is not what the phase is about.
        let metrics: &[&str] = match target(phase) {
            Some(_) => &[QUERIES],
            None => &[INSERTED, "rows_per_second"],
        };
        let (rate, effect) = rate(phase, subject, metrics);
        return PhaseCell { rate, effect, inserted_per_second, failure, ..PhaseCell::default() };
    };
    let mut levels = levels(&blocks(phase, subject, target_per_second));
    for mark in phase.cell(subject, TARGET).into_iter().flat_map(|cell| &cell.marks) {
        let misses = misses(mark).unwrap_or_default();
        levels.iter_mut().for_each(|level| obey(level, misses));
        // That of queries is no target of inserted rows, and leaves nothing to compare either.
        if levels.iter().all(|level| level.rule != RATE) {
            let own = misses.iter().find(|miss| miss.rule == RATE);
            let level = |miss: &Miss| {
                ServiceLevel::new(RATE, Outcome::Missed, Vec::new(), miss.why.clone())
            };
            levels.extend(own.map(level));
        }
    }
    let (rate, effect) = rate(phase, subject, &[QUERIES]);
    PhaseCell { rate, effect, inserted_per_second, levels, failure, ..PhaseCell::default() }
}

/// A rule that a slice missed is missed, whatever means over slices say.
fn obey(level: &mut ServiceLevel, misses: &[Miss]) {
    if level.outcome == Outcome::Missed {
        return;
    }
    if let Some(miss) = misses.iter().find(|miss| miss.rule == level.rule) {
        level.outcome = Outcome::Missed;
        level.why = miss.why.clone();
        level.block = None;
    }
}

/// Paced work of every block in which the subject did any, with the number of the block from 1.
fn blocks(phase: &PhaseResult, subject: &str, target_per_second: f64) -> Vec<(usize, PacedWork)> {
    let of = |metric: &str| phase.cell(subject, metric).map(|cell| cell.by_block.as_slice());
    let at = |metric: &str, block: usize| of(metric)?.get(block).copied().flatten();
    let count = of(TARGET).unwrap_or_default().len();
    let done = (0..count).filter_map(|block| {
        let work = PacedWork {
            target_per_second: at(TARGET, block)?,
            inserted_per_second: at(INSERTED, block).unwrap_or(f64::NAN),
            deleted_per_second: at("delete_rows_per_second", block),
            lag_us_max: at("lag_us_max", block),
            seconds_on_target_share: at("seconds_on_target_share", block),
            ..PacedWork::default()
        };
        Some((block + 1, work))
    });
    let mut done: Vec<_> = done.collect();
    if done.is_empty() {
        let inserted_per_second = f64::NAN;
        done.push((1, PacedWork { target_per_second, inserted_per_second, ..Default::default() }));
    }
    done
}

/// What every rule says of the blocks: the worst, with the block where there are several.
fn levels(blocks: &[(usize, PacedWork)]) -> Vec<ServiceLevel> {
    let of = |rule: &Rule| {
        let levels = blocks.iter().map(|(_, work)| (rule.judge)(work)).collect();
        let (worst, mut level) = ServiceLevel::worst(levels)?;
        if let ([_, _, ..], Some((number, _))) = (blocks, blocks.get(worst)) {
            level.block = Some(*number);
        }
        Some(level)
    };
    RULES.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Verdict, metric};

    /// A phase of one subject at 1000 rows/s, with these values of its blocks.
    fn phase(metrics: &[(&str, &[f64])]) -> PhaseResult {
        let cell = |(name, values): &(&str, &[f64])| Cell {
            value: Some(values.iter().sum::<f64>() / values.len() as f64),
            by_block: values.iter().map(|value| Some(*value)).collect(),
            blocks: values.len() as u32,
            verdict: Verdict::Base,
            ..Cell::empty("s", metric(name).unwrap())
        };
        PhaseResult {
            phase: "qr1000".into(),
            workload: "ibench-range".into(),
            group: "range".into(),
            clients: 1,
            cells: metrics.iter().map(cell).collect(),
            ..PhaseResult::default()
        }
    }

    fn strict(shares: &[f64], lags: &[f64]) -> ServiceLevel {
        let same = |value: f64| vec![value; shares.len()];
        let phase = phase(&[
            (TARGET, &same(1000.0)),
            (INSERTED, &same(1000.0)),
            ("ops_per_second", &same(50.0)),
            ("seconds_on_target_share", shares),
            ("lag_us_max", lags),
        ]);
        let cell = cell(&phase, "s");
        cell.levels.into_iter().find(|level| level.rule == "strict").unwrap()
    }

    #[test]
    fn every_block_has_to_sustain_the_target() {
        let check = |shares: &[f64], lags: &[f64], outcome: Outcome, start: &str| {
            let level = strict(shares, lags);
            assert_eq!(level.outcome, outcome, "{level:?}");
            assert!(level.words().starts_with(start), "{}", level.words());
        };
        let (sustained, missed) = (Outcome::Sustained, Outcome::Missed);
        check(&[1.0], &[10.0], sustained, "inserted rows per second 1000.0");
        // The mean of the shares is 0.96, and of the lags half a second.
        check(&[1.0, 0.92, 0.96], &[10.0; 3], missed, "block 2: share of seconds on target 0.920");
        check(&[1.0; 3], &[0.0, 0.0, 1.5e6], missed, "block 3: largest lag 1.50 s");
        check(&[0.9, 0.5, 0.6], &[10.0; 3], missed, "block 2: share of seconds on target 0.500");
        check(&[1.0, 0.96], &[0.0, 0.0], sustained, "block 2: inserted rows per second");
    }
}
