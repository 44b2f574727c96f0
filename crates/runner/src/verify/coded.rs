//! Transactions that are written in Rust: their statements are not in a file that they could be
//! held against, so it is the tables that are checked.

use super::{Case, Form, VerifiedPhase, facts, trace};
use crate::{Error, server::Instance};
use model::{
    drive::Assignment,
    number::counted,
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
            Ok(told) => facts(&case, &told, &mut found.facts),
            Err(reason) => found.discrepancies.push(case.discrepancy(None, reason)),
        }
        for condition in &case.schema().checks {
            let rows = instance.driver.query(&condition.sql)?;
            let first = rows.into_iter().flatten().flatten().next();
            let violations = first.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
            if violations > 0 {
                let many = counted(violations, "violation");
                let text = format!("{} ({many})", condition.name);
                found.discrepancies.push(case.discrepancy(Some(Check::Effect), text));
            }
        }
    }
    Ok(())
}
