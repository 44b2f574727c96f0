//! Columns of the summary tables from plain numbers, and cells as published reports print them.

use analysis::{Content, PacedWork, PhaseCell, PhaseColumn, Shown, sla::RULES};

/// A column of a phase with queries: pairs of queries and inserts per second.
pub(crate) fn column(phase: &str, target: f64, cells: &[(f64, f64)]) -> PhaseColumn {
    let cell = |&(queries, inserts): &(f64, f64)| {
        let work = PacedWork {
            target_per_second: target,
            inserted_per_second: inserts,
            ..PacedWork::default()
        };
        PhaseCell {
            rate: Some(queries),
            inserted_per_second: Some(inserts),
            levels: RULES.iter().map(|rule| (rule.judge)(&work)).collect(),
            ..PhaseCell::default()
        }
    };
    PhaseColumn {
        phase: phase.to_owned(),
        target_per_second: Some(target),
        cells: cells.iter().map(cell).collect(),
    }
}

/// A column of a phase that only loads.
pub(crate) fn load_column(phase: &str, rates: &[f64]) -> PhaseColumn {
    let cell = |rate: &f64| PhaseCell { rate: Some(*rate), ..PhaseCell::default() };
    PhaseColumn {
        phase: phase.to_owned(),
        target_per_second: None,
        cells: rates.iter().map(cell).collect(),
    }
}

/// The text and the class of a cell.
pub(crate) fn printed(shown: &Shown) -> (String, String) {
    let text = match shown.content {
        Content::Rate(rate) => format!("{rate:.0}"),
        Content::Ratio(ratio) => format!("{ratio:.2}"),
        Content::Judged(effect) => format!("{:.2} {}", effect.ratio, effect.verdict.name()),
        Content::Missed(_) => "missed".to_owned(),
        Content::Failed => "failed".to_owned(),
        Content::Missing => String::new(),
    };
    (text, shown.shade.class().unwrap_or_default().to_owned())
}
