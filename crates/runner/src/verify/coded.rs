//! Transactions that are written in Rust: their statements are not in a file that they could be
//! held against, so it is the tables that are checked, and the index where all use the same.

use super::{Case, Form, VerifiedPhase, effect, facts, plans, shown, trace};
use crate::{Error, server::Instance};
use model::{
    coded,
    drive::{Assignment, TracedStatement},
    quoted,
    workload::{Check, Mode},
};

/// Executes the operations prepared and as text, and checks the conditions of the schema after
/// each.
pub(super) fn check(
    instance: &mut Instance,
    case: &Case<'_>,
    found: &mut VerifiedPhase,
) -> Result<(), Error> {
    for mode in [Mode::Prepared, Mode::Text] {
        let assignment = Assignment { mode: Some(mode), ..case.assignment.clone() };
        let case = Case { assignment: &assignment, ..*case };
        match trace(instance, &case, Form::AsWritten)? {
            Ok(told) => {
                facts(&case, &told, &mut found.facts);
                if mode == Mode::Text {
                    check_index(instance, &case, &told, found)?;
                }
            }
            Err(reason) => found.discrepancies.push(case.discrepancy(None, reason)),
        }
        found.discrepancies.extend(effect::conditions(instance, &case)?);
    }
    Ok(())
}

/// Executions whose plans are looked at: values change plans.
const EXECUTIONS: usize = 2;

/// Holds the plans of statements against the index that they are meant to use, if they have one in
/// common. Their values are those of text mode, because plans are asked for in text.
fn check_index(
    instance: &mut Instance,
    case: &Case<'_>,
    told: &[TracedStatement],
    found: &mut VerifiedPhase,
) -> Result<(), Error> {
    let Some(named) = &case.script().coded else { return Ok(()) };
    let dialect = instance.target.protocol.clone();
    let transactions = coded::find(&named.name);
    let meant = transactions.and_then(|known| known.index(&named.parameters, &dialect));
    let Some(meant) = meant else { return Ok(()) };
    for one in told.iter().take(EXECUTIONS) {
        for (plan, seen) in plans::plans(instance, case, one, Mode::Text)? {
            let wrong = match seen {
                Ok(seen) if seen.iter().all(|access| access.index == meant) => {
                    found.facts.indexes = vec![meant.clone()];
                    continue;
                }
                Ok(seen) => {
                    let used = quoted(seen.iter().map(|access| &access.index));
                    format!("{plan} uses the index {used}, and not `{meant}`")
                }
                Err(reason) => format!("it cannot be explained: {reason}"),
            };
            let text = format!("`{}`: {wrong}", shown(one));
            found.discrepancies.push(case.discrepancy(Some(Check::Plan), text));
            return Ok(());
        }
    }
    Ok(())
}
