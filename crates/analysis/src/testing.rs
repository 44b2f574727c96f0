//! Values for tests.

use crate::{Cell, Comparison, PhaseResult, Verdict, metric};
use model::margins::Margins;

/// A cell of the subject `new` against `old`, of one block.
pub(crate) fn cell(name: &str, base: f64, value: f64) -> Cell {
    let metric = metric(name).unwrap();
    Cell {
        base: Some("old".into()),
        margin: Margins::default().of(metric),
        base_value: Some(base),
        value: Some(value),
        by_block: vec![Some(value)],
        ratio: Some(value / base),
        blocks: 1,
        verdict: Verdict::Unreplicated,
        ..Cell::empty("new", metric)
    }
}

/// A phase without cells.
pub(crate) fn phase(name: &str) -> PhaseResult {
    PhaseResult {
        phase: name.to_owned(),
        workload: name.to_owned(),
        group: "point".to_owned(),
        clients: 1,
        ..PhaseResult::default()
    }
}

/// A comparison of `new` with `old`.
pub(crate) fn comparison(phases: Vec<PhaseResult>) -> Comparison {
    Comparison {
        experiment: "e".to_owned(),
        bases: vec!["old".to_owned()],
        subjects: vec!["old".to_owned(), "new".to_owned()],
        phases,
        ..Comparison::default()
    }
}
