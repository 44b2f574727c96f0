//! Rows returned and changed, beside what the workload expects.

use super::{Case, Discrepancy, shown};
use model::{drive::TracedStatement, number::counted, script::Bounds, workload::Check};

/// One sentence for each statement of the workload that returned or changed too few or too many
/// rows.
pub(super) fn check(case: &Case<'_>, told: &[TracedStatement]) -> Vec<Discrepancy> {
    let mut found = Vec::new();
    let mut known = Vec::new();
    for one in told {
        let Some(statement) = case.statement(one.origin) else { continue };
        let place = one.origin.map(|origin| (origin.op, origin.statement));
        let cases = [
            ("returned", one.rows, statement.expect.rows),
            ("changed", one.changed, statement.expect.changed),
        ];
        for (did, rows, bounds) in cases {
            let Some(wrong) = bounds.and_then(|bounds| outside(rows, bounds)) else {
                continue;
            };
            if !known.contains(&(place, did)) {
                known.push((place, did));
                let text =
                    format!("`{}` {did} {} instead of {wrong}", shown(one), counted(rows, "row"));
                found.push(case.discrepancy(Some(Check::Rows), text));
            }
        }
    }
    found
}

/// The bounds in words, if `rows` are outside.
fn outside(rows: u64, Bounds { low, high }: Bounds) -> Option<String> {
    let words = if low == high { low.to_string() } else { format!("{low} to {high}") };
    (!(low..=high).contains(&rows)).then_some(words)
}
