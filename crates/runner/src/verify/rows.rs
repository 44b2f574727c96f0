//! Rows returned and changed, beside what the workload expects.

use super::{Case, Discrepancy, shown};
use model::{
    drive::TracedStatement,
    workload::{Bounds, Check},
};

/// One sentence for each statement of the workload that returned or changed too few or too many
/// rows.
pub(super) fn check(case: &Case<'_>, told: &[TracedStatement]) -> Vec<Discrepancy> {
    let mut found = Vec::new();
    let mut known = Vec::new();
    for one in told {
        let Some(statement) = case.statement(one.origin) else { continue };
        let place = one.origin.map(|origin| (origin.op, origin.statement));
        let cases = [
            ("returned", one.rows, &statement.expect.rows),
            ("changed", one.changed, &statement.expect.changed),
        ];
        for (did, rows, bounds) in cases {
            let Some(wrong) = bounds.as_ref().and_then(|bounds| outside(case, rows, bounds)) else {
                continue;
            };
            if !known.contains(&(place, did)) {
                known.push((place, did));
                let text = format!("`{}` {did} {rows} rows instead of {wrong}", shown(one));
                found.push(case.discrepancy(Some(Check::Rows), text));
            }
        }
    }
    found
}

/// The bounds in words, if `rows` are outside.
fn outside(case: &Case<'_>, rows: u64, bounds: &Bounds) -> Option<String> {
    let (low, high) = (case.number(&bounds.low)?.max(0), case.number(&bounds.high)?);
    let rows = i64::try_from(rows).unwrap_or(i64::MAX);
    let inside = low <= rows && rows <= high;
    let words = if low == high { low.to_string() } else { format!("{low} to {high}") };
    (!inside).then_some(words)
}
