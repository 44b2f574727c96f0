//! The phases of a comparison as columns of the summary tables.

use crate::{
    Cell, Comparison, PhaseResult,
    service_level::PacedWork,
    shade::{PhaseCell, PhaseColumn},
    sla::RULES,
};

const TARGET: &str = "insert_rows_per_second_target";
const INSERTED: &str = "insert_rows_per_second";
/// Group of the phases that load or index.
const LOAD: &str = "load";

/// The phases that load, and those with paced work, in the comparison's order; none if nothing was
/// paced. Cells are those of the comparison's subjects, whose first one is the base of ratios.
///
/// Values are means over blocks, and rules judge those means.
pub fn phase_columns(comparison: &Comparison) -> Vec<PhaseColumn> {
    let paced = |phase: &&PhaseResult| target(phase).is_some();
    if !comparison.phases.iter().any(|phase| paced(&phase)) {
        return Vec::new();
    }
    let loads = |phase: &&PhaseResult| {
        phase.group == LOAD || phase.cells.iter().any(|cell| cell.metric.name == INSERTED)
    };
    let phases = comparison.phases.iter().filter(|phase| paced(phase) || loads(phase));
    phases
        .map(|phase| PhaseColumn {
            phase: phase.phase.clone(),
            target_per_second: target(phase),
            cells: comparison.subjects.iter().map(|subject| cell(phase, subject)).collect(),
        })
        .collect()
}

/// The target of the first subject that has one [1/s].
fn target(phase: &PhaseResult) -> Option<f64> {
    let targets = phase.cells.iter().filter(|cell| cell.metric.name == TARGET);
    targets.filter_map(|cell| cell.value).find(|target| *target > 0.0)
}

fn cell(phase: &PhaseResult, subject: &str) -> PhaseCell {
    let value = |metric: &str| phase.cell(subject, metric).and_then(|cell: &Cell| cell.value);
    let Some(target_per_second) = value(TARGET) else {
        let rate = value(INSERTED).or_else(|| value("rows_per_second"));
        // Beside subjects with a target a rate of inserts is not what the phase is about.
        let rate = if target(phase).is_some() { value("ops_per_second") } else { rate };
        return PhaseCell { rate, inserted_per_second: value(INSERTED), levels: Vec::new() };
    };
    let inserted_per_second = value(INSERTED);
    let work = PacedWork {
        target_per_second,
        inserted_per_second: inserted_per_second.unwrap_or(f64::NAN),
        deleted_per_second: value("delete_rows_per_second"),
        lag_us_max: value("lag_us_max"),
        seconds_on_target_share: value("seconds_on_target_share"),
        ..PacedWork::default()
    };
    PhaseCell {
        rate: value("ops_per_second"),
        inserted_per_second,
        levels: RULES.iter().map(|rule| rule.judge(&work)).collect(),
    }
}
