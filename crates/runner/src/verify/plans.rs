//! The index that a server uses, beside the one that the workload names.

use super::{Case, Discrepancy, shown};
use crate::{
    Error,
    server::{Instance, unexpected},
};
use dbms::{Access, Explained, PlanRows};
use model::{
    drive::{Command, Reply, TracedStatement},
    workload::{Check, Mode, NONE},
};

/// Executions of each statement whose plans are looked at: values change plans.
const EXECUTIONS: usize = 2;

/// The indexes that were seen, and the statements whose plan is not the intended one.
pub(super) fn check(
    instance: &mut Instance,
    case: &Case<'_>,
    told: &[TracedStatement],
) -> Result<(Vec<String>, Vec<Discrepancy>), Error> {
    let (mut indexes, mut found) = (Vec::new(), Vec::new());
    let mut looked_at = Vec::new();
    for one in told {
        let (Some(origin), Some(statement)) = (one.origin, case.statement(one.origin)) else {
            continue;
        };
        let place = (origin.op, origin.statement);
        let times = looked_at.iter().filter(|known| **known == place).count();
        if statement.index.is_empty() || times >= EXECUTIONS {
            continue;
        }
        looked_at.push(place);
        let copy = origin.copy.to_string();
        let meant: Vec<String> =
            statement.index.iter().map(|name| name.replace("{n}", &copy)).collect();
        let mode = statement.mode_in(&instance.target.protocol, case.assignment.mode);
        for (plan, seen) in plans(instance, case, one, mode)? {
            let seen = match seen {
                Ok(seen) => seen,
                Err(reason) => {
                    let text = format!("`{}` cannot be explained: {reason}", shown(one));
                    found.push(case.discrepancy(Some(Check::Plan), text));
                    continue;
                }
            };
            for access in &seen {
                if !indexes.contains(&access.index) {
                    indexes.push(access.index.clone());
                }
            }
            if let Some(wrong) = wrong(&meant, &seen) {
                let text = format!("`{}`: {plan} {wrong}", shown(one));
                found.push(case.discrepancy(Some(Check::Plan), text));
            }
        }
        if !found.is_empty() {
            break;
        }
    }
    Ok((indexes, found))
}

type Seen = (&'static str, Result<Vec<Access>, String>);

/// What the server says about one execution.
pub(super) fn plans(
    instance: &mut Instance,
    case: &Case<'_>,
    one: &TracedStatement,
    mode: Mode,
) -> Result<Vec<Seen>, Error> {
    let product = dbms::find(&case.subject.build.server)?;
    let explained = Explained { pieces: &one.pieces, arguments: &one.arguments, mode };
    let mut seen = Vec::new();
    for question in product.plan_questions(&explained) {
        let answer = match instance.driver.ask(&Command::Query { sql: question.sql }) {
            Ok(Reply::Rows { columns, rows }) => Ok(PlanRows { columns, rows }),
            Ok(other) => return Err(unexpected("query", &other)),
            Err(Error::Sql { message, lost: false }) => Err(message),
            Err(error) => return Err(error),
        };
        match (answer, question.plan) {
            (Ok(rows), Some(plan)) => seen.push((plan, Ok(product.plan_access(&rows)))),
            (Ok(_), None) => {}
            (Err(reason), _) => seen.push(("the plan", Err(reason))),
        }
    }
    Ok(seen)
}

/// How the accesses of a plan differ from the indexes that are meant, if they do.
fn wrong(meant: &[String], seen: &[Access]) -> Option<String> {
    let fits =
        |access: &Access| meant.contains(&access.index) && (access.whole == (access.index == NONE));
    let used = |name: &String| seen.iter().any(|access| access.index == *name);
    if seen.iter().all(fits) && meant.iter().all(used) {
        return None;
    }
    let words = seen.iter().map(|access| match (access.index.as_str(), access.whole) {
        (NONE, _) => "scans the table".to_owned(),
        (name, true) => format!("reads the whole index `{name}`"),
        (name, false) => format!("uses the index `{name}`"),
    });
    let words: Vec<String> = words.collect();
    let words = if words.is_empty() { "reads no table".to_owned() } else { words.join(", ") };
    Some(format!("{words}; the workload says `{}`", meant.join("`, `")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_is_meant_and_every_meant_index_is_used() {
        let access =
            |(index, whole): &(&str, bool)| Access { index: (*index).to_owned(), whole: *whole };
        let check = |meant: &[&str], seen: &[(&str, bool)], expected: Option<&str>| {
            let meant: Vec<String> = meant.iter().map(|name| (*name).to_owned()).collect();
            let seen: Vec<Access> = seen.iter().map(access).collect();
            assert_eq!(wrong(&meant, &seen).as_deref(), expected);
        };
        check(&["primary"], &[("primary", false)], None);
        check(&["none"], &[("none", true)], None);
        check(&["primary", "k_1"], &[("k_1", false), ("primary", false)], None);
        check(
            &["primary"],
            &[("none", true)],
            Some("scans the table; the workload says `primary`"),
        );
        check(
            &["k_1"],
            &[("k_1", true)],
            Some("reads the whole index `k_1`; the workload says `k_1`"),
        );
        check(
            &["k_1"],
            &[("primary", false)],
            Some("uses the index `primary`; the workload says `k_1`"),
        );
        check(&["k_1"], &[], Some("reads no table; the workload says `k_1`"));
    }
}
