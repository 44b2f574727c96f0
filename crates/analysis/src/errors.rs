//! Errors that make throughput mean something else: what failed is counted as work, or repeated.

use crate::{Cell, PhaseResult};
use model::number::counted;

/// Errors for each operation from which on they are told on the first screen.
const MANY: f64 = 0.01;

/// Cells that the sentence names.
const NAMED: usize = 3;

/// A sentence where variants had many errors, the most first.
pub(crate) fn many(phases: &[PhaseResult]) -> Option<String> {
    let of = |phase: &'_ PhaseResult| {
        let cells = phase.cells.iter().filter(|cell| cell.metric.name == "errors_per_op");
        let told = |cell: &Cell| {
            let errors = cell.value.filter(|value| *value >= MANY)?;
            Some((
                errors,
                format!("{:.1} in `{}` on `{}`", 100.0 * errors, phase.phase, cell.subject),
            ))
        };
        cells.filter_map(told).collect::<Vec<_>>()
    };
    let mut found: Vec<(f64, String)> = phases.iter().flat_map(of).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let more = found.len().saturating_sub(NAMED);
    let mut named: Vec<String> = found.into_iter().take(NAMED).map(|(_, told)| told).collect();
    if more > 0 {
        named.push(counted(more as u64, "more test"));
    }
    (!named.is_empty()).then(|| {
        format!("Errors for every 100 operations, retried ones included: {}.", named.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn many_errors_are_told_with_the_most_first() {
        let check = |errors: &[f64], expected: Option<&str>| {
            let phases = errors.iter().zip('a'..).map(|(errors, name)| PhaseResult {
                cells: vec![testing::cell("errors_per_op", 0.0, *errors)],
                ..testing::phase(&name.to_string())
            });
            assert_eq!(many(&phases.collect::<Vec<_>>()).as_deref(), expected);
        };
        check(&[0.0, 0.0099], None);
        check(
            &[0.0, 0.8888],
            Some("Errors for every 100 operations, retried ones included: 88.9 in `b` on `new`."),
        );
        check(
            &[0.02, 0.5, 0.03, 0.04],
            Some(
                "Errors for every 100 operations, retried ones included: 50.0 in `b` on `new`, 4.0 \
                 in `d` on `new`, 3.0 in `c` on `new`, 1 more test.",
            ),
        );
    }
}
