//! Values for tests.

use crate::{Cell, Comparison, PhaseResult, Verdict, metric};
use model::margins::Margins;

/// A cell of the subject `new` against `old`, of one block.
pub(crate) fn cell(name: &str, base: f64, value: f64) -> Cell {
    Cell {
        subject: "new".into(),
        base: Some("old".into()),
        factors: Default::default(),
        metric: metric(name).unwrap(),
        margin: Margins::default().of(metric(name).unwrap()),
        base_value: Some(base),
        value: Some(value),
        by_block: vec![Some(value)],
        ratio: Some(value / base),
        block_ratios: Vec::new(),
        interval: None,
        blocks: 1,
        verdict: Verdict::Unreplicated,
        test: None,
        known: None,
        together: 1,
        reason: None,
        marks: Vec::new(),
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
        runs: Vec::new(),
        question: String::new(),
        suite: String::new(),
        bases: vec!["old".to_owned()],
        subjects: vec!["old".to_owned(), "new".to_owned()],
        looks: Vec::new(),
        margins: Default::default(),
        phases,
        is_imported: false,
        is_unfinished: false,
        conditions: Vec::new(),
        bank: None,
        warnings: Vec::new(),
    }
}
