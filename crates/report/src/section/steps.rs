//! The steps of the Insert Benchmark one by one: rates and service levels, what each role did
//! second by second, its response times, costs and sizes.

mod charts;
mod tables;

use super::Section;
use crate::{
    document::{Document, Item},
    inputs::Inputs,
    number, summary, words,
};
use analysis::{Outcome, PhaseCell, PhaseColumn, PhaseResult, sla::RULES};

/// One step: its rates, and everything else that was measured in it.
struct Step<'a> {
    column: &'a PhaseColumn,
    phase: &'a PhaseResult,
}

pub(super) const SECTION: Section = Section { name: "steps", write };

fn write(inputs: &Inputs<'_>, document: &mut Document) {
    let columns = analysis::phase_columns(inputs.comparison);
    let steps: Vec<Step<'_>> = columns.iter().filter_map(|c| step(inputs, c)).collect();
    if steps.is_empty() {
        return;
    }
    document.section("steps", "Steps");
    document.paragraph(
        "Each step by itself: its rates, whether the target insert rate was sustained, what \
         each role did second by second, response times, costs and sizes.",
    );
    for step in &steps {
        let name = summary::step_title(&step.column.phase);
        let anchor = format!("step-{}", words::slug(&step.column.phase));
        document.named_fold(anchor, title(name, step), items(inputs, step));
    }
}

fn step<'a>(inputs: &Inputs<'a>, column: &'a PhaseColumn) -> Option<Step<'a>> {
    let phase = inputs.comparison.phases.iter().find(|phase| phase.phase == column.phase)?;
    Some(Step { column, phase })
}

/// The step in a line: what it is about, from where to where, and how many kept the rate.
fn title(name: &str, step: &Step<'_>) -> String {
    let rates = || step.column.cells.iter().filter_map(|cell| cell.rate);
    let low = rates().fold(f64::INFINITY, f64::min);
    let high = rates().fold(f64::NEG_INFINITY, f64::max);
    let what = if step.column.target_per_second.is_some() { "queries" } else { "rows" };
    let range = match rates().count() {
        0 => "nothing was measured".to_owned(),
        1 => format!("{} {what} per second", number::value(high)),
        _ => format!("{} to {} {what} per second", number::value(low), number::value(high)),
    };
    let missed = |cell: &&PhaseCell| {
        RULES.iter().any(|rule| cell.outcome(rule.name) == Some(Outcome::Missed))
    };
    let missed = step.column.cells.iter().filter(missed).count();
    let level = match (step.column.target_per_second, missed) {
        (None, _) => String::new(),
        (Some(_), 0) if rates().count() == 0 => String::new(),
        (Some(target), 0) => {
            format!(", with {} rows per second inserted at the same time", number::value(target))
        }
        (Some(target), missed) => format!(
            "; {} missed the target of {} inserted rows per second",
            words::variants(missed),
            number::value(target)
        ),
    };
    format!("`{name}`: {range}{level}")
}

fn items(inputs: &Inputs<'_>, step: &Step<'_>) -> Vec<Item> {
    let mut inner = Document::default();
    inner.items.push(Item::Sortable(tables::rates(inputs, step)));
    inner.items.extend(tables::levels(inputs, step));
    charts::add(inputs, step, &mut inner);
    tables::times(inputs, step, &mut inner);
    tables::costs(inputs, step, &mut inner);
    tables::sizes(inputs, step, &mut inner);
    inner.items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_rates_tells_of_no_inserts() {
        let check = |rate: Option<f64>, expected: &str| {
            let cells = vec![PhaseCell { rate, ..PhaseCell::default() }];
            let target_per_second = Some(100.0);
            let column = PhaseColumn { target_per_second, cells, ..PhaseColumn::default() };
            let step = Step { column: &column, phase: &PhaseResult::default() };
            assert_eq!(title("qr100", &step), expected);
        };
        check(None, "`qr100`: nothing was measured");
        let beside = "with 100 rows per second inserted at the same time";
        check(Some(50.0), &format!("`qr100`: 50.0 queries per second, {beside}"));
    }
}
