//! Prepared statements beside text: the same values give the same rows.

use super::{Case, Discrepancy, shown};
use model::{drive::TracedStatement, workload::Check};

/// The first statement whose rows differ between the two modes.
pub(super) fn check(
    case: &Case<'_>,
    prepared: &[TracedStatement],
    text: &[TracedStatement],
) -> Option<Discrepancy> {
    let differ = |reason: String| Some(case.discrepancy(Some(Check::Modes), reason));
    if prepared.len() != text.len() {
        let (prepared, text) = (prepared.len(), text.len());
        return differ(format!("{prepared} prepared statements, but {text} as text"));
    }
    let pairs = prepared.iter().zip(text);
    let (one, other) = pairs.into_iter().find(|(one, other)| {
        (one.origin, one.rows, one.changed) != (other.origin, other.rows, other.changed)
    })?;
    differ(format!(
        "`{}` returned {} and changed {} rows prepared, {} and {} as text",
        shown(one),
        one.rows,
        one.changed,
        other.rows,
        other.changed
    ))
}
